package tune

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// An Option is a setting that was measured side by side with today's.
type Option struct {
	*Candidate
	Stage  Stage   // the last in which it was
	Alpha  float64 // error of the comparison, two-sided
	Blocks int     // that both are in
	// Gain is that of the goal, as a fraction; Lo and Hi are its interval at Alpha, over all looks. NaN if it is not known.
	Gain, Lo, Hi float64
	Proven       bool                // all of the interval is above the margin
	Vain         bool                // all of it is below
	Judgements   []compare.Judgement // of the constraints
	Values       map[string]compare.Summary
	Front        bool // no other setting that was measured is better in something and worse in nothing of CPU time, memory and p99

	versus map[string]compare.Versus
}

// Versus is the change of a metric against today's in the same run.
func (x *Option) Versus(metric string) (compare.Versus, bool) {
	v, ok := x.versus[metric]
	return v, ok
}

// Keeps reports whether every constraint holds for sure.
func (x *Option) Keeps() bool {
	return !slices.ContainsFunc(x.Judgements, func(j compare.Judgement) bool { return j.Outcome != compare.Passed })
}

// Fails reports whether a constraint does not hold, for sure.
func (x *Option) Fails() bool { return slices.ContainsFunc(x.Judgements, Broken) }

// Broken reports whether a constraint surely does not hold: a median beyond it is not enough if its interval reaches across.
func Broken(j compare.Judgement) bool { return j.Outcome == compare.Failed && !j.Close }

// options are what is known of the settings of a round, without today's.
func (o *Outcome) options(r *Round, rs []*dyno.Result, chosen []*Candidate) (xs []*Option) {
	cs := stats.Compare(o.blocks(r, rs))
	for i, c := range chosen {
		nan := math.NaN()
		x := &Option{Candidate: c, Stage: r.Stage, Alpha: r.Alpha, Gain: nan, Lo: nan, Hi: nan}
		if s := r.Table.Settings; i+1 < len(s) {
			x.Values, x.versus = s[i+1].Values, s[i+1].Versus
		}
		x.Judgements = judgements(r.Table, i+1)
		if i < len(cs) && cs[i].N > 0 {
			x.Blocks = cs[i].N
			x.Gain = o.Goal.gain(cs[i].Ratio)
			x.Lo, x.Hi = o.Goal.gains(cs[i].Interval(r.Alpha))
			x.Proven, x.Vain = x.Lo > o.Margin, x.Hi < o.Margin
		}
		xs = append(xs, x)
	}
	return xs
}

func judgements(t *compare.Table, setting int) (js []compare.Judgement) {
	for _, j := range t.Thresholds {
		if j.Setting == setting {
			js = append(js, j)
		}
	}
	return js
}

// blocks are the values of the goal, blocks in rows and settings in columns; NaN where there is none.
func (o *Outcome) blocks(r *Round, rs []*dyno.Result) [][]float64 {
	column, last := map[string]int{}, 0
	for i, s := range r.Settings {
		column[s.String()] = i
	}
	center := func(metric string) float64 { return r.Table.Settings[0].Values[metric].Center }
	cpu, memory := center(cpuMetric), center(memoryMetric)
	for _, x := range rs {
		last = max(last, x.Trial.Block)
	}
	rows := make([][]float64, last)
	for b := range rows {
		rows[b] = slices.Repeat([]float64{math.NaN()}, len(r.Settings))
	}
	for _, x := range dyno.LastOfEach(rs) {
		i, ok := column[x.Trial.Setting.String()]
		if !ok || x.Err != "" || x.Trial.For != "" {
			continue
		}
		if v, ok := o.Goal.value(x, cpu, memory); ok {
			rows[x.Trial.Block-1][i] = v
		}
	}
	return rows
}

// enough reports whether more blocks would not change the recommendation: every option is settled, or one is proven that
// no unsettled one seems to beat. Where today's breaks a constraint, any option that keeps all may be recommended.
func (o *Outcome) enough(t *compare.Table, xs []*Option) bool {
	broken := slices.ContainsFunc(judgements(t, 0), Broken)
	unsettled := func(x *Option) bool {
		open := !x.Proven && !x.Vain || (x.Proven || broken) && !x.Keeps()
		return open && !x.Fails() && x.Blocks > 0
	}
	best := math.Inf(-1)
	for _, x := range xs {
		if x.Proven && x.Keeps() {
			best = max(best, x.Gain)
		}
	}
	return !slices.ContainsFunc(xs, func(x *Option) bool { return unsettled(x) && !(x.Gain < best) })
}

