package subject

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/subject/driver"
)

// driver returns the flag that adds the driver to the test binary of p.
func (b *Builder) driver(p *TestPackage) (flag string, err error) {
	own, err := overlaid(p)
	if err != nil {
		return "", err
	}
	paths := func(names []string) (paths []string) {
		for _, name := range names {
			path := filepath.Join(p.Dir, name)
			if other, ok := own[path]; ok {
				path = other
			}
			paths = append(paths, path)
		}
		return paths
	}
	d := driver.Package{ImportPath: p.ImportPath, Inner: p.name, Files: paths(p.files), Outside: paths(p.outside)}
	text, err := d.Source()
	if err != nil {
		return "", err
	}
	return b.overlay(p.Dir, map[string]string{"bench": text}, "_test.go", own)
}

// overlaid returns what the build's own -overlay replaces, by path; nil if it has none.
func overlaid(p *TestPackage) (map[string]string, error) {
	file := ""
	flags := slices.Concat(p.goflags, p.src.flags)
	for i, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if name != "-overlay" && name != "--overlay" {
			continue
		}
		if !ok && i+1 < len(flags) {
			value = flags[i+1]
		}
		file = value
	}
	if file == "" {
		return nil, nil
	}
	at := func(path string) string { // the go command runs there
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(p.src.dir, path)
	}
	text, err := os.ReadFile(at(file))
	if err != nil {
		return nil, fmt.Errorf("read -overlay: %w", err)
	}
	var own struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, fmt.Errorf("read -overlay %s: %w", file, err)
	}
	replaced := map[string]string{}
	for from, to := range own.Replace {
		replaced[at(from)] = at(to)
	}
	return replaced, nil
}
