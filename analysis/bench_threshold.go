package analysis

import (
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// A BenchJudgement is one threshold of one benchmark in one setting. Trials is the
// number of blocks.
//
// Of a change: it has passed if the whole plain 95 % interval keeps the limit, and
// failed if all of that is beyond it and the comparison is surely a change too, by
// the error of one comparison. Of a unit itself the median over blocks decides, of
// every setting but the baseline, or of the only one.
type BenchJudgement struct {
	Package, Name string // "" if no benchmark has the unit
	Judgement
}

// judge judges each threshold of each benchmark.
func (t *BenchTable) judge(ths []dyno.Threshold) {
	units := map[string]bool{}
	var names []string
	for i := range t.Rows {
		for _, u := range t.Rows[i].Units {
			if !units[u.Unit] {
				units[u.Unit] = true
				names = append(names, u.Unit)
			}
		}
	}
	for _, th := range ths {
		metric, limit, err := th.Of(names)
		nan := math.NaN()
		blank := Judgement{Threshold: th, Metric: metric.Name, Setting: -1, Value: nan, Limit: limit, Lo: nan, Hi: nan}
		switch {
		case err != nil:
			blank.nothing("%v", err)
		case !units[metric.Name]:
			blank.nothing("no benchmark has %s", metric.Name)
		case th.Change && len(t.Settings) < 2:
			blank.nothing("there is no setting to judge")
		default:
			for i := range t.Rows {
				t.judgeRow(&t.Rows[i], blank)
			}
			continue
		}
		t.Thresholds = append(t.Thresholds, BenchJudgement{Judgement: blank})
	}
}

// judgeRow judges a threshold of one benchmark. A unit of its own that it does not
// have is no failure, but the units of package testing are of every benchmark.
func (t *BenchTable) judgeRow(row *BenchRow, blank Judgement) {
	var unit *BenchUnit
	for i := range row.Units {
		if row.Units[i].Unit == blank.Metric {
			unit = &row.Units[i]
		}
	}
	own := blank.Metric != "sec/op" && blank.Metric != "B/op" && blank.Metric != "allocs/op"
	if unit == nil && own {
		return
	}
	for i := min(1, len(t.Settings)-1); i < len(t.Settings); i++ {
		j := blank
		j.Setting = i
		switch {
		case unit == nil || unit.Centers[i].N == 0:
			j.nothing("%s was not measured", j.Metric)
			if row.Err != "" {
				j.because("%s", row.Err)
			}
		case j.Threshold.Change:
			j.benchChange(unit, i, t.Error)
		default:
			j.benchItself(unit.Centers[i])
		}
		t.Thresholds = append(t.Thresholds, BenchJudgement{row.Package, row.Name, j})
	}
}

// benchItself judges a unit by its median.
func (j *Judgement) benchItself(c stats.Summary) {
	j.Value, j.Lo, j.Hi, j.Trials = c.Center, c.Lo, c.Hi, c.N
	j.Outcome = j.held()
	j.across()
}

// benchChange judges a change.
func (j *Judgement) benchChange(u *BenchUnit, i int, alpha float64) {
	v := u.Versus[i-1]
	j.Trials = v.N
	changed := v.Adjusted <= alpha && v.Diff != 0 // whichever side is better
	switch {
	case v.N < 2:
		j.nothing("it takes two blocks with both settings, and there are %d", v.N)
		return
	case math.IsNaN(v.Ratio):
		j.fromZero(v, u.Centers[0].Center, changed)
		return
	}
	j.Value = v.Ratio - 1
	if j.Outcome = Unclear; math.IsNaN(v.Lo) {
		j.because("%d blocks are too few for an interval", v.N)
		return
	}
	j.Lo, j.Hi = v.Lo-1, v.Hi-1
	all, beyond := j.span(j.Lo, j.Hi)
	// To fail takes the interval of the run's error, which allows for all looks: the
	// plain one would fail a change that is just allowed in one run of forty.
	lo, hi := v.Interval(alpha)
	_, surely := j.span(lo-1, hi-1)
	switch {
	case all:
		j.Outcome = Passed
	case beyond && surely && !math.IsNaN(lo):
		j.Outcome = Failed
	case beyond:
		j.because("beyond the limit, but not surely")
	default:
		j.Close = true
	}
}

// fromZero judges a change where some value is zero or negative. There is no ratio,
// but whether it changed is known, and from zero that is by more than any limit.
func (j *Judgement) fromZero(v BenchVersus, base float64, changed bool) {
	switch {
	case v.Verdict == stats.Same:
		j.Value, j.Lo, j.Hi = 0, 0, 0
		j.Outcome = j.held()
	case !changed:
		j.Outcome = Unclear
		j.because("values are zero, so that there is no ratio, and no sure change (consider: a limit of %s itself)", j.Threshold.Name)
	default:
		j.Value = v.Diff / math.Abs(base)
		j.Outcome = j.held()
		j.because("values are zero, so that the change has no interval")
	}
}

// Gate counts the judgements: those that failed, and those that are unclear.
func (t *BenchTable) Gate() (failed, unclear int) { return gate(t.Thresholds) }
