package published

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/jsonskip"
	"github.com/dynolab/dyno/probe"
	"strconv"
	"time"
)

// Expvar reads what package expvar publishes: runtime.MemStats, for which the world is
// stopped, and the course of the service's own numbers.
type Expvar struct{}

const ownMost = 32

func (Expvar) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Expvar == "" {
		return probe.Reading{}, errors.New("watch expvar: the plan does not say where (consider: expvar: /debug/vars)")
	}
	w := published{}
	share := newGCShare(t.PID)
	r, err := scrape(ctx, t, "expvar", t.Expvar, "application/json", &w, func(at time.Duration, page []byte) error {
		numbers, err := parseVars(page)
		if err == nil {
			w.sample(at, share.add(numbers))
		}
		return err
	})
	share.value(&r, w.at)
	return r, err
}

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

func parseMem(text []byte) ([]number, error) {
	var numbers []number
	c := jsonskip.Cursor{Data: text}
	c.Object(func(name string) {
		value := c.Skip()
		u, used := memUses[name]
		if !used || c.Err != nil {
			return
		}
		v, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil:
			c.Fail(fmt.Errorf("%s: %w", name, err))
			return
		case name == "PauseTotalNs":
			v /= 1e9
		case name == "NextGC" && v >= gctrace.NoGoal:
			return
		}
		numbers = append(numbers, number{name, v, u})
	})
	if c.Err != nil {
		return nil, fmt.Errorf("parse memstats: %w", c.Err)
	}
	return numbers, nil
}

// parseVars reads a page of package expvar. What follows the memstats may be broken, such
// as by a variable that is NaN.
func parseVars(page []byte) ([]number, error) {
	var numbers []number
	var failed error // to read the memstats
	found, own := false, 0
	c := jsonskip.Cursor{Data: page}
	c.Object(func(name string) {
		value := c.Skip()
		switch {
		case c.Err != nil:
		case name == "memstats":
			var mem []number
			if mem, failed = parseMem(value); failed != nil {
				c.Fail(failed)
				return
			}
			numbers, found = append(numbers, mem...), true
		case own < ownMost:
			if v, err := strconv.ParseFloat(string(value), 64); err == nil {
				own++
				numbers = append(numbers, number{name, v, use{series: "expvar/" + name, own: true}})
			}
		}
	})
	switch {
	case failed != nil:
		return nil, failed
	case found:
		return numbers, nil
	case !bytes.HasPrefix(bytes.TrimSpace(page), []byte("{")):
		return nil, errors.New("the page is not one of package expvar: no JSON object")
	case c.Err != nil:
		return nil, fmt.Errorf("the page has no memstats before it breaks: %w", c.Err)
	}
	return nil, errors.New("the page has no memstats (consider: importing expvar, which publishes them)")
}
