package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/store"
)

// A profiled is a run with profiles.
type profiled struct {
	dir      *store.Dir
	settings []string                       // that have any, in the order of reports
	kinds    []string                       // in the order of dyno.ProfileNames
	of       map[string][]analysis.Profiled // by kind
	files    map[string]map[string][]string // by kind and setting
	notes    []string                       // what could not be read
	bench    string                         // that they are of, "" if they are of a service
}

// readProfiles reads the profiles of a run. It is an error if there is none.
func readProfiles(dir *store.Dir, results []*dyno.Result) (*profiled, error) {
	run := &profiled{dir: dir, of: map[string][]analysis.Profiled{}, files: map[string]map[string][]string{}}
	place, lost := map[string]int{}, map[string][]string{}
	for i, s := range dir.Run.Plan.Levels() {
		place[s.String()] = i
	}
	results = slices.SortedStableFunc(slices.Values(results), func(a, b *dyno.Result) int {
		return place[a.Trial.Setting.String()] - place[b.Trial.Setting.String()]
	})
	for _, r := range results {
		if r.Trial.For != dyno.ForProfile || r.Err != "" {
			continue
		}
		run.bench = benchOf(r)
		for _, kind := range dyno.ProfileNames {
			switch err := run.add(r, kind); {
			case errors.Is(err, fs.ErrNotExist):
				lost[kind] = append(lost[kind], err.Error())
			case err != nil:
				run.notes = append(run.notes, err.Error())
			}
		}
	}
	for _, kind := range dyno.ProfileNames {
		if len(run.of[kind]) > 0 {
			run.kinds = append(run.kinds, kind)
			run.notes = append(run.notes, lost[kind]...)
		}
	}
	if len(run.kinds) == 0 {
		if run.notes != nil {
			return nil, errors.New(strings.Join(run.notes, "; "))
		}
		return nil, fmt.Errorf("%s has no profiles (consider: %s --profile cpu,allocs)", dir.Path, measuredBy(dir))
	}
	return run, nil
}

// add reads one profile of a trial, if it is there.
func (p *profiled) add(r *dyno.Result, kind string) error {
	file := p.dir.TrialFile(r.Trial.N, kind+".pb.gz")
	data, err := readProfile(file)
	if err != nil {
		return err
	}
	requests := r.Sent.Requests
	if p.dir.Run.Plan.Bench != nil {
		if requests = operations(r); requests == 0 {
			return fmt.Errorf("trial %d: its benchmark did not say how many operations it did, so that its profiles cannot be told per operation", r.Trial.N)
		}
	}
	if requests == 0 {
		return fmt.Errorf("trial %d: its load did not say how many requests it sent, so that its profiles cannot be told per request", r.Trial.N)
	}
	setting := r.Trial.Setting.String()
	if !slices.Contains(p.settings, setting) {
		p.settings = append(p.settings, setting)
	}
	if p.files[kind] == nil {
		p.files[kind] = map[string][]string{}
	}
	p.files[kind][setting] = append(p.files[kind][setting], file)
	p.of[kind] = append(p.of[kind], analysis.Profiled{Setting: setting, Block: r.Trial.Block, Requests: requests, Profile: data})
	return nil
}

// named finds the setting that a part of its name means: all of it, a level, or
// any part that only one has.
func (p *profiled) named(flag, part string) (string, error) {
	for _, fits := range []func(s string) bool{
		func(s string) bool { return s == part || label(s) == part },
		func(s string) bool {
			return slices.ContainsFunc(strings.Fields(s), func(l string) bool {
				_, level, _ := strings.Cut(l, "=")
				return level == part || l == part
			})
		},
		func(s string) bool { return strings.Contains(s, part) },
	} {
		found := slices.DeleteFunc(slices.Clone(p.settings), func(s string) bool { return !fits(s) })
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return "", usagef("%s %s fits %s", flag, part, strings.Join(labels(found), " and "))
	}
	return "", usagef("%s %s fits none of the settings that have profiles: %s", flag, part, strings.Join(labels(p.settings), ", "))
}

func label(setting string) string {
	if setting == "" {
		return "(as is)"
	}
	return setting
}

func labels(settings []string) []string {
	out := slices.Clone(settings)
	for i, s := range out {
		out[i] = label(s)
	}
	return out
}

// about says which profiles there are.
func (p *profiled) about() []string {
	lines := []string{p.dir.Run.Plan.Name + ": profiles of trials of their own, whose response times are not compared"}
	if p.bench != "" {
		lines[0] = p.bench + ": profiles of processes of their own, whose times are not compared"
	}
	for _, kind := range p.kinds {
		var parts []string
		for _, s := range p.settings {
			if n := len(p.files[kind][s]); n > 0 {
				parts = append(parts, fmt.Sprintf("%s (%d)", label(s), n))
			}
		}
		lines = append(lines, kind+": "+strings.Join(parts, ", "))
	}
	for _, note := range p.notes {
		lines = append(lines, "left out: "+note)
	}
	return lines
}

