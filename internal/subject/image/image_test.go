package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program writes the headers of an executable.
func program(t *testing.T, h elf.Header64, parts ...elf.ProgType) string {
	t.Helper()
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	if h.Type == 0 {
		h.Type = uint16(elf.ET_EXEC)
	}
	h.Version, h.Ehsize, h.Phoff, h.Phentsize, h.Phnum, h.Shentsize = uint32(elf.EV_CURRENT), 64, 64, 56, uint16(len(parts)), 64
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	for _, p := range parts {
		binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(p)})
	}
	return write(t, "program", b.String())
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func name(t *testing.T, s string) Name {
	t.Helper()
	n, err := ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// entries are the files of a tar, and what a listing says of them.
func entries(t *testing.T, r io.Reader) (files map[string]string, listing string) {
	t.Helper()
	files = map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files, listing
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		files[h.Name] = string(text)
		listing += fmt.Sprintf("%v %d:%d %d %d %s\n", h.FileInfo().Mode(), h.Uid, h.Gid, h.ModTime.Unix(), len(text), h.Name)
	}
}

// blob is the part that d refers to.
func blob(t *testing.T, files map[string]string, d descriptor) string {
	t.Helper()
	text, ok := files[d.file()]
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); !ok || sum != d.Digest || int64(len(text)) != d.Size {
		t.Fatalf("%s: there %t, digest %s, size %d; want %s and %d", d.file(), ok, sum, len(text), d.Digest, d.Size)
	}
	return text
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestLayout reads an image as a registry client does, from index.json down to the files.
func TestLayout(t *testing.T) {
	i := &Image{
		Name: name(t, "server:v1"), Binary: write(t, "server", "program"), Arch: "arm64", Path: "/bin/server",
		Cmd: []string{"-v"}, Certs: write(t, "certs", "certificates"), Labels: map[string]string{"a.b": "c"},
	}
	file := filepath.Join(t.TempDir(), "server.tar")
	digest, size, err := i.WriteFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || int64(len(text)) != size {
		t.Fatalf("%v, %d bytes, want %d", err, len(text), size)
	}
	files, _ := entries(t, bytes.NewReader(text))
	if len(files) != 6 || files["oci-layout"] != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("files %q", files)
	}
	index := decode[struct{ Manifests []descriptor }](t, files["index.json"])
	entry := index.Manifests[0]
	if got := fmt.Sprint(entry.Digest == digest, entry.Platform, entry.Annotations); got != "true map[architecture:arm64 os:linux] map[io.containerd.image.name:docker.io/library/server:v1 org.opencontainers.image.ref.name:v1]" {
		t.Errorf("index.json has %s", got)
	}
	manifest := decode[struct {
		MediaType string
		Config    descriptor
		Layers    []descriptor
	}](t, blob(t, files, entry))
	if manifest.MediaType != entry.MediaType || len(manifest.Layers) != 1 {
		t.Errorf("manifest %+v", manifest)
	}
	layer := blob(t, files, manifest.Layers[0])
	zip, err := gzip.NewReader(strings.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	_, listing := entries(t, io.TeeReader(zip, sum))
	io.Copy(sum, zip) // what is after the end of the tar
	config := fmt.Sprintf(`{"architecture":"arm64","config":{"Cmd":["-v"],"Entrypoint":["/bin/server"],"Labels":{"a.b":"c"},"User":"65532:65532","WorkingDir":"/"},"created":"1970-01-01T00:00:00Z","os":"linux","rootfs":{"diff_ids":["sha256:%x"],"type":"layers"}}`, sum.Sum(nil))
	if got := blob(t, files, manifest.Config); got != config {
		t.Errorf("configuration\n%s\nwant\n%s", got, config)
	}
	want := `dtrwxrwxrwx 0:0 0 0 tmp/
drwxr-xr-x 0:0 0 0 etc/
-rw-r--r-- 0:0 0 65 etc/passwd
drwxr-xr-x 0:0 0 0 etc/ssl/
drwxr-xr-x 0:0 0 0 etc/ssl/certs/
-rw-r--r-- 0:0 0 12 etc/ssl/certs/ca-certificates.crt
drwxr-xr-x 0:0 0 0 bin/
-rwxr-xr-x 0:0 0 7 bin/server
`
	if listing != want {
		t.Errorf("layer\n%swant\n%s", listing, want)
	}
	save := fmt.Sprintf(`[{"Config":%q,"Layers":[%q],"RepoTags":["server:v1"]}]`, manifest.Config.file(), manifest.Layers[0].file())
	if files["manifest.json"] != save {
		t.Errorf("manifest.json %s, want %s", files["manifest.json"], save)
	}
}

