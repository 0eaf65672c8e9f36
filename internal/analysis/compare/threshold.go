package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// An Outcome is the word for one threshold of one setting.
type Outcome string

const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Unclear Outcome = "unclear" // the trials cannot tell
)

// A Judgement is one threshold of one row and one setting. An absolute limit is
// decided by the median of the trials, or by the worst trial, as [WorstCounts]
// says, which then has to be known: a trial that failed may be it. A limit of a
// change is decided by the interval, see [Table.judge]. An incomplete run never
// passes.
type Judgement struct {
	Threshold dyno.Threshold
	Metric    string     // its full name; "" if there is none of that name
	Benchmark *Benchmark // nil of a service, and where no benchmark has the metric
	Setting   int        // place in Table.Settings; -1 if there is none to judge
	Outcome   Outcome    // Failed where nothing is known
	Value     float64    // what was judged, in the metric's base unit, or the change as a fraction; NaN if it is not known
	Limit     float64    // likewise
	Lo, Hi    float64    // 95 % interval of Value; NaN if absent
	Trials    int        // that Value is of; of benchmarks, blocks
	Trial     int        // number of the one that decided, where the worst counts; else 0

	NoData     bool     // nothing is known, which is a failure
	Close      bool     // the interval reaches across the limit
	MoreBlocks int      // that would settle an unclear change, roughly; 0 if that cannot be said
	Reasons    []Reason // of what is not plain; none if there is nothing to say

	compared stats.Comparison
}

// A Reason says why a threshold was judged as it was. Which fields it has
// depends on its kind.
type Reason struct {
	Kind    ReasonKind
	N, Of   int    // counts: N of Of
	Trial   int    // number of a trial
	Setting int    // place in Table.Settings
	Said    string // by what was measured: words of the subject, of a benchmark, of the generator
	Text    string // of Versus.Note, in words; package words fills it in for summary.json
}

// A ReasonKind is what a reason is about.
type ReasonKind string

// The kinds of reasons. Those down to ReasonZero are failures for want of data.
const (
	ReasonUnknown      ReasonKind = "unknown-metric"   // Said: what the name may mean
	ReasonNoBenchmark  ReasonKind = "no-benchmark"     // no benchmark has the metric
	ReasonNoSetting    ReasonKind = "no-setting"       // there is no setting to judge
	ReasonNoTrial      ReasonKind = "no-trial"         // no trial of the setting finished
	ReasonNotMeasured  ReasonKind = "not-measured"     // Said: why, as far as a benchmark says it
	ReasonSaturated    ReasonKind = "saturated"        // Said: how the generator was the limit
	ReasonNoLatency    ReasonKind = "no-latency"       // Trial: the first without
	ReasonWorstUnknown ReasonKind = "worst-unknown"    // N of Of trials are not known, and the worst counts
	ReasonNotCompared  ReasonKind = "not-compared"     // Said: how the generator was the limit; or Trial: the one whose slowest requests are not known
	ReasonUnsettled    ReasonKind = "unsettled"        // memory still grew when the load ended, and the settings answered different numbers of requests
	ReasonFewBlocks    ReasonKind = "few-blocks"       // N blocks have both settings, and it takes two
	ReasonZero         ReasonKind = "zero"             // a value is zero, so there is no ratio
	ReasonFailedTrials ReasonKind = "failed-trials"    // N of Of trials failed and are not in it
	ReasonNotCounted   ReasonKind = "not-counted"      // N of Of trials of Setting: the generator may have been the limit
	ReasonLacking      ReasonKind = "lacking"          // N of Of trials of Setting have no value
	ReasonClose        ReasonKind = "close"            // the median's interval reaches across the limit
	ReasonNotSure      ReasonKind = "not-sure"         // beyond the limit, but not beyond the wider interval that failing takes
	ReasonPartial      ReasonKind = "partial"          // N of Of planned trials were run
	ReasonZeroSame     ReasonKind = "zero-unclear"     // no ratio, and no sure change
	ReasonZeroChanged  ReasonKind = "zero-no-interval" // no ratio, so the change has no interval
	ReasonNoInterval   ReasonKind = "no-interval"      // N blocks are too few for one
)

// WorstCounts reports whether the worst trial of a metric has to keep a threshold, not the
// median: of counts of what should not happen, and of peaks.
func WorstCounts(metric string) bool {
	switch metric {
	case "failures", "unsent", "oom-kills", "stw-max-sec":
		return true
	}
	return metric == "max-sec" || strings.HasSuffix(metric, "-max-sec") || strings.HasSuffix(metric, "-peak-B")
}