// pprof says which files to hand to go tool pprof.
func (p *profiled) pprof() []string {
	kind := p.kinds[0]
	first := p.files[kind][p.settings[0]]
	if len(first) == 0 {
		return nil
	}
	note := "In pprof's own pages: go tool pprof -http=: " + first[0]
	if len(first) > 1 {
		note += " (several files of one setting are added up)"
	}
	return []string{note}
}

// sources reads the source files of listings of a setting, as far as they are on
// this machine, and says which are not, or are newer than the run.
func (p *profiled) sources(ls []analysis.Listing, kind, setting string) (text map[string][]string, doubts []string) {
	text = map[string][]string{}
	for _, l := range ls {
		if text[l.File] != nil || l.File == "" {
			continue
		}
		var data []byte
		err := fs.ErrNotExist
		for _, file := range slices.Concat(p.kept(l.Function, kind, setting), p.candidates(l.Function)) {
			if data, err = os.ReadFile(file); err == nil {
				text[l.File] = strings.Split(string(data), "\n")
				if info, err := os.Stat(file); err == nil && file == l.File && info.ModTime().After(p.dir.Run.Started) {
					doubts = append(doubts, fmt.Sprintf("%s was changed after the run began: its lines may not be those that were measured", file))
				}
				break
			}
		}
		if err == nil {
			continue
		}
		why := "it is not on this machine"
		if !filepath.IsAbs(l.File) {
			why = "the subject was built with -trimpath, so that its profile does not say where it is"
		}
		if note := fmt.Sprintf("no source of %s: %s", l.File, why); !slices.Contains(doubts, note) {
			doubts = append(doubts, note)
		}
	}
	return text, doubts
}

// candidates are where a function's source may be: where the profile says and,
// of package main, in the source that a demo left beside the run directory or, of a
// path that -trimpath left, in the subject's package.
func (p *profiled) candidates(fn *analysis.Function) (files []string) {
	if filepath.IsAbs(fn.File) {
		files = append(files, fn.File)
	}
	if fn.Package != "main" {
		return files
	}
	files = append(files, filepath.Join(p.dir.Path, "..", "source", filepath.Base(fn.File)))
	if dir := p.dir.Run.Plan.Subject.Package; dir != "" && !filepath.IsAbs(fn.File) {
		files = append(files, filepath.Join(dir, filepath.Base(fn.File)))
	}
	return files
}

// explain adds to a table what the profiles of its run tell, if it has any: what
// the CPU was used for, and the functions that changed.
func explain(opt *analysis.Options, dir *store.Dir, results []*dyno.Result) {
	tell(opt, taken(opt, dir, results), opt.Settings[0].String())
}

// taken are the profiles of results by kind, nil if there are none. What cannot
// be read is a doubt.
func taken(opt *analysis.Options, dir *store.Dir, results []*dyno.Result) map[string][]analysis.Profiled {
	if !slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Trial.For == dyno.ForProfile && r.Err == "" }) {
		return nil
	}
	run, err := readProfiles(dir, results)
	if err != nil {
		opt.Doubts = append(opt.Doubts, err.Error())
		return nil
	}
	opt.Doubts = append(opt.Doubts, run.notes...)
	return run.of
}

// tell adds to a table what profiles tell against those of the setting base.
func tell(opt *analysis.Options, of map[string][]analysis.Profiled, base string) {
	if len(of) == 0 {
		return
	}
	all := map[string]*analysis.Profiles{}
	for kind, taken := range of {
		p, err := analysis.NewProfiles(kind, taken, nil)
		if err != nil {
			opt.Doubts = append(opt.Doubts, err.Error())
			continue
		}
		all[kind] = p
	}
	if p := all["cpu"]; p != nil {
		opt.CPU = p.CPUShares()
	}
	opt.Places = func(s dyno.Setting, kind string) (places []analysis.Place) {
		p := all[kind]
		if p == nil {
			return nil
		}
		changed := p.Difference(base, s.String(), analysis.ByOwn, 0).Changed()
		// What the runtime does by itself is a cause of its own, such as
		// collections; it is named where nothing else is.
		runtime := func(c analysis.FunctionChange) bool { return c.Package == "runtime" }
		if slices.ContainsFunc(changed, func(c analysis.FunctionChange) bool { return !runtime(c) }) {
			changed = slices.DeleteFunc(changed, runtime)
		}
		for _, c := range changed {
			places = append(places, analysis.Place{
				Func: c.Name, File: c.Line.File, Line: c.Line.Line, Change: c.Own.Diff, Lo: c.Own.Lo, Hi: c.Own.Hi, Share: c.Share,
			})
		}
		return places
	}
}
