package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// expvarProbe reads what package expvar publishes: runtime.MemStats, exact as
// the world is stopped for it, and the service's own numbers, of which the
// course is kept.
type expvarProbe struct{}

// ownMost is how many numbers of a service's own are followed.
const ownMost = 32

func (expvarProbe) Watch(ctx context.Context, t Target) (Reading, error) {
	if t.Expvar == "" {
		return Reading{}, errors.New("watch expvar: the plan does not say where (consider: expvar: /debug/vars)")
	}
	w := published{points: points{sample: t.Sample}}
	s, err := scrape(ctx, t, t.Expvar, "application/json", func(at time.Duration, page []byte) error {
		numbers, err := parseVars(page)
		if err == nil {
			w.sample(at, numbers)
		}
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("watch expvar: %w", err)
	}
	r := w.reading(s.whole)
	r.Warnings = append(r.Warnings, s.warnings("expvar")...)
	return r, nil
}

// memStats is what is used of runtime.MemStats; nil is what a page lacks.
type memStats struct {
	Alloc, TotalAlloc, Sys, Mallocs         *float64
	HeapIdle, HeapInuse, HeapReleased       *float64
	StackInuse, NextGC, NumGC, PauseTotalNs *float64
}

func (m *memStats) numbers() []number {
	var numbers []number
	for _, q := range []struct {
		value *float64
		name  string
		use   use
	}{
		{m.Alloc, "Alloc", use{mean: "heap-alloc-B", series: "heap-B"}},
		{m.TotalAlloc, "TotalAlloc", use{last: "total-alloc-B", grown: "alloc-B", series: "alloc-B/s"}},
		{m.Sys, "Sys", use{mean: "sys-B", series: "sys-B"}},
		{m.Mallocs, "Mallocs", use{grown: "allocs"}},
		{m.NumGC, "NumGC", use{last: "gc-total", grown: "gc-cycles"}},
		{m.PauseTotalNs, "PauseTotalNs", use{grown: "stw-total-sec"}},
		{m.HeapIdle, "HeapIdle", use{series: "heap-idle-B"}},
		{m.HeapInuse, "HeapInuse", use{series: "heap-inuse-B"}},
		{m.HeapReleased, "HeapReleased", use{series: "heap-released-B"}},
		{m.StackInuse, "StackInuse", use{series: "stack-B"}},
		{m.NextGC, "NextGC", use{series: "heap-goal-B"}},
	} {
		if q.value == nil {
			continue
		}
		v := *q.value
		switch {
		case q.name == "PauseTotalNs":
			v /= 1e9
		case q.name == "NextGC" && v >= noGoal:
			continue
		}
		numbers = append(numbers, number{q.name, v, q.use})
	}
	return numbers
}

// parseVars reads a page of package expvar. What follows the memstats may be
// broken, as by a variable that is NaN, which JSON does not have.
func parseVars(page []byte) ([]number, error) {
	dec := json.NewDecoder(bytes.NewReader(page))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("the page is not one of package expvar: no JSON object")
	}
	var (
		numbers []number
		found   bool
		own     int
		broken  error
	)
	for dec.More() && broken == nil {
		key, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		name, _ := key.(string)
		if broken = err; err != nil {
			break
		}
		if name == "memstats" {
			var m memStats
			if err := json.Unmarshal(value, &m); err != nil {
				return nil, fmt.Errorf("parse memstats: %w", err)
			}
			numbers, found = append(numbers, m.numbers()...), true
		} else if v, err := strconv.ParseFloat(string(value), 64); err == nil && own < ownMost {
			own++
			numbers = append(numbers, number{name, v, use{series: "expvar/" + name, own: true}})
		}
	}
	switch {
	case !found && broken != nil:
		return nil, fmt.Errorf("the page has no memstats before it breaks: %w", broken)
	case !found:
		return nil, errors.New("the page has no memstats (consider: importing expvar, which publishes them)")
	}
	return numbers, nil
}
