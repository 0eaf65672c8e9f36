package analysis

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// Values are the figures under the names that they have in JSON, those that are
// known, in the order of reports.
func (f *GCFigures) Values(requests int64) dyno.Values {
	var vs dyno.Values
	put := func(name string, x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			vs = append(vs, dyno.Value{Metric: name, Value: x})
		}
	}
	sec := func(name string, d time.Duration) { put(name, d.Seconds()) }
	n := float64(f.Collections)
	put("collections", n)
	put("forced", float64(f.Forced))
	put("missing", float64(f.Missing))
	sec("span-sec", f.Span)
	put("gc-cpu-frac", f.Frac())
	sec("gc-total-sec", f.Wall)
	sec("gc-cpu-sec", f.CPU)
	put("pace-sec", f.Pace())
	if requests > 0 {
		put("requests", float64(requests))
		put("req/gc", float64(requests)/n)
	}
	if f.Collections == 0 {
		return vs
	}
	for _, s := range []struct {
		name string
		size *GCSize
	}{{"heap-live", &f.Live}, {"heap-start", &f.HeapStart}, {"heap-end", &f.HeapEnd}, {"heap-goal", &f.Goal}} {
		if s.size.n > 0 {
			put(s.name+"-B", s.size.Mean())
			put(s.name+"-first-B", s.size.First)
			put(s.name+"-last-B", s.size.Last)
			put(s.name+"-max-B", s.size.Max)
		}
	}
	sec("pause-max-sec", f.PauseMax())
	put("pause-total-sec", f.PauseTotal())
	for _, p := range []struct {
		name string
		h    *hist.Histogram
	}{{"sweep-term", f.SweepTerm}, {"mark-term", f.MarkTerm}} {
		sec(p.name+"-p50-sec", told(p.h.Quantile(.5)))
		sec(p.name+"-p90-sec", told(p.h.Quantile(.9)))
		sec(p.name+"-p99-sec", told(p.h.Quantile(.99)))
		sec(p.name+"-max-sec", p.h.Max())
		put(p.name+"-total-sec", p.h.Mean()*float64(p.h.Count()))
	}
	put("mark-sec", f.Mark.Seconds()/n)
	sec("mark-max-sec", f.MarkMost)
	sec("mark-total-sec", f.Mark)
	sec("assist-sec", f.Assist)
	sec("background-sec", f.Background)
	sec("idle-sec", f.Idle)
	return vs
}

// told is the time that a trace told, of one that a histogram found: it has two
// digits that count, and from 10 ms on it is of whole milliseconds.
func told(d time.Duration) time.Duration {
	for unit := time.Millisecond; unit > time.Microsecond; unit /= 10 {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}

type gcColumnJSON struct {
	At          float64 `json:"at-sec"` // since the process began
	Collections int64   `json:"collections"`
	Frac        number  `json:"gc-cpu-frac"`
	Wall        float64 `json:"gc-total-sec"`
	Live        number  `json:"heap-live-B"`
	HeapMax     float64 `json:"heap-end-max-B"`
	GoalMax     float64 `json:"heap-goal-max-B,omitempty"`
	PauseMax    float64 `json:"pause-max-sec"`
}

type gcProcessJSON struct {
	FirstN   int            `json:"first"`
	LastN    int            `json:"last"`
	Procs    int            `json:"procs"`
	Said     float64        `json:"gc-cpu-frac-runtime"`
	Began    float64        `json:"began-sec"`
	Width    float64        `json:"column-sec"`
	Timeline []gcColumnJSON `json:"timeline"`
}

// MarshalJSON implements json.Marshaler: an object of the total's values, with
// the processes, each an object of its own values and its timeline.
func (l *GCLog) MarshalJSON() ([]byte, error) {
	processes := make([]json.RawMessage, 0, len(l.Processes))
	for _, p := range l.Processes {
		j := gcProcessJSON{
			FirstN: p.FirstN, LastN: p.LastN, Procs: p.Procs, Said: p.Said,
			Began: p.began.Seconds(), Width: p.Timeline.Width.Seconds(),
		}
		for i, c := range p.Timeline.Columns {
			j.Timeline = append(j.Timeline, gcColumnJSON{
				(p.began + time.Duration(i)*p.Timeline.Width).Seconds(), c.Collections, number(c.CPU.Seconds() / c.Capacity), c.Wall.Seconds(),
				number(c.Live / float64(c.Collections)), c.HeapMax, c.GoalMax, c.PauseMax.Seconds(),
			})
		}
		data, err := joined(p.Values(0), j)
		if err != nil {
			return nil, err
		}
		processes = append(processes, data)
	}
	rest := struct {
		Name      string            `json:"log,omitempty"`
		Said      *float64          `json:"gc-cpu-frac-runtime,omitempty"`
		Text      GCText            `json:"text"`
		More      int               `json:"more-processes,omitempty"`
		Processes []json.RawMessage `json:"processes"`
	}{Name: l.Name, Text: l.Text, More: l.More, Processes: processes}
	if len(l.Processes) == 1 && l.More == 0 {
		rest.Said = &l.Processes[0].Said
	}
	return joined(l.Total.Values(l.Requests), rest)
}

// joined makes one object of two.
func joined(vs dyno.Values, rest any) ([]byte, error) {
	a, err := json.Marshal(vs)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(a, []byte("}")), ','), b[1:]...), nil
}
