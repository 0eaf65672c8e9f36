package published

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// Expvar reads what package expvar publishes: runtime.MemStats, for which the world is
// stopped, and the course of the service's own numbers.
type Expvar struct{}

const ownMost = 32

func (Expvar) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Expvar == "" {
		return probe.Reading{}, errors.New("watch expvar: the plan does not say where (consider: expvar: /debug/vars)")
	}
	var w published
	share := newGCShare(t.PID)
	r, err := scrape(ctx, t, "expvar", t.Expvar, "application/json", &w, func(page []byte) ([]number, error) {
		numbers, err := parseVars(page)
		return share.add(numbers), err
	})
	share.value(&r, w.at)
	return r, err
}

// memUses are of runtime.MemStats, in its order.
var memUses = []struct {
	name string
	use  use
}{
	{"Alloc", use{mean: "heap-alloc-B", most: "heap-peak-B", series: "heap-B"}},
	{"TotalAlloc", use{last: "total-alloc-B", grown: "alloc-B", series: "alloc-B/s"}},
	{"Sys", use{mean: "sys-B", series: "sys-B"}},
	{"Mallocs", use{grown: "allocs"}},
	{"HeapIdle", use{series: "heap-idle-B"}},
	{"HeapInuse", use{series: "heap-inuse-B"}},
	{"HeapReleased", use{series: "heap-released-B"}},
	{"StackInuse", use{series: "stack-B"}},
	{"NextGC", use{series: "heap-goal-B"}},
	{"LastGC", use{}}, // for gcShare
	{"PauseTotalNs", use{grown: "stw-total-sec"}},
	{"NumGC", use{last: "gc-total", grown: "gc-cycles"}},
	{"GCCPUFraction", use{}},
}

func parseMem(text []byte) (numbers []number, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("parse memstats: %w", err)
	}
	for _, m := range memUses {
		text, ok := members[m.name]
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(string(text), 64)
		switch {
		case err != nil:
			return nil, fmt.Errorf("parse memstats: %s: %w", m.name, err)
		case m.name == "PauseTotalNs":
			v /= 1e9
		case m.name == "NextGC" && v >= gctrace.NoGoal:
			continue
		}
		numbers = append(numbers, number{m.name, v, m.use})
	}
	return numbers, nil
}

// notNumbers are the values of expvar.Float that JSON does not have.
var notNumbers = strings.NewReplacer(": NaN", ": null", ": +Inf", ": null", ": -Inf", ": null")

// parseVars reads a page of package expvar, which has its names in order.
func parseVars(page []byte) (numbers []number, err error) {
	var vars map[string]json.RawMessage
	if err := json.Unmarshal([]byte(notNumbers.Replace(string(page))), &vars); err != nil {
		return nil, fmt.Errorf("the page is not from package expvar: %w (consider: whether a published Func gives bad JSON)", err)
	}
	if vars["memstats"] == nil {
		return nil, errors.New("the page has no memstats (consider: importing expvar, which publishes them)")
	}
	own := 0
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if name == "memstats" {
			mem, err := parseMem(vars[name])
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, mem...)
			continue
		}
		if v, err := strconv.ParseFloat(string(vars[name]), 64); err == nil && own < ownMost {
			own++
			numbers = append(numbers, number{name, v, use{series: "expvar/" + name, own: true}})
		}
	}
	return numbers, nil
}