// judge judges each threshold of each of its rows and each setting: changes of all but the
// baseline, limits of benchmarks too unless there is one setting only.
//
// A change has passed if its whole 95 % interval keeps the limit. It
// has failed if all of a wider interval is beyond the limit: of a service, one that holds for all judged changes
// together with 95 % (Bonferroni); of benchmarks, that of one comparison's error, which
// allows for all looks. The two differ because the gate passes only if every threshold
// does, which more thresholds make no likelier (an intersection-union test, Berger,
// Technometrics 24, 1982), but fails if any one does. Holm's procedure would fail just
// as often, as its first step is the same.
func (t *Table) judge(ths []dyno.Threshold, good map[int][]*dyno.Result) {
	var names []string
	for _, row := range t.Rows {
		if !slices.Contains(names, row.Name) {
			names = append(names, row.Name)
		}
	}
	var changes []int
	for _, th := range ths {
		metric, limit, err := th.Of(names)
		nan := math.NaN()
		blank := Judgement{Threshold: th, Metric: metric.Name, Setting: -1, Value: nan, Limit: limit, Lo: nan, Hi: nan}
		first := 0
		if th.Change || t.Kind == OfBenchmarks && len(t.Settings) > 1 {
			first = 1
		}
		switch {
		case err != nil:
			blank.nothing(Reason{Kind: ReasonUnknown, Said: err.Error()})
		case t.Kind == OfBenchmarks && !slices.Contains(names, metric.Name):
			blank.nothing(Reason{Kind: ReasonNoBenchmark})
		case first >= len(t.Settings):
			blank.nothing(Reason{Kind: ReasonNoSetting})
		}
		if blank.NoData {
			t.Thresholds = append(t.Thresholds, blank)
			continue
		}
		for _, row := range t.judged(metric) {
			for i := first; i < len(t.Settings); i++ {
				j := blank
				j.Benchmark, j.Setting = row.Benchmark, i
				if t.known(&j, row, good) && !th.Change {
					t.itself(&j, row, good[i])
				} else if !j.NoData && t.ratio(&j, row) {
					changes = append(changes, len(t.Thresholds))
				}
				t.Thresholds = append(t.Thresholds, j)
			}
		}
	}
	alpha := t.Error
	if t.Kind != OfBenchmarks {
		alpha = PrimaryAlpha / float64(len(changes))
	}
	for _, n := range changes {
		t.change(&t.Thresholds[n], alpha)
	}
	for n := range t.Thresholds { // what is missing of a run may be what fails
		if j := &t.Thresholds[n]; t.Kind != OfBenchmarks && j.Outcome == Passed && t.Ran() < t.Planned {
			j.Outcome = Unclear
			j.because(Reason{Kind: ReasonPartial, N: t.Ran(), Of: t.Planned})
		}
	}
}

// judged lists the rows that a threshold is about. Every benchmark has the units of package
// testing; one without another unit is left out.
func (t *Table) judged(m dyno.Metric) (rows []Row) {
	if t.Kind != OfBenchmarks {
		return []Row{{Metric: m, Key: m.Name}}
	}
	for _, b := range t.Benchmarks {
		i := slices.IndexFunc(b.Units, func(u Row) bool { return u.Name == m.Name })
		switch {
		case i >= 0:
			rows = append(rows, b.Units[i])
		case slices.Contains(benchUnits, m.Name):
			rows = append(rows, Row{Metric: m, Key: b.Full() + " " + m.Name, Benchmark: b})
		}
	}
	return rows
}

func (j *Judgement) nothing(r Reason) {
	j.Outcome, j.NoData = Failed, true
	j.because(r)
}

func (j *Judgement) because(r Reason) { j.Reasons = append(j.Reasons, r) }

// known reports whether there is a figure to judge, and notes what it lacks.
func (t *Table) known(j *Judgement, row Row, good map[int][]*dyno.Result) bool {
	s := &t.Settings[j.Setting]
	x, measured := s.Values[row.Key]
	measured = measured && len(x.Trials) > 0
	if b := row.Benchmark; b != nil {
		if !measured {
			j.nothing(Reason{Kind: ReasonNotMeasured})
		}
		return measured
	}
	if s.Trials == 0 {
		j.nothing(Reason{Kind: ReasonNoTrial})
		return false
	}
	if failed := t.failed(j.Setting); failed > 0 {
		j.because(Reason{Kind: ReasonFailedTrials, N: failed, Of: failed + s.Trials})
	}
	switch {
	case !measured:
		j.nothing(Reason{Kind: ReasonNotMeasured})
		return false
	case x.Saturated:
		j.nothing(Reason{Kind: ReasonSaturated, Said: s.Saturated[0].Reason})
		return false
	}
	sides := []int{j.Setting}
	if j.Threshold.Change {
		sides = []int{j.Setting, 0}
	}
	for _, i := range sides {
		if !t.complete(j, i, good[i]) {
			return false
		}
	}
	return true
}

func (t *Table) failed(i int) (n int) {
	for _, f := range t.FailedOf(i) {
		if f.Trial.For == "" {
			n++
		}
	}
	return n
}

