package analysis

import (
	"encoding/json"
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/stats"
)

// Schema is the version of summary.json; it changes when a field changes its
// meaning or goes, not when one is added.
const Schema = 1

// number is written as null where it is not finite, since JSON has no NaN.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

type tableJSON struct {
	Schema     int                 `json:"schema"`
	Name       string              `json:"name"`
	About      []string            `json:"about,omitempty"`
	Planned    int                 `json:"planned"`
	Trials     int                 `json:"trials"`
	Blocks     int                 `json:"blocks"`
	Negligible number              `json:"negligible"`
	Metrics    []metricJSON        `json:"metrics"`
	Settings   []settingJSON       `json:"settings"`
	CPU        []profiles.CPUShare `json:"cpu,omitempty"`
	Warnings   []string            `json:"warnings"`
	Failed     []failureJSON       `json:"failed"`

	Thresholds []thresholdJSON `json:"thresholds,omitempty"`
}

type metricJSON struct {
	Name    string `json:"name"`
	Better  string `json:"better,omitempty"` // "higher", "lower", or absent if neither is
	Primary bool   `json:"primary"`
	Help    string `json:"help,omitempty"`
}

type settingJSON struct {
	Setting  string                 `json:"setting"`
	Levels   dyno.Setting           `json:"levels"`
	Baseline bool                   `json:"baseline"`
	Trials   int                    `json:"trials"`
	Values   map[string]summaryJSON `json:"values"`
	Pooled   *pooledJSON            `json:"pooled"`
	Memory   *memoryJSON            `json:"memory"`
	Resident *residentJSON          `json:"resident,omitempty"`
	Tail     *tailJSON              `json:"tail,omitempty"`
	Leak     map[string]any         `json:"leak,omitempty"`
	Steady   *steadyJSON            `json:"steady,omitempty"`
	Versus   map[string]versusJSON  `json:"versus"`

	Why       []whyJSON        `json:"why,omitempty"`
	Saturated []saturationJSON `json:"saturated,omitempty"`
	Trace     *Attribution     `json:"trace,omitempty"`
	Elapsed   float64          `json:"elapsed-sec,omitempty"` // this and the next two of a single trial
	Sent      *dyno.Sent       `json:"sent,omitempty"`
	Failures  map[string]int   `json:"failures,omitempty"`
}

type whyJSON struct {
	Metric string      `json:"metric"`
	Causes []causeJSON `json:"causes"`
}

type causeJSON struct {
	Class  Class       `json:"class"`
	Metric string      `json:"metric"`
	Base   number      `json:"base"`
	Now    number      `json:"now"`
	Lo     number      `json:"lo"`
	Hi     number      `json:"hi"`
	Share  number      `json:"share"`
	Places []placeJSON `json:"places,omitempty"`
}

