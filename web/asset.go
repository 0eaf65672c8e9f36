package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/dynolab/dyno/report"
)

//go:embed page/*.js page/*.css
var ownFiles embed.FS

// reportAssets are the scripts and styles of run pages.
var reportAssets fs.FS = report.Assets

// assets are the scripts and styles of all pages by name, and assetVersion a hash of
// them, which is a part of their addresses: so a browser may keep them for ever,
// and a newer dyno at the same port is asked for its own.
var assets, assetVersion = readAssets(reportAssets, ownFiles)

func readAssets(from ...fs.FS) (files map[string][]byte, version string) {
	files = map[string][]byte{}
	for _, f := range from {
		err := fs.WalkDir(f, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || typeOf(p) == "" || strings.Contains(p, ".test.") {
				return err
			}
			files[path.Base(p)], err = fs.ReadFile(f, p)
			return err
		})
		if err != nil {
			panic(err) // what is embedded can be read
		}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum.Write([]byte(name + "\x00"))
		sum.Write(files[name])
		sum.Write([]byte{0})
	}
	return files, hex.EncodeToString(sum.Sum(nil)[:8])
}

// typeOf is the media type of an asset, "" of other files.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return ""
}

func assetURL(name string) string { return "/assets/" + assetVersion + "/" + name }

// asset serves a script or a style sheet. A page that was made by another version
// of dyno gets what there is, but does not keep it.
func asset(w http.ResponseWriter, r *http.Request) {
	data, ok := assets[r.PathValue("name")]
	if !ok {
		http.Error(w, "there is no such asset", http.StatusNotFound)
		return
	}
	h := w.Header()
	etag := `"` + assetVersion + `"`
	h.Set("Content-Type", typeOf(r.PathValue("name")))
	h.Set("ETag", etag)
	h.Set("Cache-Control", "no-cache")
	if r.PathValue("version") == assetVersion {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(data)
}
