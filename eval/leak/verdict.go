package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A finding is dyno's verdict on one thing that may grow. Rates are per hour, in
// bytes or a number; NaN is none.
type finding struct {
	Verdict, By, Shape, Reason string
	Rate, Lo, Hi, Detectable   float64
	Sites                      []site
}

type site struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// UnmarshalJSON takes rates in bytes, as memory has them, or in numbers.
func (f *finding) UnmarshalJSON(data []byte) error {
	var j struct {
		Verdict, By, Shape, Reason string
		Bytes                      *float64 `json:"B/h"`
		Number                     *float64 `json:"1/h"`
		Lo, Hi                     *float64
		DetectableBytes            *float64 `json:"detectable-B/h"`
		DetectableNumber           *float64 `json:"detectable-1/h"`
		Sites                      []site
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	known := func(vs ...*float64) float64 {
		for _, v := range vs {
			if v != nil {
				return *v
			}
		}
		return math.NaN()
	}
	*f = finding{j.Verdict, j.By, j.Shape, j.Reason, known(j.Bytes, j.Number), known(j.Lo), known(j.Hi),
		known(j.DetectableBytes, j.DetectableNumber), j.Sites}
	return nil
}

// A report is what one run of dyno said of its one setting.
type report struct {
	requests float64            // measured
	seconds  float64            // of the measured window
	values   map[string]float64 // by metric
	findings map[string]finding // of "heap", and of others by dyno's name for them
}

// perHour is the rate of requests.
func (r *report) perHour() float64 { return r.requests / r.seconds * 3600 }

// parse reads what dyno run --json prints.
func parse(out []byte) (*report, error) {
	var s struct {
		Settings []struct {
			Values  map[string]struct{ Center *float64 }
			Elapsed float64 `json:"elapsed-sec"`
			Sent    struct{ Requests float64 }
			Leak    json.RawMessage
		}
		Failed []json.RawMessage
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, fmt.Errorf("read dyno's JSON: %w", err)
	}
	switch {
	case len(s.Failed) > 0:
		return nil, fmt.Errorf("the trial failed: %s", s.Failed[0])
	case len(s.Settings) != 1 || s.Settings[0].Elapsed <= 0:
		return nil, errors.New("read dyno's JSON: not one setting with one trial")
	case len(s.Settings[0].Leak) == 0:
		return nil, errors.New("read dyno's JSON: nothing is said of leaks")
	}
	x := s.Settings[0]
	r := &report{requests: x.Sent.Requests, seconds: x.Elapsed, values: map[string]float64{}, findings: map[string]finding{}}
	for name, v := range x.Values {
		if v.Center != nil {
			r.values[name] = *v.Center
		}
	}
	var heap finding
	var more struct{ Others map[string]finding }
	if err := errors.Join(json.Unmarshal(x.Leak, &heap), json.Unmarshal(x.Leak, &more)); err != nil {
		return nil, fmt.Errorf("read dyno's JSON: leak: %w", err)
	}
	r.findings["heap"] = heap
	for name, f := range more.Others {
		r.findings[name] = f
	}
	return r, nil
}
