package probe

import (
	"context"
	"errors"
	"fmt"
	"github.com/dynolab/dyno/gctrace"
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
	share := newGCShare(t.PID)
	s, err := scrape(ctx, t, t.Expvar, "application/json", func(at time.Duration, page []byte) error {
		numbers, err := parseVars(page)
		if err == nil {
			w.sample(at, share.add(numbers))
		}
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("watch expvar: %w", err)
	}
	r := w.reading(s.whole)
	share.value(&r, w.at)
	r.Warnings = append(r.Warnings, s.warnings("expvar")...)
	return r, nil
}

// memUses are what is used of runtime.MemStats.
var memUses = map[string]use{
	"Alloc":         {mean: "heap-alloc-B", most: "heap-peak-B", series: "heap-B"},
	"TotalAlloc":    {last: "total-alloc-B", grown: "alloc-B", series: "alloc-B/s"},
	"Sys":           {mean: "sys-B", series: "sys-B"},
	"Mallocs":       {grown: "allocs"},
	"NumGC":         {last: "gc-total", grown: "gc-cycles"},
	"PauseTotalNs":  {grown: "stw-total-sec"},
	"HeapIdle":      {series: "heap-idle-B"},
	"HeapInuse":     {series: "heap-inuse-B"},
	"HeapReleased":  {series: "heap-released-B"},
	"StackInuse":    {series: "stack-B"},
	"NextGC":        {series: "heap-goal-B"},
	"GCCPUFraction": {}, // for gcShare
	"LastGC":        {},
}

// parseMem reads memstats.
func parseMem(text []byte) ([]number, error) {
	stats, ok := newObject(text)
	if !ok {
		return nil, errors.New("parse memstats: it is no JSON object")
	}
	var numbers []number
	for {
		name, value, err := stats.next()
		if err != nil {
			return nil, fmt.Errorf("parse memstats: %w", err)
		}
		if value == nil {
			return numbers, nil
		}
		u, used := memUses[name]
		if !used {
			continue
		}
		v, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil:
			return nil, fmt.Errorf("parse memstats: %s: %w", name, err)
		case name == "PauseTotalNs":
			v /= 1e9
		case name == "NextGC" && v >= gctrace.NoGoal:
			continue
		}
		numbers = append(numbers, number{name, v, u})
	}
}

// parseVars reads a page of package expvar. What follows the memstats may be
// broken, as by a variable that is NaN, which JSON does not have.
func parseVars(page []byte) ([]number, error) {
	vars, ok := newObject(page)
	if !ok {
		return nil, errors.New("the page is not one of package expvar: no JSON object")
	}
	var numbers []number
	found, own := false, 0
	for {
		name, value, err := vars.next()
		switch {
		case err != nil && !found:
			return nil, fmt.Errorf("the page has no memstats before it breaks: %w", err)
		case value == nil && !found:
			return nil, errors.New("the page has no memstats (consider: importing expvar, which publishes them)")
		case value == nil:
			return numbers, nil
		case name == "memstats":
			mem, err := parseMem(value)
			if err != nil {
				return nil, err
			}
			numbers, found = append(numbers, mem...), true
		case own < ownMost:
			if v, err := strconv.ParseFloat(string(value), 64); err == nil {
				own++
				numbers = append(numbers, number{name, v, use{series: "expvar/" + name, own: true}})
			}
		}
	}
}
