package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// An Outcome is the word for one threshold of one setting.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Unclear Outcome = "unclear" // the trials cannot tell
)

// A Judgement is one threshold of one setting. Of a metric itself the figure
// decides: the median of the trials, or the worst trial, as [WorstCounts] says, which
// has to be known: a trial that failed may be it. Of a change the interval decides,
// see [Table.judge]. Nothing has passed of a run that is not complete.
type Judgement struct {
	Threshold dyno.Threshold
	Metric    string  // its full name; "" if there is none of that name
	Setting   int     // place in Table.Settings; -1 if there is none to judge
	Outcome   Outcome // Failed where nothing is known
	Value     float64 // what was judged, in the metric's base unit, or the change as a fraction; NaN if it is not known
	Limit     float64 // likewise
	Lo, Hi    float64 // plain 95 % interval of Value; NaN if there is none
	Trials    int     // that Value is of
	Trial     int     // number of the one that decided, where the worst counts; else 0

	NoData     bool     // nothing is known, which is a failure
	Close      bool     // the interval reaches across the limit
	MoreBlocks int      // that would settle an unclear change, roughly; 0 if that cannot be said
	Reasons    []string // of what is not plain; none if there is nothing to say
}

// WorstCounts reports whether of a metric the worst trial has to keep a
// threshold, not the median: of counts of what should not happen, and of peaks.
func WorstCounts(metric string) bool {
	switch metric {
	case "failures", "unsent", "oom-kills", "stw-max-sec":
		return true
	}
	return metric == "max-sec" || strings.HasSuffix(metric, "-max-sec") || strings.HasSuffix(metric, "-peak-B")
}

// judge judges each threshold of each setting; changes of all but the baseline.
//
// A change has passed if the whole plain 95 % interval of its ratio keeps the
// limit, and failed if all of an interval is beyond it that is so wide that those
// of all changes that are judged hold together with 95 % (Bonferroni). The two
// differ because the gate as a whole passes only if every threshold does, which
// makes passing no likelier the more there are (an intersection-union test, Berger,
// Technometrics 24, 1982), but fails if any one does. By Holm's procedure the gate
// would fail just as often, as its first step is the same.
func (t *Table) judge(ths []dyno.Threshold, good map[int][]*dyno.Result) {
	var names []string
	for _, m := range t.Metrics {
		names = append(names, m.Name)
	}
	var changes []int
	for _, th := range ths {
		first := 0
		if th.Change {
			first = 1
		}
		metric, limit, err := th.Of(names)
		nan := math.NaN()
		blank := Judgement{Threshold: th, Metric: metric.Name, Setting: -1, Value: nan, Limit: limit, Lo: nan, Hi: nan}
		switch {
		case err != nil:
			blank.nothing("%v", err)
			t.Thresholds = append(t.Thresholds, blank)
			continue
		case first >= len(t.Settings):
			blank.nothing("there is no setting to judge")
			t.Thresholds = append(t.Thresholds, blank)
			continue
		}
		for i := first; i < len(t.Settings); i++ {
			j := blank
			j.Setting = i
			if t.known(&j, good) && th.Change {
				changes = append(changes, len(t.Thresholds))
			} else if !j.NoData {
				t.itself(&j, good[i])
			}
			t.Thresholds = append(t.Thresholds, j)
		}
	}
	changes = slices.DeleteFunc(changes, func(n int) bool { return !t.ratio(&t.Thresholds[n]) })
	for _, n := range changes {
		t.change(&t.Thresholds[n], PrimaryAlpha/float64(len(changes)))
	}
	for n := range t.Thresholds { // what is missing of a run may be what fails
		if j := &t.Thresholds[n]; j.Outcome == Passed && t.Ran() < t.Planned {
			j.Outcome = Unclear
			j.because("only %d of %d planned trials were run", t.Ran(), t.Planned)
		}
	}
}

// nothing makes j a failure for want of data.
func (j *Judgement) nothing(format string, args ...any) {
	j.Outcome, j.NoData = Failed, true
	j.because(format, args...)
}

func (j *Judgement) because(format string, args ...any) {
	j.Reasons = append(j.Reasons, fmt.Sprintf(format, args...))
}

