// Package receipt has the promises that dyno makes, and holds them against what came.
//
// It owns what a promise is, when it held, did not hold or cannot be told, how it is corrected for another load, and the
// share of promises that held. It reads and writes no files, which is package findings/receipts'. The sentences are package
// report/promises'.
package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
)

// Kind and Schema are those of receipt.json; CheckKind and Schema those of its checks.
const (
	Kind      = "receipt"
	CheckKind = "receipt-check"
	Schema    = 1
)

// A Number is a dyno.Number that is NaN again once it is read.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return dyno.Number(n).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// A Receipt is what one command promised at one time. The first of its settings is the one that was measured.
type Receipt struct {
	answer.Envelope[answer.Setting, string]

	ID       string    `json:"id"`   // of what it promises: two receipts with the same promises have the same
	From     string    `json:"from"` // the command: "predict", "tune", "capacity", "upgrade"
	Name     string    `json:"name"` // of the plan, or the file of a log
	Subject  string    `json:"subject,omitempty"`
	Run      string    `json:"run,omitempty"` // what it was made from, relative to the receipt's directory; "" of a log
	Machine  Machine   `json:"machine"`
	Load     Load      `json:"load"` // under which the promises hold
	Promises []Promise `json:"promises"`
	Model    *Model    `json:"model,omitempty"` // nil if nothing can be worked out for another load
}

// A Machine is where a subject ran. The zero value is one that is not known.
type Machine struct {
	CPU  string `json:"cpu,omitempty"`
	CPUs int    `json:"cpus,omitempty"`
}

// A Load is what decides figures beside the setting. NaN stands for what is not known.
type Load struct {
	Text    string `json:"text,omitempty"`
	Sends   string `json:"sends,omitempty"`   // a hash of what is planned to be sent; "" if it is not known
	Clients int    `json:"clients,omitempty"` // of a closed load, whose rate is an outcome; 0 of one that is open or not known
	Rate    Number `json:"req/s"`
	Alloc   Number `json:"alloc-B/s"`   // bytes that are allocated per second
	Live    Number `json:"live-B"`      // heap that is live, without what is allocated while it is marked
	Marked  Number `json:"heap-live-B"` // heap that a collection finds live, that included
}

// Unknown is a load of which nothing is known.
func Unknown() Load {
	nan := Number(math.NaN())
	return Load{Rate: nan, Alloc: nan, Live: nan, Marked: nan}
}

// Under is a planned load, before anything was measured. Of another generator the command says how many clients there are.
func Under(l *dyno.Load) Load {
	u, resolved := Unknown(), l.Resolved()
	u.Text, u.Sends = l.String(), sends(&resolved)
	switch {
	case l.None || l.Open():
	case l.Command != "":
		u.Clients = 1
	default:
		u.Clients = resolved.Concurrency
	}
	return u
}

// sends is a hash of what a load sends, without how much of it and how fast.
func sends(l *dyno.Load) string {
	if l.None {
		return ""
	}
	what := dyno.Load{Data: l.Data, Targets: l.Targets, Replay: l.Replay, Client: l.Client, Program: l.Program, Args: l.Args, GRPC: l.GRPC, Command: l.Command}
	text, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// An Interval is a figure in its metric's base unit, or a ratio. A bound that is NaN is none.
type Interval struct {
	Value Number `json:"value"`
	Lo    Number `json:"lo"`
	Hi    Number `json:"hi"`
}

// A Promise is one figure of one setting.
type Promise struct {
	answer.Setting
	Metric  string          `json:"metric"`
	Against *answer.Setting `json:"against,omitempty"` // the figure is the ratio to this setting's; nil: it is the metric itself
	Interval
	Level float64 `json:"level"` // share of cases in which the interval holds
	// The interval is of one more launch, from so many, whose logarithms have this standard deviation; 0 of other intervals.
	Launches int     `json:"launches,omitempty"`
	Spread   float64 `json:"spread,omitempty"`
	// Truth: the interval is of what is true, so that the noise of a later measurement is to be added. Else it is of what a later
	// run measures.
	Truth      bool     `json:"truth,omitempty"`
	Doubts     []string `json:"doubts,omitempty"`     // because of which the error may exceed the interval
	Objectives []string `json:"objectives,omitempty"` // of CapacityMetric: what holds up to this rate
}

// UnmarshalJSON implements json.Unmarshaler. A bound that is absent is NaN, as one that is null.
func (p *Promise) UnmarshalJSON(data []byte) error {
	type plain Promise
	nan := Number(math.NaN())
	x := plain{Interval: Interval{nan, nan, nan}}
	err := json.Unmarshal(data, &x)
	*p = Promise(x)
	return err
}

// UnmarshalJSON implements json.Unmarshaler. A figure that is absent is NaN, as one that is null.
func (l *Load) UnmarshalJSON(data []byte) error {
	type plain Load
	x := plain(Unknown())
	err := json.Unmarshal(data, &x)
	*l = Load(x)
	return err
}

// CapacityMetric is the rate up to which objectives hold.
const CapacityMetric = "capacity/s"

// timed reports whether a metric depends on how fast the machine is.
func timed(metric string) bool {
	return strings.Contains(metric, "-sec") || strings.HasSuffix(metric, "/s") || metric == "sec/op"
}

// A Model works promises out for another load: it has the windows that were measured.
type Model struct {
	Live    float64  `json:"live"` // factor of the live heap that was promised for
	Windows []Window `json:"windows"`
}

// A Window is a gcmodel.Window as files have it.
type Window struct {
	Levels   dyno.Setting `json:"levels"`
	Launches int          `json:"launches"`
	Left     int          `json:"left,omitempty"`
	Requests Number       `json:"requests"`
	Elapsed  Number       `json:"elapsed-sec"`
	Alloc    Number       `json:"alloc-B"`
	CPU      Number       `json:"cpu-sec"`
	GCCPU    Number       `json:"gc-cpu-idle-sec"`
	Procs    Number       `json:"gomaxprocs"`
	RSSPeak  Number       `json:"rss-peak-B"`
	HeapPeak Number       `json:"heap-peak-B"`
	Mapped   Number       `json:"mapped-B"`
	Overhead Number       `json:"overhead-B"`
	Filling  Number       `json:"filling-frac"`
	Cycles   [][8]float64 `json:"cycles"` // trigger, end, marked, goal in bytes; marking, assists, idle in seconds; 1 if sizes are to the byte
}

// mostCycles are kept of a window. More say hardly more of what another load changes.
const mostCycles = 1000

// ModelOf keeps windows that were measured. live is the factor of the live heap.
func ModelOf(windows []predict.Window, live float64) *Model {
	m := &Model{Live: live}
	for i := range windows {
		if len(windows[i].Cycles) > 0 {
			m.Windows = append(m.Windows, windowOf(&windows[i]))
		}
	}
	if m.Windows == nil {
		return nil
	}
	return m
}
