package compare

import (
	"encoding/json"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/placement"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/stats"
)

// Schema is the version of summary.json; it changes when a field changes its
// meaning or goes, not when one is added.
const Schema = 2

// A Form is what summary.json holds; doc/format.md describes it.
type Form struct {
	answer.Envelope[Setting, string] // its kind is what was measured, as before there was an envelope

	Name       string              `json:"name"`
	About      []string            `json:"about,omitempty"`
	Planned    int                 `json:"planned"`
	Trials     int                 `json:"trials"`
	Blocks     int                 `json:"blocks"`
	Negligible dyno.Number         `json:"negligible"`
	Looks      []int               `json:"looks,omitempty"`
	Metrics    []rowJSON           `json:"metrics"`
	CPU        []profiles.CPUShare `json:"cpu,omitempty"`
	Places     *placement.Places   `json:"places,omitempty"`
	Warnings   dyno.Warnings       `json:"warnings"`
	Failed     []failureJSON       `json:"failed"`

	Thresholds []thresholdJSON `json:"thresholds,omitempty"`

	*benchJSON
}

type benchJSON struct {
	Elapsed     dyno.Number         `json:"elapsed-sec"`
	Error       dyno.Number         `json:"error"`
	Precision   dyno.Number         `json:"precision"`
	Comparisons int                 `json:"comparisons"`
	FalseChance dyno.Number         `json:"false-change-frac"`
	SameCode    map[string][]string `json:"same_code,omitempty"`
	Benchmarks  []benchmarkJSON     `json:"benchmarks"`
}

type benchmarkJSON struct {
	*Benchmark
	File   string      `json:"file,omitempty"`
	Line   int         `json:"line,omitempty"`
	Faults []faultJSON `json:"faults,omitempty"`
}

type faultJSON struct {
	Setting string `json:"setting"`
	Fault
}

type rowJSON struct {
	Name      string `json:"name"`              // of its cells in values and versus
	Package   string `json:"package,omitempty"` // this and the next two of a benchmark
	Benchmark string `json:"benchmark,omitempty"`
	Unit      string `json:"unit,omitempty"`
	Better    string `json:"better,omitempty"` // "higher", "lower", or absent if neither is
	Primary   bool   `json:"primary"`
	Help      string `json:"help,omitempty"`
}

type thresholdJSON struct {
	Threshold  string       `json:"threshold"`
	Metric     string       `json:"metric,omitempty"`
	Package    string       `json:"package,omitempty"`
	Benchmark  string       `json:"benchmark,omitempty"`
	Setting    *string      `json:"setting"` // null if there was no setting to judge
	Verdict    Outcome      `json:"verdict"`
	Value      dyno.Number  `json:"value"`
	Limit      dyno.Number  `json:"limit"`
	Lo         dyno.Number  `json:"lo"`
	Hi         dyno.Number  `json:"hi"`
	Trials     int          `json:"trials"`
	Trial      int          `json:"trial,omitempty"`
	NoData     bool         `json:"no-data,omitempty"`
	Close      bool         `json:"close,omitempty"`
	MoreBlocks int          `json:"more-blocks,omitempty"`
	Reasons    []reasonJSON `json:"reasons,omitempty"`
}

type reasonJSON struct {
	Kind    ReasonKind `json:"kind"`
	N       int        `json:"n,omitempty"`
	Of      int        `json:"of,omitempty"`
	Trial   int        `json:"trial,omitempty"`
	Setting string     `json:"setting,omitempty"`
	Said    string     `json:"said,omitempty"`
}

