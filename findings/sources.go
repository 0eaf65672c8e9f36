package findings

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/safe"
)

// KeepSources copies the source files of functions that changed into the run directory.
// locate finds the path of a setting's file that -trimpath left without one, or "".
func KeepSources(dir *Dir, t *Table, results []*dyno.Result, locate func(setting, file string) string) error {
	for _, row := range t.Benchmarks {
		mine := ProfilesOf(results, row.Full())
		run, err := ReadProfiles(dir, mine)
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
						to := keptAs(dir.Path, placeOf(dir, side), file)
						if !filepath.IsAbs(file) {
							file = locate(side, file)
						}
						if err := keepSource(to, file); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// KeepOfService copies the source files of a service's profiles into the run directory, except those of the
// standard library. folders is subject.Builder.Sources of a setting.
func KeepOfService(dir *Dir, folders func(setting string) map[string]string) error {
	run, err := ReadProfiles(dir, dir.Results())
	if err != nil {
		return nil // the report says so
	}
	known := map[string]map[string]string{}
	for _, kind := range run.Kinds {
		for _, p := range run.Of[kind] {
			if known[p.Setting] == nil {
				known[p.Setting] = folders(p.Setting)
			}
			in := known[p.Setting]
			for _, f := range p.Profile.Function {
				from, folder := f.Filename, path.Dir(f.Filename)
				if !filepath.IsAbs(from) {
					if in[folder] == "" {
						continue
					}
					from = filepath.Join(in[folder], path.Base(from))
				} else if !slices.Contains(slices.Collect(maps.Values(in)), folder) {
					continue
				}
				if err := keepSource(keptAs(dir.Path, placeOf(dir, p.Setting), f.Filename), from); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func keepSource(to, file string) error {
	if !filepath.IsAbs(file) {
		return nil // a listing without its source says so
	}
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	data, err := safe.Source.ReadFile(file)
	if err != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// sourceDir holds the sources of each setting: the worktrees of revisions are gone after the run.
const sourceDir = "source"

func keptAs(dir string, setting int, file string) string {
	return filepath.Join(dir, sourceDir, strconv.Itoa(setting), filepath.FromSlash(path.Clean("/"+file)))
}

// ReadSources reads the source files of listings. losses are the files that are missing or newer than the
// profile.
func ReadSources(dir *Dir, run *profiles.Run, ls []profiles.Listing, kind, setting string) (text map[string][]string, losses []profiles.Loss) {
	text = map[string][]string{}
	lose := func(kind profiles.LossKind, file string) {
		if loss := (profiles.Loss{Kind: kind, File: file}); !slices.Contains(losses, loss) {
			losses = append(losses, loss)
		}
	}
	for _, l := range ls {
		if text[l.File] != nil || l.File == "" {
			continue
		}
		found := false
		for _, file := range sourceFiles(dir, run, l.Function, kind, setting) {
			data, err := safe.Source.ReadFile(file)
			if err != nil {
				continue
			}
			found, text[l.File] = true, strings.Split(string(data), "\n")
			if info, err := os.Stat(file); err == nil && file == l.File && info.ModTime().After(dir.Run.Started) {
				lose(profiles.SourceChanged, file)
			}
			break
		}
		switch {
		case found:
		case filepath.IsAbs(l.File):
			lose(profiles.SourceGone, l.File)
		default:
			lose(profiles.SourceTrimmed, l.File)
		}
	}
	return text, losses
}

// sourceFiles returns where a function's source may be: in the run directory; where the profile says; for
// package main, beside the run directory (demos) or in the subject's package.
func sourceFiles(dir *Dir, run *profiles.Run, fn *profiles.Function, kind, setting string) (files []string) {
	if at := placeOf(dir, setting); at >= 0 {
		files = append(files, keptAs(dir.Path, at, run.SourceOf(fn, kind, setting)))
	}
	if filepath.IsAbs(fn.File) {
		files = append(files, fn.File)
	}
	if fn.Package != "main" {
		return files
	}
	files = append(files, filepath.Join(dir.Path, "..", "source", filepath.Base(fn.File)))
	if pkg := dir.Run.Plan.Subject.Package; pkg != "" && !filepath.IsAbs(fn.File) && dir.Run.Plan.Trial(levelOf(dir, setting)).Subject.Rev == "" { // else it is another source
		files = append(files, filepath.Join(pkg, filepath.Base(fn.File)))
	}
	return files
}

// levelOf is the setting of a name; the zero setting if the run has none.
func levelOf(dir *Dir, name string) (s dyno.Setting) {
	if i := placeOf(dir, name); i >= 0 {
		s = dir.Run.Plan.Levels()[i]
	}
	return s
}
