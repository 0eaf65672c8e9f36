package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// A report is what of a run's summary.json is used, and its trials.
type report struct {
	Blocks     int       `json:"blocks"`
	Metrics    []metric  `json:"metrics"`
	Settings   []setting `json:"settings"`
	Thresholds []struct {
		Verdict string `json:"verdict"`
	} `json:"thresholds"`
	Failed []struct {
		Trial int    `json:"trial"`
		Error string `json:"error"`
	} `json:"failed"`

	trials []trial
}

type metric struct {
	Name    string `json:"name"`
	Primary bool   `json:"primary"`
}

type setting struct {
	Versus map[string]versus `json:"versus"`
}

type versus struct {
	Ratio   *float64 `json:"ratio"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
	Verdict string   `json:"verdict"`
}

func (v versus) changed() bool { return v.Verdict == "better" || v.Verdict == "worse" }

// half is half of the interval's width as a fraction, NaN without one.
func (v versus) half() float64 { return halfWidth(known(v.Lo), known(v.Hi)) }

func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// primary are the verdicts of a setting on the primary metrics, by name.
func (r *report) primary(setting int) map[string]versus {
	m := map[string]versus{}
	for _, x := range r.Metrics {
		if !x.Primary || setting >= len(r.Settings) {
			continue
		}
		if v, ok := r.Settings[setting].Versus[x.Name]; ok {
			m[x.Name] = v
		}
	}
	return m
}

// A trial is a line of results.jsonl.
type trial struct {
	Trial   int                `json:"trial"`
	Block   int                `json:"block"`
	For     string             `json:"for"`
	Levels  map[string]string  `json:"levels"`
	Start   time.Time          `json:"start"`
	Elapsed float64            `json:"elapsed-sec"`
	Values  map[string]float64 `json:"values"`
	Sent    struct {
		Requests float64 `json:"requests"`
		Unsent   float64 `json:"unsent"`
	} `json:"sent"`
	Error string `json:"error"`
}

// readTrials returns those that are compared and did not fail. Collections of a window are also
// given per request, as "gc-cycles/req".
func readTrials(lines []byte) ([]trial, error) {
	var ts []trial
	d := json.NewDecoder(bytes.NewReader(lines))
	for d.More() {
		var t trial
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("read results.jsonl: %w", err)
		}
		if t.For != "" || t.Error != "" {
			continue
		}
		if n, ok := t.Values["gc-cycles"]; ok && t.Sent.Requests > 0 {
			t.Values["gc-cycles/req"] = n / t.Sent.Requests
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// beside is how many of the blocks of two trials or more had these at the same time: each of the
// windows begins before any other ends.
func (r *report) beside() (beside, blocks int) {
	windows := map[int][]trial{}
	for _, t := range r.trials {
		windows[t.Block] = append(windows[t.Block], t)
	}
	for _, ts := range windows {
		if len(ts) < 2 {
			continue
		}
		blocks++
		last, first := ts[0].Start, end(ts[0])
		for _, t := range ts[1:] {
			if t.Start.After(last) {
				last = t.Start
			}
			if e := end(t); e.Before(first) {
				first = e
			}
		}
		if last.Before(first) {
			beside++
		}
	}
	return beside, blocks
}

func end(t trial) time.Time { return t.Start.Add(time.Duration(t.Elapsed * float64(time.Second))) }

// failedThresholds is the number of thresholds that failed, those of a gate among them.
func (r *report) failedThresholds() (n int) {
	for _, t := range r.Thresholds {
		if t.Verdict == "failed" {
			n++
		}
	}
	return n
}