type failureJSON struct {
	Trial   int    `json:"trial"`
	For     string `json:"for,omitempty"`
	Setting string `json:"setting"`
	Error   string `json:"error"`

	// What was measured all the same, as results.jsonl has it.
	Values   dyno.Values    `json:"values,omitempty"`
	Sent     dyno.Sent      `json:"sent,omitzero"`
	Failures map[string]int `json:"failures,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (t *Table) MarshalJSON() ([]byte, error) { return json.Marshal(t.Form(answer.Head{})) }

// Form makes the form of summary.json. What is not known is null in it.
func (t *Table) Form(h answer.Head, notes ...string) Form {
	j := Form{
		Envelope: answer.New(string(t.Kind), Schema, h, t.Settings, notes), Name: t.Name, About: t.About, Planned: t.Planned, Trials: t.Trials, Blocks: t.Blocks,
		Negligible: dyno.Number(t.Negligible), Looks: t.Looks,
		Metrics: []rowJSON{}, Failed: []failureJSON{},
		Warnings: dyno.Warnings{}, CPU: t.CPU, Places: t.Places,
	}
	for _, d := range t.Doubts {
		j.Warnings = append(j.Warnings, dyno.Warning{Kind: d.Kind, Of: d.About, Text: d.Text})
	}
	for _, m := range t.Rows {
		better := map[int]string{-1: "lower", +1: "higher"}[m.Better]
		row := rowJSON{Name: m.Key, Better: better, Primary: m.Primary, Help: m.Help}
		if b := m.Benchmark; b != nil {
			row.Package, row.Benchmark, row.Unit = b.Package, b.Name, m.Name
		}
		j.Metrics = append(j.Metrics, row)
	}
	for _, f := range t.Failed {
		j.Failed = append(j.Failed, failureJSON{f.Trial.N, f.Trial.For, f.Trial.Setting.String(), f.Err, f.Values, f.Sent, f.Failures})
	}
	for i := range t.Thresholds {
		j.Thresholds = append(j.Thresholds, t.thresholdJSON(&t.Thresholds[i]))
	}
	if t.Kind == OfBenchmarks {
		j.benchJSON = t.benchJSON()
	}
	return j
}

func (t *Table) benchJSON() *benchJSON {
	j := &benchJSON{
		Elapsed: dyno.Number(t.Elapsed.Seconds()), Error: dyno.Number(t.Error), Precision: dyno.Number(t.Precision),
		Comparisons: t.Comparisons, FalseChance: dyno.Number(t.FalseChance), SameCode: t.SameCode, Benchmarks: []benchmarkJSON{},
	}
	for _, b := range t.Benchmarks {
		x := benchmarkJSON{Benchmark: b, File: b.Source.File, Line: b.Source.Line}
		for _, f := range b.Faults {
			x.Faults = append(x.Faults, faultJSON{t.Settings[f.Setting].Setting.String(), f})
		}
		j.Benchmarks = append(j.Benchmarks, x)
	}
	return j
}

func (t *Table) thresholdJSON(j *Judgement) thresholdJSON {
	x := thresholdJSON{
		Threshold: j.Threshold.String(), Metric: j.Metric, Verdict: j.Outcome,
		Value: dyno.Number(j.Value), Limit: dyno.Number(j.Limit), Lo: dyno.Number(j.Lo), Hi: dyno.Number(j.Hi),
		Trials: j.Trials, Trial: j.Trial, NoData: j.NoData, Close: j.Close, MoreBlocks: j.MoreBlocks,
	}
	if j.Setting >= 0 {
		name := t.Settings[j.Setting].Setting.String()
		x.Setting = &name
	}
	if j.Benchmark != nil {
		x.Package, x.Benchmark = j.Benchmark.Package, j.Benchmark.Name
	}
	for _, r := range j.Reasons {
		y := reasonJSON{Kind: r.Kind, N: r.N, Of: r.Of, Trial: r.Trial, Said: r.Said}
		if r.Kind == ReasonNotCounted || r.Kind == ReasonLacking {
			y.Setting = t.Settings[r.Setting].Setting.String()
		}
		x.Reasons = append(x.Reasons, y)
	}
	return x
}

// MarshalJSON implements json.Marshaler.
func (s *Setting) MarshalJSON() ([]byte, error) {
	type plain Setting
	j := struct {
		Name string `json:"setting"`
		*plain
		Elapsed  float64        `json:"elapsed-sec,omitempty"` // this and the next two of a single trial
		Sent     *dyno.Sent     `json:"sent,omitempty"`
		Failures map[string]int `json:"failures,omitempty"`
	}{Name: s.Setting.String(), plain: (*plain)(s)}
	if r := s.Single; r != nil {
		j.Elapsed, j.Failures = r.Elapsed.Seconds(), r.Failures
		if r.Sent.Requests > 0 || r.Sent.Unsent > 0 {
			j.Sent = &r.Sent
		}
	}
	return json.Marshal(j)
}

// MarshalJSON implements json.Marshaler.
func (s Summary) MarshalJSON() ([]byte, error) {
	trials := make([]dyno.Number, len(s.Trials))
	for i, x := range s.Trials {
		trials[i] = dyno.Number(x)
	}
	return json.Marshal(struct {
		Center    dyno.Number   `json:"center"`
		Lo        dyno.Number   `json:"lo"`
		Hi        dyno.Number   `json:"hi"`
		Trials    []dyno.Number `json:"trials"`
		Saturated bool          `json:"saturated,omitempty"`
	}{dyno.Number(s.Center), dyno.Number(s.Lo), dyno.Number(s.Hi), trials, s.Saturated})
}

// MarshalJSON implements json.Marshaler.
func (v Versus) MarshalJSON() ([]byte, error) {
	var gate *dyno.Number
	if g := dyno.Number(v.Gate.Single()); v.Gate.N > 0 {
		gate = &g
	}
	return json.Marshal(struct {
		Blocks     int           `json:"blocks"`
		Ratio      dyno.Number   `json:"ratio"`
		Lo         dyno.Number   `json:"lo"`
		Hi         dyno.Number   `json:"hi"`
		P          dyno.Number   `json:"p"`
		PlainP     dyno.Number   `json:"plain-p"`          // before it was adjusted
		GateP      *dyno.Number  `json:"gate-p,omitempty"` // of primary metrics of a service
		Diff       dyno.Number   `json:"diff"`
		SD         dyno.Number   `json:"sd"`
		Verdict    stats.Verdict `json:"verdict"`
		MoreBlocks int           `json:"more-blocks,omitempty"`
		Note       string        `json:"note,omitempty"`
	}{
		v.Comparison.N, dyno.Number(v.Ratio), dyno.Number(v.Lo), dyno.Number(v.Hi), dyno.Number(v.P), dyno.Number(v.Comparison.P), gate, dyno.Number(v.Diff),
		dyno.Number(v.Comparison.SD), v.Verdict, v.MoreBlocks, v.Note.Text,
	})
}
