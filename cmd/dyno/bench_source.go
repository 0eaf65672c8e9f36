package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject"
)

// keepSources copies the source files of the functions that changed, in all
// settings, into the run directory. tests are the packages of each setting, by which
// a path is found that -trimpath left.
func keepSources(dir *store.Dir, t *compare.Table, results []*dyno.Result, tests map[string][]*subject.TestPackage) error {
	for _, row := range t.Benchmarks {
		mine := profilesOf(results, nameOf(row.Package, row.Name))
		run, err := readProfiles(dir, mine)
		if len(mine) == 0 || err != nil {
			continue // the report says so
		}
		for _, kind := range run.Kinds {
			ps, err := run.Profiles(kind, nil)
			if err != nil {
				continue
			}
			for _, s := range run.Settings {
				d := ps.Difference(t.Settings[0].Setting.String(), s, profiles.ByOwn, t.Negligible)
				for _, f := range d.Rows[:min(len(d.Rows), mostFunctions)] {
					if !f.Function.Own {
						continue // who has the toolchain has its source
					}
					for _, side := range []string{d.Base, s} {
						file := run.SourceOf(f.Function, kind, side)
						if err := keepSource(keptAs(dir.Path, placeOf(dir, side), file), file, tests[side]); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// mostSource is the size of a source file that is kept, in bytes.
const mostSource = 1 << 20

// keepSource copies a source file, if it is there and not kept yet.
func keepSource(to, file string, tests []*subject.TestPackage) error {
	for i := 0; !filepath.IsAbs(file) && i < len(tests); i++ {
		if f := inModule(file, tests[i]); exists(f) {
			file = f
		}
	}
	info, err := os.Stat(file)
	if !filepath.IsAbs(file) || err != nil || !info.Mode().IsRegular() || info.Size() > mostSource || exists(to) {
		return nil // a listing without its source says so
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// inModule is where a file is that -trimpath named by its import path, if it is of the
// module of p.
func inModule(file string, p *subject.TestPackage) string {
	up, down := strings.Split(p.ImportPath, "/"), strings.Split(path.Clean(file), "/")
	same := 0
	for same < min(len(up), len(down)-1) && up[same] == down[same] {
		same++
	}
	if same == 0 {
		return ""
	}
	return filepath.Join(append([]string{p.Dir, strings.Repeat("../", len(up)-same)}, down[same:]...)...)
}