// complete notes which trials have no value that counts. A missing latency is a failure:
// requests that timed out are slower than any, and take the percentile with them.
func (t *Table) complete(j *Judgement, setting int, rs []*dyno.Result) bool {
	saturated, lacking, first := 0, 0, 0
	for _, r := range rs {
		_, ok := r.Values.Get(j.Metric)
		switch {
		case !dyno.Counts(r, j.Metric):
			saturated++
		case !ok:
			if lacking++; lacking == 1 {
				first = r.Trial.N
			}
		}
	}
	if saturated > 0 {
		j.because(Reason{Kind: ReasonNotCounted, N: saturated, Of: len(rs), Setting: setting})
	}
	switch {
	case lacking == 0:
	case dyno.IsLatency(j.Metric):
		j.nothing(Reason{Kind: ReasonNoLatency, Trial: first})
		return false
	default:
		j.because(Reason{Kind: ReasonLacking, N: lacking, Of: len(rs), Setting: setting})
	}
	return true
}

func (t *Table) itself(j *Judgement, row Row, rs []*dyno.Result) {
	x := t.Settings[j.Setting].Values[row.Key]
	j.Trials = len(x.Trials)
	worst := t.Kind != OfBenchmarks && WorstCounts(j.Metric)
	if worst {
		j.worst(rs)
	} else {
		j.Value, j.Lo, j.Hi = x.Center, x.Lo, x.Hi
	}
	j.Outcome = j.held()
	if worst {
		ran := t.Settings[j.Setting].Trials + t.failed(j.Setting)
		if unknown := ran - j.Trials; j.Outcome == Passed && unknown > 0 {
			j.Value, j.Trial = math.NaN(), 0 // the worst may be among them
			j.nothing(Reason{Kind: ReasonWorstUnknown, N: unknown, Of: ran})
			return
		}
	}
	j.across()
}

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
	j.because(Reason{Kind: ReasonClose})
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
		if ok && dyno.Counts(r, j.Metric) && (j.Trial == 0 || bad(v) > bad(j.Value)) {
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

// ratio takes the change from the comparison, and reports whether it has an interval.
func (t *Table) ratio(j *Judgement, row Row) bool {
	v := t.Settings[j.Setting].Versus[row.Key]
	j.Trials, j.compared = v.Comparison.N, v.Comparison
	switch {
	case v.Note.Kind != "":
		j.nothing(v.Note)
	case j.Trials < 2:
		j.nothing(Reason{Kind: ReasonFewBlocks, N: j.Trials})
	case math.IsNaN(v.Ratio) && v.Verdict == stats.Same: // zero in every trial of both
		j.Value, j.Lo, j.Hi = 0, 0, 0
		j.Outcome = j.held()
	case math.IsNaN(v.Ratio) && t.Kind == OfBenchmarks:
		t.fromZero(j, row, v)
	case math.IsNaN(v.Ratio):
		j.nothing(Reason{Kind: ReasonZero})
	case math.IsNaN(v.Lo):
		j.Value, j.Outcome = v.Ratio-1, Unclear
		j.because(Reason{Kind: ReasonNoInterval, N: j.Trials})
	default:
		j.Value, j.Lo, j.Hi = v.Ratio-1, v.Lo-1, v.Hi-1
		return true
	}
	return false
}

// fromZero judges a change of a benchmark with a value of zero or below: it has no ratio,
// but if it surely changed, that is by more than any limit.
func (t *Table) fromZero(j *Judgement, row Row, v Versus) {
	if changed := v.P <= t.Error && v.Diff != 0; !changed { // whichever side is better
		j.Outcome = Unclear
		j.because(Reason{Kind: ReasonZeroSame})
		return
	}
	j.Value = v.Diff / math.Abs(t.Settings[0].Values[row.Key].Center)
	j.Outcome = j.held()
	j.because(Reason{Kind: ReasonZeroChanged})
}

// change judges a change; alpha is the error of the interval that failing takes.
func (t *Table) change(j *Judgement, alpha float64) {
	all, beyond := j.span(j.Lo, j.Hi)
	lo, hi := j.compared.Interval(alpha)
	_, surely := j.span(lo-1, hi-1)
	switch {
	case all:
		j.Outcome = Passed
		return
	case beyond && surely && !math.IsNaN(lo):
		j.Outcome = Failed
		return
	}
	j.Outcome = Unclear
	j.Close = !beyond
	if beyond {
		j.because(Reason{Kind: ReasonNotSure})
	}
	if t.Kind == OfBenchmarks { // blocks are added until it is settled, or the time is up
		return
	}
	level := 0.05
	if !j.Threshold.Holds(j.Value, j.Limit) {
		level = alpha
	}
	j.MoreBlocks = j.compared.MoreBeside(1+j.Limit, level)
}

// Gate counts the judgements: those that failed, and those that are unclear.
func (t *Table) Gate() (failed, unclear int) {
	for _, j := range t.Thresholds {
		switch j.Outcome {
		case Failed:
			failed++
		case Unclear:
			unclear++
		}
	}
	return failed, unclear
}

// Undecided counts the comparisons that are unclear; of a service, of primary metrics.
func (t *Table) Undecided() (n int) {
	if t.Kind == OfBenchmarks {
		return t.verdicts(stats.Unclear)
	}
	for i := range t.Settings {
		for _, m := range t.Rows {
			if v, ok := t.Settings[i].Versus[m.Key]; ok && m.Primary && v.Verdict == stats.Unclear {
				n++
			}
		}
	}
	return n
}
