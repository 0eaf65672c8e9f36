package dyno

import (
	"encoding/json"
	"github.com/dynolab/dyno/hist"
	"time"
)

// A Result is the record of one finished trial.
type Result struct {
	Trial   Trial
	Start   time.Time
	Elapsed time.Duration // of the measured window; 0 if it was not reached
	Values  Values        // one number per metric: all that comparisons compare

	Collections []Collection    // that ended in the measured window, in order
	Memory      []Snapshot      // where the memory was, at stages of the trial in order
	Latency     *hist.Histogram // of all requests that succeeded; nil if there was no load
	Sent        Sent            // what the load sent and received
	Failures    map[string]int  // failed requests by cause
	Subject     string          // what ran: Go version and revision, as far as known
	Files       []string        // in the trial's directory; the store fills it in
	Benchmarks  []Benchmark     // of a Bench
	Surveys     []Survey        // of a trial ForSurvey
	Warnings    Warnings        // doubts that the reader must see
	Err         string          // why the trial failed, or ""
}

// Sent is what a load sent and received in the measured window.
type Sent struct {
	Engine    string        `json:"engine,omitempty"`    // what sent it: "raw", "loop", "std", or the name of another generator
	Requests  int64         `json:"requests"`            // measured requests that are over, failed ones included
	Unsent    int64         `json:"unsent,omitempty"`    // open load: due, but never sent
	Statuses  map[int]int64 `json:"statuses,omitempty"`  // answers by status
	BytesIn   int64         `json:"in-B"`                // of bodies received
	BytesOut  int64         `json:"out-B"`               // of bodies sent
	Slowest   []Request     `json:"slowest,omitempty"`   // ten of those that succeeded, the slowest first
	Saturated string        `json:"saturated,omitempty"` // why latency is not to be compared: the generator was busy or late, or the rate was not reached
}

// A Request is one request of the measured window.
type Request struct {
	Client int           `json:"client"`
	Step   string        `json:"step"`
	Due    time.Duration `json:"due-ns"` // this and the next two since the window began
	Sent   time.Duration `json:"sent-ns"`
	Done   time.Duration `json:"done-ns"`
	Status int           `json:"status"` // 0 if there was no answer
	Bytes  int64         `json:"in-B"`   // of the body received
	Failed bool          `json:"failed,omitempty"`
}

// Times are the times of requests that were kept one after another: all that tells
// latency. They are read in a thirtieth of the time that the requests take.
type Times struct {
	Row       int64   // of the first, counted from 0 over all that were kept
	Due, Done []int64 // nanoseconds since the window began
	Failed    []bool  // nil if none did
}

// A Collection is one garbage collection that ended in the measured window.
type Collection struct {
	N           int           // counted by the runtime from 1
	Start, End  time.Duration // since the window began; from the stop of the world at its beginning to the end of that at its end
	SweepTerm   time.Duration // stop of the world at the beginning
	MarkTerm    time.Duration // stop of the world at the end
	Assist      time.Duration // CPU time of marking by goroutines that allocate
	Background  time.Duration // CPU time of marking by workers
	Idle        time.Duration // CPU time of marking on Ps that had nothing else to do
	HeapStart   float64       // bytes when marking began
	HeapEnd     float64       // bytes when marking ended
	Live        float64       // bytes that were marked, those allocated while marking included
	Goal        float64       // bytes; 0 if there was none
	Forced      bool          // by runtime.GC
	Uncertainty time.Duration // of Start and End
}

// A Value is one measured number in the base unit of its metric.
type Value struct {
	Metric string
	Value  float64
}

// Values are written as an object in order: {"p99-sec": 0.012}.
type Values []Value

// MarshalJSON implements json.Marshaler.
func (vs Values) MarshalJSON() ([]byte, error) {
	return marshalOrdered(len(vs), func(i int) (string, any) { return vs[i].Metric, vs[i].Value })
}

// UnmarshalJSON implements json.Unmarshaler. The values come in the order of
// Metrics.
func (vs *Values) UnmarshalJSON(data []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	*vs = nil
	for k, v := range m {
		*vs = append(*vs, Value{k, v})
	}
	vs.Sort()
	return nil
}

// Get returns the value of a metric.
func (vs Values) Get(metric string) (v float64, ok bool) {
	for _, x := range vs {
		if x.Metric == metric {
			return x.Value, true
		}
	}
	return 0, false
}

// A Series is a quantity sampled over the measured window. It is no part of a
// Result: of hours it would fill the memory, and has a file of its own.
type Series struct {
	Metric string          // its name ends in its base unit, as a metric's
	At     []time.Duration // since the window began; below 0 before it
	Value  []float64
}

// resultJSON is a Result as results.jsonl has it; doc/format.md describes it.
type resultJSON struct {
	Trial    int             `json:"trial"`
	Block    int             `json:"block"`
	For      string          `json:"for,omitempty"`
	Setting  string          `json:"setting"`
	Levels   Setting         `json:"levels"`
	Subject  string          `json:"subject,omitempty"`
	Start    time.Time       `json:"start"`
	Elapsed  float64         `json:"elapsed-sec"`
	Values   Values          `json:"values"`
	Memory   []Snapshot      `json:"memory,omitempty"`
	Latency  *hist.Histogram `json:"latency,omitempty"`
	Sent     Sent            `json:"sent,omitzero"`
	Failures map[string]int  `json:"failures,omitempty"`
	Files    []string        `json:"files,omitempty"`
	Bench    []Benchmark     `json:"benchmarks,omitempty"`
	Surveys  []Survey        `json:"surveys,omitempty"`
	Warnings Warnings        `json:"warnings,omitempty"`
	Err      string          `json:"error,omitempty"`
}

// MarshalJSON implements json.Marshaler. It leaves out Collections and the
// counts of Latency, which have files of their own, and what the plan says of the trial.
func (r *Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(resultJSON{
		r.Trial.N, r.Trial.Block, r.Trial.For, r.Trial.Setting.String(), r.Trial.Setting, r.Subject,
		r.Start, r.Elapsed.Seconds(), r.Values, r.Memory, r.Latency, r.Sent, r.Failures, r.Files, r.Benchmarks, r.Surveys, r.Warnings, r.Err,
	})
}

// UnmarshalJSON implements json.Unmarshaler; of the trial it fills N, Block, For
// and Setting.
func (r *Result) UnmarshalJSON(data []byte) error {
	var j resultJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = Result{
		Trial: Trial{N: j.Trial, Block: j.Block, For: j.For, Setting: j.Levels},
		Start: j.Start, Elapsed: hist.Seconds(j.Elapsed), Values: j.Values, Memory: j.Memory, Latency: j.Latency,
		Sent: j.Sent, Failures: j.Failures, Subject: j.Subject, Files: j.Files, Benchmarks: j.Bench, Surveys: j.Surveys, Warnings: j.Warnings, Err: j.Err,
	}
	return nil
}