// take keeps what a round says of settings. Of two rounds that one counts which decided, or else had more blocks; a constraint
// that failed in one has failed.
func (o *Outcome) take(xs []*Option) {
	decided := func(x *Option) bool { return x.Proven || x.Vain }
	for _, x := range xs {
		same := func(y *Option) bool { return y.Setting.String() == x.Setting.String() }
		i := slices.IndexFunc(o.Options, same)
		if i < 0 {
			o.Options = append(o.Options, x)
			continue
		}
		old := o.Options[i]
		if decided(old) != decided(x) && decided(old) || decided(old) == decided(x) && old.Blocks > x.Blocks {
			old, x = x, old
		}
		if old.Fails() {
			x.Judgements = old.Judgements
		}
		o.Options[i] = x
	}
}

// leading is the option of which most was measured and that fails no constraint; nil if none gains anything.
func (o *Outcome) leading() (best *Option) {
	for _, x := range o.Options {
		if x.Axis == "" && !x.Fails() && x.Gain > 0 && (best == nil || x.Gain > best.Gain) {
			best = x
		}
	}
	return best
}

// Why is why a setting is recommended, or none.
type Why string

const (
	Better      Why = "better"     // it gains the margin for sure, and all constraints hold
	Allowed     Why = "allowed"    // today's breaks a constraint, and this is the best of those that keep all
	NoneBetter  Why = "none"       // no setting that was measured gains the margin, for sure
	Unclear     Why = "unclear"    // one may, but that is not sure
	Constrained Why = "constraint" // those that do, or may, break a constraint, or may
	NoneAllowed Why = "no-allowed" // today's breaks a constraint, and so does each that was measured, or may
	NotMeasured Why = "unmeasured" // none was measured
)

// recommend is the verdict.
func (o *Outcome) recommend() (best *Option, why Why) {
	if len(o.Options) == 0 {
		return nil, NotMeasured
	}
	broken := o.TodayFails()
	why = NoneBetter
	var good []*Option
	open := false // an option may be better, and keeps the constraints
	for _, x := range o.Options {
		open = open || !x.Vain && x.Keeps()
		switch {
		case x.Keeps() && (x.Proven || broken && x.Blocks > 0):
			if best == nil || x.Gain > best.Gain || math.IsNaN(best.Gain) {
				best = x
			}
			good = append(good, x)
		case !x.Vain && x.Fails(), x.Proven && !x.Keeps():
			why = Constrained
		case !x.Vain && !x.Fails() && why == NoneBetter:
			why = Unclear
		}
	}
	if best = o.leaner(best, good); best != nil && broken && !best.Proven {
		return best, Allowed
	}
	switch {
	case best != nil:
		return best, Better
	case broken:
		return nil, NoneAllowed
	case open:
		return nil, Unclear
	}
	return nil, why
}

// leaner is the option with the least memory among those that gain as much as the best but for half the margin: nobody
// should pay for what is within the noise.
func (o *Outcome) leaner(best *Option, good []*Option) *Option {
	lean := best
	for _, x := range good {
		if x.Gain > best.Gain-o.Margin/2 && x.point()[1] < lean.point()[1] { // not if one is not known
			lean = x
		}
	}
	return lean
}

// TodayFails reports whether today's setting breaks a constraint.
func (o *Outcome) TodayFails() bool {
	for _, r := range o.Rounds {
		if slices.ContainsFunc(judgements(r.Table, 0), Broken) {
			return true
		}
	}
	return false
}

// front marks the options that no other dominates, today's included: its ratios are 1.
func front(xs []*Option) {
	points := [][3]float64{{1, 1, 1}}
	for _, x := range xs {
		points = append(points, x.point())
	}
	for i, x := range xs {
		p := points[i+1]
		x.Front = !slices.ContainsFunc(points, func(q [3]float64) bool { return dominates(q, p) })
	}
}

// point is CPU time, memory and p99 against today's; NaN where it is not known.
func (x *Option) point() (p [3]float64) {
	for i, metric := range []string{cpuMetric, memoryMetric, tailMetric} {
		p[i] = math.NaN()
		if v, ok := x.versus[metric]; ok {
			p[i] = v.Ratio
		}
	}
	return p
}

// TodayOnFront reports whether no option dominates today's setting.
func (o *Outcome) TodayOnFront() bool {
	return !slices.ContainsFunc(o.Options, func(x *Option) bool { return dominates(x.point(), [3]float64{1, 1, 1}) })
}

// dominates reports whether q is better than p in something and not worse in anything that is known of both.
func dominates(q, p [3]float64) bool {
	better := false
	for i := range p {
		if math.IsNaN(q[i]) || math.IsNaN(p[i]) {
			continue
		}
		if q[i] > p[i] {
			return false
		}
		better = better || q[i] < p[i]
	}
	return better
}
