package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject"
)

// operations are the iterations that the profiles of a trial are of.
func operations(r *dyno.Result) (n int64) {
	for _, b := range r.Benchmarks {
		n += b.N
	}
	return n
}

// nameOf is how a benchmark is told from all others of a run.
func nameOf(pkg, name string) string { return pkg + "." + name }

// benchOf is the benchmark that a trial for profiles is of, "" if it is of none.
func benchOf(r *dyno.Result) string {
	if r.Trial.For != dyno.ForProfile || len(r.Benchmarks) == 0 {
		return ""
	}
	return nameOf(r.Benchmarks[0].Package, r.Benchmarks[0].Name)
}

// profilesOf are the results of the profiles of one benchmark.
func profilesOf(results []*dyno.Result, name string) []*dyno.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *dyno.Result) bool { return benchOf(r) != name })
}

// ofBench are the results whose profiles are shown: of a run of benchmarks, those of
// the one that was asked for.
func (o *profileFlags) ofBench(dir *store.Dir) ([]*dyno.Result, error) {
	if dir.Run.Plan.Bench == nil {
		if o.bench != "" {
			return nil, usagef("--bench: %s is no run of benchmarks", dir.Path)
		}
		return dir.Results(), nil
	}
	results := dir.Results()
	var names []string
	for _, r := range results {
		if name := benchOf(r); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no profiles: of benchmarks only those that changed are profiled", dir.Path)
	}
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, o.bench) })
	if i := slices.IndexFunc(names, func(name string) bool { return name == o.bench || strings.HasSuffix(name, "."+o.bench) }); i >= 0 {
		found = names[i : i+1]
	}
	switch {
	case len(found) == 0:
		return nil, usagef("--bench %s fits none of the benchmarks that have profiles: %s", o.bench, strings.Join(names, ", "))
	case len(found) > 1 && o.bench != "":
		return nil, usagef("--bench %s fits %s", o.bench, strings.Join(found, " and "))
	}
	return profilesOf(results, found[0]), nil
}

// profiles are those of a kind, per request or, of benchmarks, per operation.
func (p *profiled) profiles(kind string, own func(pkg, file string) bool) (*analysis.Profiles, error) {
	ps, err := analysis.NewProfiles(kind, p.of[kind], own)
	if err == nil && p.dir.Run.Plan.Bench != nil {
		ps.Metric, ps.Counts = strings.Replace(ps.Metric, "/req", "/op", 1), strings.Replace(ps.Counts, "/req", "/op", 1)
	}
	return ps, err
}

// measuredBy is the command that made a run.
func measuredBy(dir *store.Dir) string {
	if dir.Run.Plan.Bench != nil {
		return "dyno bench"
	}
	return "dyno run"
}

// sourceDir is the folder of a run of benchmarks that has the sources of functions
// that changed, a folder for each setting by its place in reports: the worktrees of
// revisions are gone when the run is over.
const sourceDir = "source"

// keptAs is where the source file of a setting is in a run directory.
func keptAs(dir string, setting int, file string) string {
	return filepath.Join(dir, sourceDir, strconv.Itoa(setting), filepath.FromSlash(path.Clean("/"+file)))
}

// kept are the files that a function's source may be in as it was when a benchmark
// was measured.
func (p *profiled) kept(fn *analysis.Function, kind, setting string) []string {
	at := p.placeOf(setting)
	if p.dir.Run.Plan.Bench == nil || at < 0 {
		return nil
	}
	return []string{keptAs(p.dir.Path, at, p.fileOf(fn, kind, setting))}
}

func (p *profiled) placeOf(setting string) int {
	return slices.IndexFunc(p.dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == setting })
}

// fileOf is the source file of a function in a setting: revisions have folders of
// their own, so that its name is not the same in all.
func (p *profiled) fileOf(fn *analysis.Function, kind, setting string) string {
	like := ""
	for _, t := range p.of[kind] {
		if t.Setting != setting {
			continue
		}
		for _, f := range t.Profile.Function {
			switch {
			case path.Base(f.Filename) != path.Base(fn.File):
			case f.Name == fn.Name:
				return f.Filename
			case strings.HasPrefix(f.Name, fn.Package+"."): // a closure, or one that a compiler renamed
				like = f.Filename
			}
		}
	}
	return cmp.Or(like, fn.File)
}

// What is shown of a benchmark that changed: more is in dyno profile.
const (
	mostFunctions = 5
	mostLines     = 6
	leastShown    = 0.05 // of the greatest change
)

