package dyno

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/dynolab/dyno/hist"
)

// A Result is the record of one finished trial.
type Result struct {
	Trial   Trial         `json:"-"`
	Subject string        `json:"subject,omitempty"` // what ran: Go version and revision, as far as known
	Sum     string        `json:"sum,omitempty"`     // of the executable: two launches with one run the same program; "" if unknown
	Start   time.Time     `json:"start"`
	Clock   int64         `json:"clock_ns,omitempty"` // CLOCK_MONOTONIC at Start, the clock of execution traces and perf; 0 if unknown
	Elapsed time.Duration `json:"-"`                  // of the measured window; 0 if it was not reached
	Void    bool          `json:"void,omitempty"`     // it failed for a reason that is not its subject's, such as the loss of a generator
	Node    *Machine      `json:"node,omitempty"`     // that the subject ran on, if that is not this machine
	Turns   int           `json:"turns,omitempty"`    // that the window had beside other settings; 0 if the subject was alone
	Values  Values        `json:"values"`             // one number per metric: all that comparisons compare

	Collections []Collection        `json:"-"`                    // that ended in the measured window, in order
	Memory      []Snapshot          `json:"memory,omitempty"`     // where the memory was, at stages of the trial in order
	Latency     *hist.Histogram     `json:"latency,omitempty"`    // of all requests that succeeded; nil if there was no load
	Sent        Sent                `json:"sent,omitzero"`        // what the load sent and received
	Generators  []Generator         `json:"generators,omitempty"` // what sent the load, if that were dyno agents
	Failures    map[string]int      `json:"failures,omitempty"`   // failed requests by cause
	Files       []string            `json:"files,omitempty"`      // in the trial's directory; the store fills it in
	Benchmarks  []Benchmark         `json:"benchmarks,omitempty"` // of a Bench
	Surveys     []Survey            `json:"surveys,omitempty"`    // of a trial ForSurvey
	SameCode    map[string][]string `json:"same_code,omitempty"`  // in the baseline's trial ForSurvey: benchmark functions that are the same code in all settings, without "Benchmark", by package
	Statements  Statements          `json:"statements,omitempty"` // what needs did in the window, the most frequent first
	InForce     []Setting           `json:"in_force,omitempty"`   // what the Go runtime had of GOGC, GOMEMLIMIT and GOMAXPROCS from the window on; several if that changed, none if it is unknown
	Overridden  []Override          `json:"overridden,omitempty"` // what the plan asked for of these, and did not take effect
	Warnings    Warnings            `json:"warnings,omitempty"`   // doubts that the reader must see
	Died        bool                `json:"died,omitempty"`       // the subject was ready, and then ended by itself or for lack of memory
	Err         string              `json:"error,omitempty"`      // why the trial failed, or ""
}

// Beside reports whether the trial was compared side by side with others. Such results do not count any more
// once the run goes on with one trial after the other.
func (r *Result) Beside() bool { return r.Turns > 0 && r.Trial.For == "" }

// Sent sums up the requests and answers of the measured window.
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

// A Machine ran a subject or a generator.
type Machine struct {
	Name   string `json:"name"` // of the node, or of the host
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus,omitempty"`
}

