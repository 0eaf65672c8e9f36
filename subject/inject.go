package subject

import (
	"embed"
	"encoding/json"
	"os"
	"path/filepath"
)

//go:embed inject/probe.go inject/take.go inject/cpu.go
var probeFiles embed.FS

// overlay returns the flag of go build that adds the probe to the package in dir, a path without
// symbolic links.
func (b *Builder) overlay(dir string) (flag string, err error) {
	folder := b.name("overlay")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, part := range []string{"probe", "take", "cpu"} {
		text, err := probeFiles.ReadFile("inject/" + part + ".go")
		if err != nil {
			return "", err
		}
		name := "zz_dyno_" + part
		file := filepath.Join(folder, name+".go")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		target := filepath.Join(dir, name+".go")
		for exists(target) { // not over a file of the user's
			name += "_"
			target = filepath.Join(dir, name+".go")
		}
		replace[target] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return "-overlay=" + file, os.WriteFile(file, text, 0o600)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
