package findings

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// At most so many functions and lines are shown for a changed benchmark; dyno profile shows more.
const (
	mostFunctions = 5
	mostLines     = 6
	leastShown    = 0.05 // of the greatest change
)

// readWhys reads the profiles of benchmarks that changed. Errors become warnings.
func (f *Findings) readWhys() {
	t := f.Table
	warn := func(err error) { t.Doubts = append(t.Doubts, compare.Doubt{Kind: dyno.WarnCauses, Err: err}) }
	for _, row := range t.Benchmarks {
		mine := ProfilesOf(f.Results, row.Full())
		if len(mine) == 0 {
			continue
		}
		run, err := ReadProfiles(f.Dir, mine)
		if err != nil {
			warn(fmt.Errorf("%s: %w", row.Name, err))
			continue
		}
		for _, loss := range run.Losses {
			warn(loss)
		}
		for i, s := range t.Settings {
			if i == 0 || t.ChangedBy(row, i) == 0 {
				continue
			}
			why := profiles.BenchWhy{Benchmark: row.Full(), Setting: s.Setting.String()}
			for _, kind := range run.Kinds {
				if wanted := f.Plan.Profile; len(wanted) > 0 && !slices.Contains(wanted, kind) {
					continue
				}
				part, err := benchPart(f.Dir, run, kind, t.Settings[0].Setting.String(), s.Setting.String(), t.Negligible)
				switch {
				case err != nil:
					warn(err)
				case part != nil:
					why.Parts = append(why.Parts, *part)
				}
			}
			if len(why.Parts) > 0 {
				f.Whys = append(f.Whys, why)
			}
		}
	}
}

func benchPart(dir *Dir, run *profiles.Run, kind, base, setting string, negligible float64) (*profiles.BenchPart, error) {
	ps, err := run.Profiles(kind, nil)
	if err != nil {
		return nil, err
	}
	d := ps.Difference(base, setting, profiles.ByOwn, negligible)
	if d.Pairs == 0 || len(d.Rows) == 0 || kind == "allocs" && d.Total.Base == d.Total.Value {
		return nil, nil
	}
	least := leastShown * math.Abs(d.Rows[0].Own.Diff)
	d.Rows = slices.DeleteFunc(d.Rows[:min(len(d.Rows), mostFunctions)], func(r profiles.FunctionChange) bool {
		return math.Abs(r.Own.Diff) < least
	})
	part := &profiles.BenchPart{Diff: d, Metric: ps.Metric}
	first := d.Rows[0].Function
	match := regexp.MustCompile("^" + regexp.QuoteMeta(first.Name) + "$")
	if part.List = ps.List(match, setting, true, base); len(part.List) == 0 {
		return part, nil
	}
	part.List = part.List[:1]
	l := &part.List[0]
	l.Lines = mostChanged(l.Lines)
	part.Sources, _ = ReadSources(dir, run, part.List, kind, setting)
	if l.Function.Own { // the folder of a worktree says nothing
		fn := *l.Function
		fn.File = path.Join(fn.Package, path.Base(fn.File))
		part.Sources = map[string][]string{fn.File: part.Sources[l.File]}
		l.Function = &fn
	}
	return part, nil
}

func mostChanged(lines []profiles.ListingLine) []profiles.ListingLine {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b profiles.ListingLine) int {
		return cmp.Compare(math.Abs(b.CumDiff), math.Abs(a.CumDiff))
	})
	lines = lines[:min(len(lines), mostLines)]
	slices.SortFunc(lines, func(a, b profiles.ListingLine) int { return a.Line - b.Line })
	return lines
}
