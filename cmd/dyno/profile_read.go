package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/report/pprofpage"
	"github.com/dynolab/dyno/store"
)

// readProfiles reads the profiles of a run, or of some of its results. It is an error
// if there is none.
func readProfiles(dir *store.Dir, results []*dyno.Result) (*profiles.Run, error) {
	run := &profiles.Run{Name: dir.Run.Plan.Name, PerOp: dir.Run.Plan.Bench != nil, Of: map[string][]profiles.Profiled{}}
	results = slices.SortedStableFunc(slices.Values(results), func(a, b *dyno.Result) int {
		return placeOf(dir, a.Trial.Setting.String()) - placeOf(dir, b.Trial.Setting.String())
	})
	gone := map[string][]profiles.Loss{}
	for _, r := range results {
		if r.Trial.For != dyno.ForProfile || r.Err != "" {
			continue
		}
		run.Bench = benchOf(r)
		for _, kind := range dyno.ProfileNames {
			p, loss := readTrialProfile(dir, r, kind)
			switch {
			case loss == nil:
				if run.Of[kind] = append(run.Of[kind], *p); !slices.Contains(run.Settings, p.Setting) {
					run.Settings = append(run.Settings, p.Setting)
				}
			case loss.Kind == profiles.ProfileGone:
				gone[kind] = append(gone[kind], *loss)
			default:
				run.Losses = append(run.Losses, *loss)
			}
		}
	}
	for _, kind := range dyno.ProfileNames {
		if len(run.Of[kind]) > 0 {
			run.Kinds = append(run.Kinds, kind)
			run.Losses = append(run.Losses, gone[kind]...)
		}
	}
	if len(run.Kinds) > 0 {
		return run, nil
	}
	if len(run.Losses) > 0 {
		return nil, errors.New(strings.Join(texts(run.Losses), "; "))
	}
	return nil, fmt.Errorf("%s has no profiles (consider: %s --profile cpu,allocs)", dir.Path, measuredBy(dir))
}

// texts are what losses say.
func texts(losses []profiles.Loss) (out []string) {
	for _, l := range losses {
		out = append(out, l.Error())
	}
	return out
}

// readTrialProfile reads one profile of a trial.
func readTrialProfile(dir *store.Dir, r *dyno.Result, kind string) (*profiles.Profiled, *profiles.Loss) {
	p := &profiles.Profiled{Setting: r.Trial.Setting.String(), Block: r.Trial.Block, Requests: r.Sent.Requests, File: dir.TrialFile(r.Trial.N, kind+".pb.gz")}
	loss := &profiles.Loss{Trial: r.Trial.N}
	p.Profile, loss.Err = readProfile(p.File)
	bench := dir.Run.Plan.Bench != nil
	if bench {
		p.Requests = operations(r)
	}
	switch {
	case errors.Is(loss.Err, fs.ErrNotExist):
		loss.Kind = profiles.ProfileGone
	case loss.Err != nil:
		loss.Kind = profiles.ProfileUnread
	case p.Requests > 0:
		return p, nil
	case bench:
		loss.Kind = profiles.OpsUnsaid
	default:
		loss.Kind = profiles.RequestsUnsaid
	}
	return nil, loss
}

// readProfile reads a profile; it is nil if there is none.
func readProfile(file string) (*profile.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return p, nil
}

// sumProfiles adds up the profiles of one kind of a setting, and the requests of
// their windows. The error is fs.ErrNotExist if there is none.
func sumProfiles(dir *store.Dir, results []*dyno.Result, kind, setting string) (sum pprofpage.Sum, err error) {
	sum.Setting = setting
	results = slices.DeleteFunc(slices.Clone(results), func(r *dyno.Result) bool { return r.Trial.Setting.String() != setting })
	if !hasProfiles(results) {
		return sum, fmt.Errorf("%s has no profiles of %s: %w", dir.Path, label(setting), fs.ErrNotExist)
	}
	run, err := readProfiles(dir, results)
	if err != nil {
		return sum, err
	}
	sum.Profile, sum.Requests, err = run.Sum(kind, setting)
	return sum, err
}

// hasProfiles reports whether a trial for profiles is among results.
func hasProfiles(results []*dyno.Result) bool {
	return slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Trial.For == dyno.ForProfile && r.Err == "" })
}

// operations are the iterations that the profiles of a trial are of.
func operations(r *dyno.Result) (n int64) {
	for _, b := range r.Benchmarks {
		n += b.N
	}
	return n
}

// benchOf is the benchmark that a trial for profiles is of, "" if it is of none.
func benchOf(r *dyno.Result) string {
	if r.Trial.For != dyno.ForProfile || len(r.Benchmarks) == 0 {
		return ""
	}
	return nameOf(r.Benchmarks[0].Package, r.Benchmarks[0].Name)
}

// nameOf is how a benchmark is told from all others of a run.
func nameOf(pkg, name string) string { return pkg + "." + name }

// profilesOf are the results of the profiles of one benchmark.
func profilesOf(results []*dyno.Result, name string) []*dyno.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *dyno.Result) bool { return benchOf(r) != name })
}

// measuredBy is the command that made a run.
func measuredBy(dir *store.Dir) string {
	if dir.Run.Plan.Bench != nil {
		return "dyno bench"
	}
	return "dyno run"
}

// placeOf is the place of a setting in reports; -1 if the run has none of that name.
func placeOf(dir *store.Dir, setting string) int {
	return slices.IndexFunc(dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == setting })
}

// sourceDir is the folder of a run of benchmarks that has the sources of functions
// that changed, a folder for each setting by its place in reports: the worktrees of
// revisions are gone when the run is over.
const sourceDir = "source"

// keptAs is where the source file of a setting is in a run directory.
func keptAs(dir string, setting int, file string) string {
	return filepath.Join(dir, sourceDir, strconv.Itoa(setting), filepath.FromSlash(path.Clean("/"+file)))
}

// readSources reads the source files of listings of a setting, as far as they are on
// this machine. Losses are those that are not, or are newer than the run.
func readSources(dir *store.Dir, run *profiles.Run, ls []profiles.Listing, kind, setting string) (text map[string][]string, losses []profiles.Loss) {
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
			data, err := os.ReadFile(file)
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

// sourceFiles are where a function's source may be: as it was when a benchmark was
// measured; where the profile says; and, of package main, in the source that a demo left
// beside the run directory or, of a path that -trimpath left, in the subject's package.
func sourceFiles(dir *store.Dir, run *profiles.Run, fn *profiles.Function, kind, setting string) (files []string) {
	if at := placeOf(dir, setting); run.PerOp && at >= 0 {
		files = append(files, keptAs(dir.Path, at, run.SourceOf(fn, kind, setting)))
	}
	if filepath.IsAbs(fn.File) {
		files = append(files, fn.File)
	}
	if fn.Package != "main" {
		return files
	}
	files = append(files, filepath.Join(dir.Path, "..", "source", filepath.Base(fn.File)))
	if pkg := dir.Run.Plan.Subject.Package; pkg != "" && !filepath.IsAbs(fn.File) {
		files = append(files, filepath.Join(pkg, filepath.Base(fn.File)))
	}
	return files
}
