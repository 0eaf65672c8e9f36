package subject

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
)

var (
	//go:embed inject/probe.go
	probeText string
	//go:embed inject/take.go
	takeText string
	//go:embed inject/cpu.go
	cpuText string
)

// overlay returns the flag of go build that adds files to the package in dir, a path without
// symbolic links. texts are by a part of the file's name, which ends in suffix.
func (b *Builder) overlay(dir string, texts map[string]string, suffix string) (flag string, err error) {
	folder := b.name("overlay")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for part, text := range texts {
		name := "zz_dyno_" + part
		file := filepath.Join(folder, name+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		for exists(filepath.Join(dir, name+suffix)) { // not over a file of the user's
			name += "_"
		}
		replace[filepath.Join(dir, name+suffix)] = file
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
