package subject

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
)

//go:embed inject/probe.go
var probeSource []byte

//go:embed inject/take.go
var takeSource []byte

//go:embed inject/cpu.go
var cpuSource []byte

// overlay returns the flag of go build that adds the probe to the package in
// dir, whose path must hold no symbolic link.
func (b *Builder) overlay(dir string) (flag string, err error) {
	folder := b.name("overlay")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range map[string][]byte{"zz_dyno_probe": probeSource, "zz_dyno_probe_take": takeSource, "zz_dyno_probe_cpu": cpuSource} {
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
