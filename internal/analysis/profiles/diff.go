package profiles

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// Alpha bounds the adjusted p of a function that is said to have changed, for one kind of profile; all
// settings beside the baseline share it. At most 1 % of the runs of settings that do not
// differ may name any function (doc/method/profiles.md).
const Alpha = 0.0025

// Pairs is the least number of pairs of trials that can show a change of a function.
const Pairs = 3

// considered is the share of what is negligible that a function must have on average to be
// tested: one with less cannot have changed by more. The mean of both settings says nothing
// about their difference, so choosing by it is free (Bourgon, Gentleman, Huber, PNAS 107, 2010).
const considered = 0.5

// A Change is the difference of one function between two settings, per request
// in the base unit of the metric. Numbers that are not known are NaN.
type Change struct {
	Base    float64       `json:"base"`  // mean of the baseline
	Value   float64       `json:"value"` // mean of the setting
	Diff    float64       `json:"diff"`  // Value - Base
	Lo      dyno.Number   `json:"lo"`
	Hi      dyno.Number   `json:"hi"`      // plain 95 % interval of Diff; NaN with one pair of trials
	P       dyno.Number   `json:"p"`       // adjusted for all functions; Verdict rests on it; NaN if it was not tested
	Verdict stats.Verdict `json:"verdict"` // Better (less), Worse (more), Same, or Unclear
}

// Clear reports whether the function is said to have changed.
func (c Change) Clear() bool { return c.Verdict == stats.Better || c.Verdict == stats.Worse }

// A FunctionChange is what changed about one function.
type FunctionChange struct {
	*Function
	Own   Change  `json:"own-change"`
	Flat  Change  `json:"flat-change"`
	Cum   Change  `json:"cum-change"`
	Count float64 `json:"count-diff,omitempty"` // of Profiles.Counts in the order's attribution
	// Share is the part of the change of the total that the function has in the
	// order's attribution; NaN if the total did not change.
	Share dyno.Number `json:"share"`
	Line  LineChange  `json:"at,omitzero"` // of ByOwn
}

// A LineChange is the line of a function that changed most; zero if no line is known.
type LineChange struct {
	File string  `json:"file"`          // as the profile has it
	Line int     `json:"line"`          // in the setting that spends more on it
	In   string  `json:"in"`            // that setting
	Diff float64 `json:"diff"`          // setting minus baseline, per request
	Via  string  `json:"via,omitempty"` // the function called there through which most of Diff goes, or "" if the line itself has it
}

// A Diff compares the profiles of two settings, within blocks.
type Diff struct {
	Kind       string           `json:"type"`
	Metric     string           `json:"metric"`
	Counts     string           `json:"counts,omitempty"`
	Base       string           `json:"base"`
	Setting    string           `json:"setting"`
	Order      string           `json:"order"`      // own, flat or cum
	Pairs      int              `json:"pairs"`      // blocks with a profile of both
	Negligible float64          `json:"negligible"` // share of the total
	Total      Change           `json:"total"`
	Rows       []FunctionChange `json:"functions"` // the greatest change first
}

// Changed are the rows that are said to have changed.
func (d *Diff) Changed() []FunctionChange {
	by := slices.Index(attributions[:], d.Order)
	return slices.DeleteFunc(slices.Clone(d.Rows), func(r FunctionChange) bool { return !r.change(Order(by)).Clear() })
}

func (r *FunctionChange) change(by Order) *Change {
	return [...]*Change{ByOwn: &r.Own, ByFlat: &r.Flat, ByCum: &r.Cum}[by]
}

// Difference compares a setting with a baseline. A function has changed if its adjusted p
// is at most its part of Alpha, and the change more than a negligible share of the total per request;
// 0 means dyno.DefaultNegligible. With fewer than Pairs pairs all is unclear.
func (p *Profiles) Difference(base, setting string, by Order, negligible float64) *Diff {
	if negligible == 0 {
		negligible = dyno.DefaultNegligible
	}
	d := &Diff{
		Kind: p.Kind, Metric: p.Metric, Counts: p.Counts, Base: base, Setting: setting,
		Order: attributions[by], Negligible: negligible,
	}
	c := p.pair(base, setting)
	d.Pairs = len(c.totals[0])
	if d.Pairs == 0 {
		return d
	}
	limit := negligible * c.size
	total := c.changes([]*Function{nil}, func(side, b int, _ *Function) amount { return c.trials[side][b].total }, limit)
	d.Total = total[0]
	fns := c.functions()
	rows := make([]FunctionChange, len(fns))
	for at := range attributions {
		for i, change := range c.changes(fns, func(side, b int, fn *Function) amount { return c.sums[side][b].by[at][fn] }, limit) {
			*rows[i].change(Order(at)) = change
		}
	}
	for i, fn := range fns {
		r := &rows[i]
		r.Function = fn
		r.Share = dyno.Number(r.change(by).Diff / d.Total.Diff)
		if d.Total.Diff == 0 {
			r.Share = dyno.Number(math.NaN())
		}
		for b := range d.Pairs {
			r.Count += (c.sums[1][b].by[by][fn].count - c.sums[0][b].by[by][fn].count) / float64(d.Pairs)
		}
		if p.Counts == "" {
			r.Count = 0
		}
		r.Line = p.lineOf(c, fn)
	}
	d.Rows = slices.DeleteFunc(rows, func(r FunctionChange) bool { return r.change(by).Diff == 0 })
	slices.SortFunc(d.Rows, func(a, b FunctionChange) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.change(by).Diff), math.Abs(a.change(by).Diff)),
			cmp.Compare(math.Abs(b.Cum.Diff), math.Abs(a.Cum.Diff)), cmp.Compare(a.Name, b.Name))
	})
	return d
}