func TestEqualImagesAreEqualBytes(t *testing.T) {
	binary := write(t, "server", strings.Repeat("program", 1e5))
	var first string
	for n, cmd := range []string{"a", "a", "b"} {
		i := &Image{Name: name(t, "server"), Binary: binary, Arch: "amd64", Path: "/server", Cmd: []string{cmd}, Labels: map[string]string{"x": "1", "y": "2"}}
		file := filepath.Join(t.TempDir(), "server.tar")
		digest, _, err := i.WriteFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = digest + string(text)
		} else if same := digest+string(text) == first; same != (cmd == "a") {
			t.Errorf("image %d with %s: the same as the first: %t", n, cmd, same)
		}
		os.Chtimes(binary, time.Now(), time.Now().Add(-time.Hour))
	}
}

// A failure leaves the file of before, and nothing beside it.
func TestWriteFails(t *testing.T) {
	file := write(t, "server.tar", "before")
	missing := filepath.Join(t.TempDir(), "missing")
	for _, i := range []*Image{{Binary: missing, Path: "/x"}, {Binary: file, Path: "/x", Certs: missing}} {
		if _, _, err := i.WriteFile(file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
			t.Errorf("error %v", err)
		}
	}
	if _, _, err := new(Image).WriteFile(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("into a directory: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if text, rerr := os.ReadFile(file); errors.Join(err, rerr) != nil || string(text) != "before" || len(left) != 1 {
		t.Errorf("left %v, %q", left, text)
	}
}

func TestStatic(t *testing.T) {
	amd := uint16(elf.EM_X86_64)
	for _, c := range []struct{ file, want string }{
		{program(t, elf.Header64{Machine: amd}, elf.PT_LOAD), "amd64"},
		{program(t, elf.Header64{Machine: uint16(elf.EM_AARCH64), Type: uint16(elf.ET_DYN)}, elf.PT_LOAD, elf.PT_DYNAMIC), "arm64"},
		{program(t, elf.Header64{Machine: amd}, elf.PT_LOAD, elf.PT_INTERP), "not a static linux executable: it wants a loader and libraries"},
		{program(t, elf.Header64{Machine: amd, Type: uint16(elf.ET_REL)}), "it is of type ET_REL"},
		{program(t, elf.Header64{Machine: amd, Ident: [16]byte{elf.EI_OSABI: byte(elf.ELFOSABI_FREEBSD)}}), "it is for another system"},
		{program(t, elf.Header64{Machine: uint16(elf.EM_MIPS)}), "for EM_MIPS (want"},
		{write(t, "script", "#!/bin/sh\n"), "no ELF header"},
		{filepath.Join(t.TempDir(), "missing"), "missing: "},
	} {
		arch, err := Static(c.file)
		if got := arch + fmt.Sprint(err); !strings.Contains(got, c.want) || (err == nil) != (arch != "") {
			t.Errorf("%q, %v; want %s", arch, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"server":                         "server:latest docker.io/library/server:latest",
		"team/server:v1":                 "team/server:v1 docker.io/team/server:v1",
		"docker.io/server":               "docker.io/server:latest docker.io/library/server:latest",
		"localhost/x:1":                  "localhost/x:1 localhost/x:1",
		"registry.test:5000/a/b_c.d:V-1": "registry.test:5000/a/b_c.d:V-1 registry.test:5000/a/b_c.d:V-1",
	} {
		if n := name(t, in); n.String()+" "+n.Full() != want {
			t.Errorf("%s: %s %s, want %s", in, n, n.Full(), want)
		}
	}
	for _, bad := range []string{"", "Server", "a b", "x:", "x:a/b", "x@sha256:12", "a//b", "-x", "a..b/c:1", "http://x"} {
		if n, err := ParseName(bad); err == nil {
			t.Errorf("%q is %s", bad, n)
		}
	}
	for word, want := range map[string]string{"server": "server", "My_Server.v2": "my-server-v2", "-": "image", "Ärger": "rger"} {
		name(t, PathOf(word))
		if got := PathOf(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}