// known reports whether there is a figure to judge, and notes what it lacks.
func (t *Table) known(j *Judgement, good map[int][]*dyno.Result) bool {
	s := &t.Settings[j.Setting]
	if s.Trials == 0 {
		j.nothing("it has no finished trial")
		return false
	}
	if failed := t.failed(j.Setting); failed > 0 {
		j.because("%d of its %d trials failed and are not in it", failed, failed+s.Trials)
	}
	if x, ok := s.Values[j.Metric]; !ok || len(x.Trials) == 0 {
		j.nothing("%s was not measured", j.Metric)
		return false
	} else if x.Saturated {
		j.nothing("dyno may itself have been the limit: %s (consider: %s)", s.Saturated[0].Reason, Cure)
		return false
	}
	sides := []int{j.Setting}
	if j.Threshold.Change {
		sides = []int{j.Setting, 0}
	}
	for _, i := range sides {
		if !t.complete(j, good[i]) {
			return false
		}
	}
	return true
}

// failed counts the trials of setting i that failed.
func (t *Table) failed(i int) (n int) {
	for _, f := range t.Failed {
		if f.Result.Trial.For == "" && f.Setting.String() == t.Settings[i].Setting.String() {
			n++
		}
	}
	return n
}

// complete notes which trials have no value that counts. Of latency that is bad
// news, and no data: requests that timed out are slower than any, and take the
// percentile or the maximum with them.
func (t *Table) complete(j *Judgement, rs []*dyno.Result) bool {
	saturated, lacking, first := 0, 0, 0
	for _, r := range rs {
		_, ok := r.Values.Get(j.Metric)
		switch {
		case !Counts(r, j.Metric):
			saturated++
		case !ok:
			if lacking++; lacking == 1 {
				first = r.Trial.N
			}
		}
	}
	if saturated > 0 {
		j.because("%d of %d trials of %s do not count, as dyno may itself have been the limit", saturated, len(rs), rs[0].Trial.Setting.Label())
	}
	switch {
	case lacking == 0:
	case isLatency(j.Metric):
		j.nothing("trial %d has no %s: requests that timed out or were never sent rank as the slowest, or they were too few", first, j.Metric)
		return false
	default:
		j.because("%d of %d trials of %s have no %s", lacking, len(rs), rs[0].Trial.Setting.Label(), j.Metric)
	}
	return true
}

// itself judges a metric.
func (t *Table) itself(j *Judgement, rs []*dyno.Result) {
	x := t.Settings[j.Setting].Values[j.Metric]
	j.Trials = len(x.Trials)
	if WorstCounts(j.Metric) {
		j.worst(rs)
	} else {
		j.Value, j.Lo, j.Hi = x.Center, x.Lo, x.Hi
	}
	j.Outcome = j.held()
	ran := t.Settings[j.Setting].Trials + t.failed(j.Setting)
	if unknown := ran - j.Trials; j.Outcome == Passed && unknown > 0 && WorstCounts(j.Metric) {
		j.Value, j.Trial = math.NaN(), 0 // the worst may be among them
		j.nothing("the worst trial counts, and %s of %d of %d trials is not known", j.Metric, unknown, ran)
		return
	}
	j.across()
}

// held is the outcome if only Value counts.
func (j *Judgement) held() Outcome {
	if j.Threshold.Holds(j.Value, j.Limit) {
		return Passed
	}
	return Failed
}

// across notes that a median's interval reaches across the limit.
func (j *Judgement) across() {
	if all, none := j.span(j.Lo, j.Hi); math.IsNaN(j.Lo) || all || none {
		return
	}
	j.Close = true
	if j.Outcome == Passed {
		j.Outcome = Unclear
	}
	j.because("close: the median's 95%% interval reaches across the limit")
}

// worst takes the trial that is the worst for the threshold.
func (j *Judgement) worst(rs []*dyno.Result) {
	bad := func(v float64) float64 { // the greater, the worse
		switch j.Threshold.Op {
		case ">", ">=":
			return -v
		case "==":
			return math.Abs(v - j.Limit)
		case "!=":
			return -math.Abs(v - j.Limit)
		}
		return v
	}
	for _, r := range rs {
		v, ok := r.Values.Get(j.Metric)
		if ok && Counts(r, j.Metric) && (j.Trial == 0 || bad(v) > bad(j.Value)) {
			j.Trial, j.Value = r.Trial.N, v
		}
	}
}

// span reports whether all of an interval keeps the limit, or none of it.
func (j *Judgement) span(lo, hi float64) (all, none bool) {
	at := func(x float64) bool { return j.Threshold.Holds(x, j.Limit) }
	switch j.Threshold.Op {
	case "<", "<=":
		return at(hi), !at(lo)
	case ">", ">=":
		return at(lo), !at(hi)
	}
	outside, point := j.Limit < lo || j.Limit > hi, lo == hi && lo == j.Limit
	if j.Threshold.Op == "==" {
		return point, outside
	}
	return outside, point
}

