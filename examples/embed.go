// Package examples carries the sources of dyno's example subjects, so that an
// installed dyno can build and measure one where there is no clone. It writes
// them out; building and measuring is not its business.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Each example is a directory with a main package, the files that the package
// embeds, and its plan, dyno.yaml. All of it is the standard library only. The
// studies have more: their short plans in demo, what was published in
// study.yaml, and benchmarks in bench_test.go.
//
//go:embed sessions/*.go sessions/config.json sessions/*.yaml sessions/demo/*.yaml
//go:embed pipeline/*.go pipeline/*.java pipeline/README.md pipeline/*.yaml pipeline/demo/*.yaml
//go:embed search/*.go search/README.md search/*.yaml search/demo/*.yaml
//go:embed sort/*.go sort/README.md sort/*.yaml sort/demo/*.yaml
//go:embed hash/*.go hash/README.md hash/*.yaml hash/demo/*.yaml
var sources embed.FS

// goMod is the go.mod of an extracted example. Its go line is the oldest
// release that the injected probe supports, so that every Go version that can
// be a factor can build it. Its path has a dot, as those without one, such as
// hash and sort, belong to the standard library.
const goMod = "module dyno.example/%s\n\ngo 1.22\n"

// Names returns the names of the examples, sorted.
func Names() []string {
	entries, err := sources.ReadDir(".")
	if err != nil {
		panic(err) // the root of an embed.FS is always there
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Extract writes the example called name into dir, which is made if need be,
// as a module of its own: its files without the tests, but with bench_test.go,
// and a go.mod named after it. It overwrites nothing: where a file is in the way
// the error matches fs.ErrExist. An example that does not exist is an error that
// matches fs.ErrNotExist and lists those that do.
func Extract(dir, name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("extract example %q: %w (have: %s)", name, fs.ErrNotExist, strings.Join(Names(), ", "))
	}
	root, err := fs.Sub(sources, name)
	if err == nil {
		err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
			to := filepath.Join(dir, filepath.FromSlash(file))
			switch {
			case err != nil:
				return err
			case d.IsDir():
				return os.MkdirAll(to, 0o777)
			case strings.HasSuffix(file, "_test.go") && file != "bench_test.go":
				return nil // they need a newer Go, and packages of dyno's
			}
			data, err := fs.ReadFile(root, file)
			if err != nil {
				return err
			}
			return create(to, data)
		})
	}
	if err == nil {
		err = create(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, goMod, name))
	}
	if err != nil {
		return fmt.Errorf("extract example %s: %w", name, err)
	}
	return nil
}

// create writes a new file; unlike os.WriteFile it fails if there is one.
func create(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