// whys are what the profiles of a run tell of the benchmarks that changed, in the
// order of the table, and what could not be read.
func whys(dir *store.Dir, t *analysis.Table, results []*dyno.Result) (found []report.BenchWhy, notes []string) {
	for _, row := range t.Benchmarks {
		mine := profilesOf(results, nameOf(row.Package, row.Name))
		if len(mine) == 0 {
			continue
		}
		run, err := readProfiles(dir, mine)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", row.Name, err))
			continue
		}
		notes = append(notes, run.notes...)
		for i, s := range t.Settings {
			if i == 0 || t.ChangedBy(row, i) == 0 {
				continue
			}
			why := report.BenchWhy{Benchmark: nameOf(row.Package, row.Name), Setting: s.Setting.String()}
			for _, kind := range run.kinds {
				if wanted := dir.Run.Plan.Profile; len(wanted) > 0 && !slices.Contains(wanted, kind) {
					continue
				}
				part, err := run.part(kind, t.Settings[0].Setting.String(), s.Setting.String(), t.Negligible)
				switch {
				case err != nil:
					notes = append(notes, err.Error())
				case part != nil:
					why.Parts = append(why.Parts, *part)
				}
			}
			if len(why.Parts) > 0 {
				found = append(found, why)
			}
		}
	}
	return found, notes
}

// part is what one kind of profile tells, nil if that is nothing.
func (p *profiled) part(kind, base, setting string, negligible float64) (*report.BenchPart, error) {
	ps, err := p.profiles(kind, nil)
	if err != nil {
		return nil, err
	}
	d := ps.Difference(base, setting, analysis.ByOwn, negligible)
	if d.Pairs == 0 || len(d.Rows) == 0 || kind == "allocs" && d.Total.Base == d.Total.Value {
		return nil, nil
	}
	least := leastShown * math.Abs(d.Rows[0].Own.Diff)
	d.Rows = slices.DeleteFunc(d.Rows[:min(len(d.Rows), mostFunctions)], func(r analysis.FunctionChange) bool {
		return math.Abs(r.Own.Diff) < least
	})
	part := &report.BenchPart{Diff: d, Metric: ps.Metric}
	first := d.Rows[0].Function
	match := regexp.MustCompile("^" + regexp.QuoteMeta(first.Name) + "$")
	if part.List = ps.List(match, setting, true, base); len(part.List) == 0 {
		return part, nil
	}
	part.List = part.List[:1]
	l := &part.List[0]
	l.Lines = mostChanged(l.Lines)
	part.Sources, _ = p.sources(part.List, kind, setting)
	if l.Function.Own { // the folder of a worktree says nothing
		fn := *l.Function
		fn.File = path.Join(fn.Package, path.Base(fn.File))
		part.Sources = map[string][]string{fn.File: part.Sources[l.File]}
		l.Function = &fn
	}
	return part, nil
}

// mostChanged are the lines that changed most, in order.
func mostChanged(lines []analysis.ListingLine) []analysis.ListingLine {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b analysis.ListingLine) int {
		return cmp.Compare(math.Abs(b.CumDiff), math.Abs(a.CumDiff))
	})
	lines = lines[:min(len(lines), mostLines)]
	slices.SortFunc(lines, func(a, b analysis.ListingLine) int { return a.Line - b.Line })
	return lines
}

// keepSources copies the source files of the functions that changed, in all
// settings, into the run directory. tests are the packages of each setting, by which
// a path is found that -trimpath left.
func keepSources(dir *store.Dir, t *analysis.Table, results []*dyno.Result, tests map[string][]*subject.TestPackage) error {
	for _, row := range t.Benchmarks {
		mine := profilesOf(results, nameOf(row.Package, row.Name))
		run, err := readProfiles(dir, mine)
		if len(mine) == 0 || err != nil {
			continue // the report says so
		}
		for _, kind := range run.kinds {
			ps, err := run.profiles(kind, nil)
			if err != nil {
				continue
			}
			for _, s := range run.settings {
				d := ps.Difference(t.Settings[0].Setting.String(), s, analysis.ByOwn, t.Negligible)
				for _, f := range d.Rows[:min(len(d.Rows), mostFunctions)] {
					if !f.Function.Own {
						continue // who has the toolchain has its source
					}
					for _, side := range []string{d.Base, s} {
						file := run.fileOf(f.Function, kind, side)
						if err := keepSource(keptAs(dir.Path, run.placeOf(side), file), file, tests[side]); err != nil {
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
