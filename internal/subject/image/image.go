// Package image writes a container image with one static executable, without docker: an OCI image
// layout in a tar (https://github.com/opencontainers/image-spec, image-layout.md), which docker
// before version 25 and crane read as well, by the manifest.json of docker save.
//
// It owns the form of the file. It builds nothing, pushes nothing, and knows nothing of dyno.
package image

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// User is the user and group of the process: they own no file. They are numbers, because Kubernetes
// cannot tell whether a name is root's (runAsNonRoot).
const User = "65532:65532"

// An Image is one executable, with what the standard library may look for: /tmp, the names of root and
// of the user, and CA certificates. It has no time zones, no libraries and no shell.
type Image struct {
	Name   Name
	Binary string            // file of the static linux executable: see Static
	Arch   string            // its architecture, as GOARCH
	Path   string            // of it in the image, absolute: the entrypoint
	Cmd    []string          // default arguments
	Certs  string            // file of CA certificates; "" means none: see Certs
	Labels map[string]string // of the image
}

// Media types of the parts; see media-types.md of the specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// epoch is the time of creation of all images, so that equal contents have equal digests.
const epoch = "1970-01-01T00:00:00Z"

// WriteFile writes the image to a file, which it replaces. It returns the digest of the manifest, as
// registries know it. Equal images have equal digests if dyno was built by the same Go release, since its
// gzip decides the bytes.
func (i *Image) WriteFile(file string) (digest string, size int64, err error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("write image: %s is no regular file (consider: --out FILE.tar)", file)
	}
	temp := file + ".part"
	f, err := os.Create(temp)
	if err != nil {
		return "", 0, fmt.Errorf("write image: %w", err)
	}
	digest, err = i.write(f, filepath.Dir(file))
	if info, serr := f.Stat(); serr == nil {
		size = info.Size()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		os.Remove(temp)
		return "", 0, fmt.Errorf("write image %s: %w", file, err)
	}
	return digest, size, nil
}

// write needs a directory for the layer, as in a tar its size and digest come first.
func (i *Image) write(w io.Writer, dir string) (digest string, err error) {
	f, err := os.CreateTemp(dir, ".dyno-layer-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	layer, diff, err := i.layer(f)
	if err != nil {
		return "", err
	}
	config, configText := describe(typeConfig, map[string]any{
		"created": epoch, "os": "linux", "architecture": i.Arch,
		"config": map[string]any{
			"User": User, "Entrypoint": []string{i.Path}, "Cmd": i.Cmd, "WorkingDir": "/", "Labels": i.Labels,
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
	})
	manifest, manifestText := describe(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{layer},
	})
	entry := manifest
	entry.Platform = map[string]string{"os": "linux", "architecture": i.Arch}
	// containerd takes the first for the name as it is; skopeo and podman take the second.
	entry.Annotations = map[string]string{
		"io.containerd.image.name": i.Name.Full(), "org.opencontainers.image.ref.name": i.Name.Tag,
	}
	_, index := describe("", map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{entry}})
	_, save := describe("", []map[string]any{{
		"Config": config.file(), "RepoTags": []string{i.Name.String()}, "Layers": []string{layer.file()},
	}})
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	t := tree{Writer: tar.NewWriter(w)}
	t.add("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	t.add("index.json", 0o644, index)
	t.add("manifest.json", 0o644, save)
	t.add(config.file(), 0o644, configText)
	t.add(manifest.file(), 0o644, manifestText)
	t.copy(layer.file(), 0o644, f, layer.Size)
	return manifest.Digest, t.close()
}

// layer writes the files of the image. diff is the digest of the tar without compression.
func (i *Image) layer(w io.Writer) (layer descriptor, diff string, err error) {
	packed, plain := &counted{Hash: sha256.New()}, &counted{Hash: sha256.New()}
	zip := gzip.NewWriter(io.MultiWriter(w, packed))
	t := tree{Writer: tar.NewWriter(io.MultiWriter(zip, plain)), parents: true}
	t.dir("tmp", 0o1777)
	t.add("etc/passwd", 0o644, []byte("root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/tmp:/none\n"))
	if i.Certs != "" {
		t.file("etc/ssl/certs/ca-certificates.crt", 0o644, i.Certs)
	}
	t.file(strings.TrimPrefix(path.Clean(i.Path), "/"), 0o755, i.Binary)
	if err := t.close(); err != nil {
		return layer, "", err
	}
	err = zip.Close()
	return descriptor{MediaType: typeLayer, Digest: packed.digest(), Size: packed.n}, plain.digest(), err
}

// A descriptor is how one part refers to another (descriptor.md of the specification).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (d descriptor) file() string { return "blobs/" + strings.ReplaceAll(d.Digest, ":", "/") }

// describe returns a part as JSON; the keys of maps are sorted.
func describe(mediaType string, part any) (descriptor, []byte) {
	text, err := json.Marshal(part)
	if err != nil {
		panic(err) // the parts are of strings and numbers
	}
	sum := &counted{Hash: sha256.New()}
	sum.Write(text)
	return descriptor{MediaType: mediaType, Digest: sum.digest(), Size: sum.n}, text
}

type counted struct {
	hash.Hash
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

func (c *counted) digest() string { return "sha256:" + hex.EncodeToString(c.Sum(nil)) }

// A tree writes files of root's, all of 1970, and keeps the first error.
type tree struct {
	*tar.Writer
	parents bool // with the directories around them, which some programs do not make
	made    map[string]bool
	err     error
}

func (t *tree) header(h tar.Header) {
	if dir := path.Dir(path.Clean(h.Name)); t.parents && dir != "." && !t.made[dir] {
		t.dir(dir, 0o755)
	}
	if t.err == nil {
		t.err = t.WriteHeader(&h)
	}
}

func (t *tree) dir(name string, mode int64) {
	t.header(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
	if t.made == nil {
		t.made = map[string]bool{}
	}
	t.made[name] = true
}

func (t *tree) copy(name string, mode int64, r io.Reader, size int64) {
	t.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size})
	if t.err == nil {
		_, t.err = io.Copy(t.Writer, r)
	}
}

func (t *tree) add(name string, mode int64, text []byte) {
	t.copy(name, mode, strings.NewReader(string(text)), int64(len(text)))
}

func (t *tree) file(name string, mode int64, from string) {
	f, err := os.Open(from)
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	t.copy(name, mode, f, info.Size())
}

func (t *tree) close() error { return errors.Join(t.err, t.Close()) }