type placeJSON struct {
	Func   string `json:"func"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Change number `json:"change"`
	Lo     number `json:"lo"`
	Hi     number `json:"hi"`
	Share  number `json:"share"`
}

type saturationJSON struct {
	Trial  int    `json:"trial"`
	Reason string `json:"reason"`
}

type summaryJSON struct {
	Center number   `json:"center"`
	Lo     number   `json:"lo"`
	Hi     number   `json:"hi"`
	Trials []number `json:"trials"`

	Saturated bool `json:"saturated,omitempty"`
}

type pooledJSON struct {
	Requests int64  `json:"requests"`
	Mean     number `json:"mean-sec"`
	Median   number `json:"median-sec"`
	Min      number `json:"min-sec"`
	Max      number `json:"max-sec"`
	Stddev   number `json:"stddev-sec"`
	P90      number `json:"p90-sec"`
	P99      number `json:"p99-sec"`
	P999     number `json:"p99.9-sec"`
}

type memoryJSON struct {
	Highest number `json:"rss-peak-B"`
	Diff    number `json:"diff-B"`
	Frac    number `json:"diff-frac"`
}

type versusJSON struct {
	Ratio      number        `json:"ratio"`
	Lo         number        `json:"lo"`
	Hi         number        `json:"hi"`
	P          number        `json:"p"`
	Diff       number        `json:"diff"`
	Verdict    stats.Verdict `json:"verdict"`
	MoreBlocks int           `json:"more_blocks,omitempty"`
	Note       string        `json:"note,omitempty"`
}

type failureJSON struct {
	Trial   int    `json:"trial"`
	Setting string `json:"setting"`
	Error   string `json:"error"`

	// What was measured all the same, as results.jsonl has it.
	Values   dyno.Values    `json:"values,omitempty"`
	Sent     dyno.Sent      `json:"sent,omitzero"`
	Failures map[string]int `json:"failures,omitempty"`
}

// MarshalJSON implements json.Marshaler: the shape of summary.json, which
// doc/format.md describes. What is not known is null.
func (t *Table) MarshalJSON() ([]byte, error) {
	j := tableJSON{
		Schema: Schema, Name: t.Name, About: t.About, Planned: t.Planned, Trials: t.Trials, Blocks: t.Blocks,
		Negligible: number(t.Negligible),
		Metrics:    []metricJSON{}, Settings: []settingJSON{}, Failed: []failureJSON{},
		Warnings: append([]string{}, t.Warnings...), CPU: t.CPU, Thresholds: t.thresholdsJSON(),
	}
	for _, m := range t.Metrics {
		better := map[int]string{-1: "lower", +1: "higher"}[m.Better]
		j.Metrics = append(j.Metrics, metricJSON{m.Name, better, m.Primary, m.Help})
	}
	for i := range t.Settings {
		j.Settings = append(j.Settings, t.Settings[i].json())
	}
	for _, f := range t.Failed {
		j.Failed = append(j.Failed, failureJSON{f.Trial, f.Setting.String(), f.Err, f.Result.Values, f.Result.Sent, f.Result.Failures})
	}
	return json.Marshal(j)
}

func (s *Setting) json() settingJSON {
	j := settingJSON{
		Setting: s.Setting.String(), Levels: s.Setting, Baseline: s.Baseline, Trials: s.Trials,
		Values: map[string]summaryJSON{}, Versus: map[string]versusJSON{},
		Resident: s.Resident.json(), Tail: s.Tail.json(), Leak: s.Leak.json(), Steady: s.Steady.json(), Trace: s.Trace,
	}
	for name, v := range s.Values {
		trials := make([]number, len(v.Trials))
		for i, x := range v.Trials {
			trials[i] = number(x)
		}
		j.Values[name] = summaryJSON{number(v.Center), number(v.Lo), number(v.Hi), trials, v.Saturated}
	}
	for name, v := range s.Versus {
		j.Versus[name] = versusJSON{
			number(v.Ratio), number(v.Lo), number(v.Hi), number(v.P), number(v.Diff), v.Verdict, v.MoreBlocks, v.Note,
		}
	}
	for _, w := range s.Why {
		why := whyJSON{w.Metric, []causeJSON{}}
		for _, c := range w.Causes {
			cause := causeJSON{Class: c.Class, Metric: c.Metric, Base: number(c.Base), Now: number(c.Now), Lo: number(c.Lo), Hi: number(c.Hi), Share: number(c.Share)}
			for _, p := range c.Places {
				cause.Places = append(cause.Places, placeJSON{p.Func, p.File, p.Line, number(p.Change), number(p.Lo), number(p.Hi), number(p.Share)})
			}
			why.Causes = append(why.Causes, cause)
		}
		j.Why = append(j.Why, why)
	}
	for _, x := range s.Saturated {
		j.Saturated = append(j.Saturated, saturationJSON{x.Trial, x.Reason})
	}
	if r := s.Single; r != nil {
		j.Elapsed, j.Failures = r.Elapsed.Seconds(), r.Failures
		if r.Sent.Requests > 0 || r.Sent.Unsent > 0 {
			j.Sent = &r.Sent
		}
	}
	if p := s.Pooled; p != nil {
		j.Pooled = &pooledJSON{
			p.Requests, number(p.Mean), number(p.Median), number(p.Min), number(p.Max), number(p.Stddev),
			number(p.P90), number(p.P99), number(p.P999),
		}
	}
	if m := s.Memory; m != nil {
		j.Memory = &memoryJSON{number(m.Highest), number(m.Diff), number(m.Frac)}
	}
	return j
}