// ratio takes the change from the comparison, and reports whether it has an
// interval to judge by.
func (t *Table) ratio(j *Judgement) bool {
	v := t.Settings[j.Setting].Versus[j.Metric]
	j.Trials = v.compared.N
	switch {
	case v.Note != "":
		j.nothing("%s", v.Note)
	case v.compared.N < 2:
		j.nothing("it takes two blocks with both settings, and there are %d", v.compared.N)
	case math.IsNaN(v.Ratio) && v.Verdict == stats.Same: // zero in every trial of both
		j.Value, j.Lo, j.Hi = 0, 0, 0
		j.Outcome = j.held()
		return false
	case math.IsNaN(v.Lo):
		j.nothing("a value is zero, so that there is no ratio (consider: a limit of %s itself)", j.Threshold.Name)
	default:
		j.Value, j.Lo, j.Hi = v.Ratio-1, v.Lo-1, v.Hi-1
		return true
	}
	return false
}

// change judges a change; alpha is the error that it may add to the gate's.
func (t *Table) change(j *Judgement, alpha float64) {
	c := t.Settings[j.Setting].Versus[j.Metric].compared
	all, beyond := j.span(j.Lo, j.Hi)
	lo, hi := c.Interval(alpha)
	_, none := j.span(lo-1, hi-1)
	switch {
	case all:
		j.Outcome = Passed
		return
	case none:
		j.Outcome = Failed
		return
	}
	j.Outcome = Unclear
	j.Close = !beyond
	level := 0.05
	if !j.Threshold.Holds(j.Value, j.Limit) {
		level = alpha
	}
	j.MoreBlocks = c.MoreBeside(1+j.Limit, level)
	if beyond {
		j.because("beyond the limit, but not surely among all changes that are judged")
	}
}

// Gate counts the judgements: those that failed, and those that are unclear.
func (t *Table) Gate() (failed, unclear int) { return gate(t.Thresholds) }

func (j Judgement) outcome() Outcome { return j.Outcome }

func gate[J interface{ outcome() Outcome }](js []J) (failed, unclear int) {
	for _, j := range js {
		switch j.outcome() {
		case Failed:
			failed++
		case Unclear:
			unclear++
		}
	}
	return failed, unclear
}

// Undecided counts the comparisons of primary metrics that are unclear.
func (t *Table) Undecided() (n int) {
	for i := range t.Settings {
		for _, m := range t.Metrics {
			if v, ok := t.Settings[i].Versus[m.Name]; ok && m.Primary && v.Verdict == stats.Unclear {
				n++
			}
		}
	}
	return n
}

type thresholdJSON struct {
	Threshold  string   `json:"threshold"`
	Metric     string   `json:"metric,omitempty"`
	Setting    *string  `json:"setting"` // null if there is none
	Verdict    Outcome  `json:"verdict"`
	Value      number   `json:"value"`
	Limit      number   `json:"limit"`
	Lo         number   `json:"lo"`
	Hi         number   `json:"hi"`
	Trials     int      `json:"trials"`
	Trial      int      `json:"trial,omitempty"`
	NoData     bool     `json:"no_data,omitempty"`
	Close      bool     `json:"close,omitempty"`
	MoreBlocks int      `json:"more_blocks,omitempty"`
	Reasons    []string `json:"reasons,omitempty"`
}

func (t *Table) thresholdsJSON() (list []thresholdJSON) {
	for i := range t.Thresholds {
		list = append(list, t.Thresholds[i].json(func(i int) dyno.Setting { return t.Settings[i].Setting }))
	}
	return list
}

// json is a threshold as the summaries of runs and of benchmarks have it.
func (j *Judgement) json(setting func(i int) dyno.Setting) thresholdJSON {
	x := thresholdJSON{
		Threshold: j.Threshold.String(), Metric: j.Metric, Verdict: j.Outcome,
		Value: number(j.Value), Limit: number(j.Limit), Lo: number(j.Lo), Hi: number(j.Hi),
		Trials: j.Trials, Trial: j.Trial, NoData: j.NoData, Close: j.Close, MoreBlocks: j.MoreBlocks, Reasons: j.Reasons,
	}
	if j.Setting >= 0 {
		name := setting(j.Setting).String()
		x.Setting = &name
	}
	return x
}