// A Generator is one agent's part of a load.
type Generator struct {
	Name      string  `json:"name"` // its address, or its pod
	Machine   Machine `json:"machine"`
	Requests  int64   `json:"requests"`
	Start     float64 `json:"start-sec"`       // how much later its window began than was agreed, by its own clock; below 0 if it was early
	Clock     float64 `json:"clock-error-sec"` // bound of the error with which its clock is known: half the shortest round trip
	Lateness  float64 `json:"lateness-p99-sec,omitempty"`
	CPU       float64 `json:"cpu-frac,omitempty"`      // of its own cores
	Throttled float64 `json:"throttled-sec,omitempty"` // in the window
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

// Times are the times of consecutive requests that were kept, which are read in a
// thirtieth of the time of whole ones.
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

// UnmarshalJSON implements json.Unmarshaler. The values come in the order of Metrics.
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

// A Series is a quantity sampled over the window. It has a file of its own: hours of it
// would fill the memory.
type Series struct {
	Metric string          // its name ends in its base unit, as a metric's
	At     []time.Duration // since the window began; below 0 before it
	Value  []float64
}

// resultJSON is a line of results.jsonl, which doc/format.md describes.
type resultJSON struct {
	Trial   int     `json:"trial"`
	Block   int     `json:"block"`
	For     string  `json:"for,omitempty"`
	Setting string  `json:"setting"`
	Levels  Setting `json:"levels"`
	Elapsed float64 `json:"elapsed-sec"`
	*plainResult
}

type plainResult Result // without its methods

// MarshalJSON implements json.Marshaler, without what has files of its own
// (Collections, counts of Latency) or is in the plan.
func (r *Result) MarshalJSON() ([]byte, error) {
	t := &r.Trial
	return json.Marshal(resultJSON{t.N, t.Block, t.For, t.Setting.String(), t.Setting, r.Elapsed.Seconds(), (*plainResult)(r)})
}

// UnmarshalJSON implements json.Unmarshaler; the trial has N, Block, For and Setting.
func (r *Result) UnmarshalJSON(data []byte) error {
	*r = Result{}
	j := resultJSON{plainResult: (*plainResult)(r)}
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	r.Trial = Trial{N: j.Trial, Block: j.Block, For: j.For, Setting: j.Levels}
	r.Elapsed = hist.Seconds(j.Elapsed)
	return nil
}

// FailedLike returns Err without numbers, such as ports and times, and without examples. Failures with equal
// texts are alike. It is "" if the trial did not fail.
func (r *Result) FailedLike() string {
	text, _, _ := strings.Cut(r.Err, ", such as ")
	return numbers.ReplaceAllString(text, "")
}

var numbers = regexp.MustCompile(`[0-9.]+[a-zµ]*`)

// A Snapshot says where a subject's memory is, in bytes; 0 means unknown. Live to Other, without
// Released, add up to the memory that the runtime has mapped. Resident memory may be less, as
// untouched memory is not resident, or more, by memory outside the Go runtime.
type Snapshot struct {
	Stage string        `json:"stage"`
	At    time.Duration `json:"at-ns"` // since the window began; below 0 before it

	RSS  float64 `json:"rss-B"`            // resident: Rss of /proc/PID/smaps_rollup, or of statm
	File float64 `json:"file-B,omitempty"` // of it, pages of files

	Files   float64 `json:"files-B,omitempty"` // of File, files other than the program and its libraries; not of a brief look
	Largest string  `json:"largest,omitempty"` // of these, the one that holds the most

	Live     float64 `json:"live-B,omitempty"`     // heap that the last collection found live
	Dead     float64 `json:"dead-B,omitempty"`     // other objects: allocated since, or not swept yet
	Unused   float64 `json:"unused-B,omitempty"`   // room in spans that hold objects
	Idle     float64 `json:"idle-B,omitempty"`     // free spans
	Released float64 `json:"released-B,omitempty"` // free spans that were given back to the system
	Stacks   float64 `json:"stacks-B,omitempty"`   // of goroutines, and of threads that the runtime made
	Metadata float64 `json:"metadata-B,omitempty"` // of the heap: spans, caches, and what collecting takes
	Other    float64 `json:"other-B,omitempty"`    // of the runtime: profiles, tables, timers

	Goroutines float64 `json:"goroutines,omitempty"`

	InForce Setting `json:"in_force,omitempty"` // what the runtime had of GOGC, GOMEMLIMIT and GOMAXPROCS; nil if it was not asked
}

// The stages of a trial at which there may be a snapshot, in order.
const (
	StageReady  = "ready"  // before the load
	StageBefore = "before" // just before the measured window, after forced collections; with Trial.Leak
	StageEnd    = "end"    // just after the window
	StageAfter  = "after"  // then, after forced collections; with Trial.Leak
	StageIdle   = "idle"   // after the rest that follows the load
	StageFreed  = "freed"  // then, after FreeOSMemory; in a trial ForMemory
)

// Mapped is what the Go runtime has from the system and has not given back; 0 if
// it was not asked.
func (s *Snapshot) Mapped() float64 {
	return s.Live + s.Dead + s.Unused + s.Idle + s.Stacks + s.Metadata + s.Other
}