// A pairing holds the trials of two settings that share blocks; side 0 is the baseline.
type pairing struct {
	settings [2]string
	trials   [2][]*profiledTrial
	sums     [2][]*sums
	totals   [2][]float64
	size     float64 // of a trial, mean
	alpha    float64 // the part of Alpha that this comparison has
}

func (p *Profiles) pair(base, setting string) *pairing {
	c := &pairing{settings: [2]string{base, setting}, alpha: Alpha / float64(max(1, len(p.Settings)-1))}
	for _, a := range p.trials[base] {
		i := slices.IndexFunc(p.trials[setting], func(b *profiledTrial) bool { return b.block == a.block })
		if i < 0 {
			continue
		}
		for side, t := range []*profiledTrial{a, p.trials[setting][i]} {
			c.trials[side] = append(c.trials[side], t)
			c.sums[side] = append(c.sums[side], p.sum(t))
			c.totals[side] = append(c.totals[side], t.total.value)
			c.size += t.size / 2
		}
	}
	c.size /= float64(max(1, len(c.totals[0])))
	return c
}

func (c *pairing) functions() []*Function {
	seen := map[*Function]bool{}
	var fns []*Function
	for _, side := range c.sums {
		for _, s := range side {
			for fn := range s.by[ByCum] { // which has those of all attributions
				if !seen[fn] {
					seen[fn] = true
					fns = append(fns, fn)
				}
			}
		}
	}
	slices.SortFunc(fns, func(a, b *Function) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return fns
}

// changes compares a family of functions; less than limit is negligible.
func (c *pairing) changes(fns []*Function, of func(side, block int, fn *Function) amount, limit float64) []Change {
	blocks := len(c.totals[0])
	pairs := make([]stats.Pair, len(fns))
	for i, fn := range fns {
		pr := stats.Pair{Base: make([]float64, blocks), Other: make([]float64, blocks), Sampling: make([]float64, blocks)}
		magnitude, variance := 0.0, 0.0
		for b := range blocks {
			x, y := of(0, b, fn), of(1, b, fn)
			pr.Base[b], pr.Other[b] = x.value, y.value
			pr.Sampling[b] = x.variance + y.variance
			magnitude += math.Abs(x.value) + math.Abs(y.value)
			variance += pr.Sampling[b]
		}
		// One sample more than were seen, as none seen does not mean none.
		for b := range blocks {
			if magnitude > 0 {
				pr.Sampling[b] += (variance / magnitude) * (variance / magnitude)
			}
		}
		pr.Tested = magnitude/float64(2*blocks) >= considered*limit
		pairs[i] = pr
	}
	out := make([]Change, len(fns))
	few := blocks < Pairs
	for i, s := range stats.Many(pairs, c.totals[0], c.totals[1]) {
		out[i] = Change{
			stats.MeanOf(pairs[i].Base).Mean, stats.MeanOf(pairs[i].Other).Mean, s.Diff,
			dyno.Number(s.Lo), dyno.Number(s.Hi), dyno.Number(s.Adjusted), stats.Unclear,
		}
		switch {
		case few:
		case s.Lo >= -limit && s.Hi <= limit:
			out[i].Verdict = stats.Same
		case !(s.Adjusted <= c.alpha) || math.Abs(s.Diff) < limit:
		case s.Diff < 0:
			out[i].Verdict = stats.Better
		default:
			out[i].Verdict = stats.Worse
		}
	}
	return out
}

// lineOf finds the line of a function that changed most. Lines count from the function's
// first, as it may have moved.
func (p *Profiles) lineOf(c *pairing, fn *Function) LineChange {
	var start [2]int
	for side, s := range c.settings {
		start[side] = p.starts[s][fn]
	}
	if start[0] == 0 || start[1] == 0 {
		start = [2]int{}
	}
	type sum struct {
		sides [2]float64
		via   map[*Function]float64 // difference
	}
	lines := map[int]*sum{} // by their distance from the function's first
	at := func(f frame, side int) *sum {
		l := entry(lines, f.line-start[side])
		if l.via == nil {
			l.via = map[*Function]float64{}
		}
		return l
	}
	for side := range c.sums {
		for _, s := range c.sums[side] {
			for f, a := range s.lines {
				if f.fn == fn && f.line > 0 {
					at(f, side).sides[side] += a.value / float64(len(c.sums[0]))
				}
			}
			for f, v := range s.via {
				if f.fn == fn && f.line > 0 {
					at(f.frame, side).via[f.callee] += v * float64(2*side-1)
				}
			}
		}
	}
	best, found := 0, false
	diff := func(line int) float64 { return lines[line].sides[1] - lines[line].sides[0] }
	for line := range lines {
		if !found || cmp.Or(cmp.Compare(math.Abs(diff(line)), math.Abs(diff(best))), cmp.Compare(best, line)) > 0 {
			best, found = line, true
		}
	}
	if !found {
		return LineChange{}
	}
	side := 0
	if diff(best) > 0 {
		side = 1
	}
	l := LineChange{File: fn.File, Line: best + start[side], In: c.settings[side], Diff: diff(best)}
	most := 0.0
	for callee, v := range lines[best].via {
		name := ""
		if callee != nil {
			name = callee.Name
		}
		if v*l.Diff > 0 && (math.Abs(v) > most || math.Abs(v) == most && name < l.Via) {
			most, l.Via = math.Abs(v), name
		}
	}
	return l
}
