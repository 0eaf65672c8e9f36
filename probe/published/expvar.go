package published

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/probe"
	"strconv"
	"strings"
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

// parseMem reads memstats.
func parseMem(text []byte) (numbers []number, err error) {
	err = eachMember(text, func(name string, value json.RawMessage) error {
		u, used := memUses[name]
		if !used {
			return nil
		}
		v, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case name == "PauseTotalNs":
			v /= 1e9
		case name == "NextGC" && v >= gctrace.NoGoal:
			return nil
		}
		numbers = append(numbers, number{name, v, u})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("parse memstats: %w", err)
	}
	return numbers, nil
}

// notNumbers are the values of expvar.Float that JSON does not have.
var notNumbers = strings.NewReplacer(": NaN", ": null", ": +Inf", ": null", ": -Inf", ": null")

// parseVars reads a page of package expvar. What follows the memstats may be broken.
func parseVars(page []byte) (numbers []number, err error) {
	found, own := false, 0
	var failed error // to read the memstats
	err = eachMember([]byte(notNumbers.Replace(string(page))), func(name string, value json.RawMessage) error {
		switch {
		case name == "memstats":
			var mem []number
			mem, failed = parseMem(value)
			numbers, found = append(numbers, mem...), failed == nil
			return failed
		case own < ownMost:
			if v, err := strconv.ParseFloat(string(value), 64); err == nil {
				own++
				numbers = append(numbers, number{name, v, use{series: "expvar/" + name, own: true}})
			}
		}
		return nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case found:
		return numbers, nil
	case !bytes.HasPrefix(bytes.TrimSpace(page), []byte("{")):
		return nil, errors.New("the page is not one of package expvar: no JSON object")
	case err != nil:
		return nil, fmt.Errorf("the page has no memstats before it breaks: %w", err)
	}
	return nil, errors.New("the page has no memstats (consider: importing expvar, which publishes them)")
}

// eachMember calls each for the members of a JSON object, in their order, as far as
// it can be read.
func eachMember(object []byte, each func(name string, value json.RawMessage) error) error {
	in := json.NewDecoder(bytes.NewReader(object))
	if brace, err := in.Token(); err != nil || brace != json.Delim('{') {
		return cmp.Or(err, errors.New("it is no JSON object"))
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		if err := each(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}
