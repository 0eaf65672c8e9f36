// Package how says in words how a plan is measured, for reports and notes: they say it alike.
package how

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Turns says how settings side by side are measured, and OneAfterTheOther that they are not, and why.
func Turns(e *dyno.Experiment) string {
	clock := ""
	switch {
	case e.Load.Replay != "":
		clock = " by the clock; the recording is played within a setting's own turns"
	case e.Load.Open() || e.Varies("load.rate"):
		clock = " by the clock; the rate holds within a setting's own turns"
	case e.Load.Requests+e.Load.RequestsPerClient > 0 && e.EachTurn() > dyno.ShortTurn:
		clock = " or less" // it is not known how long that takes
	}
	return fmt.Sprintf("settings: alive at the same time, loaded in turns of %v%s", e.EachTurn(), clock)
}

// OneAfterTheOther returns the sentence of a report that settings were not measured side by side.
func OneAfterTheOther(why string) string { return "settings: one after the other: " + why }

// KeptAwake says since when loops keep the CPUs awake, and why.
func KeptAwake(since string) string {
	return "CPUs: kept awake by loops of the lowest priority, " + since
}

// Relinked says that each block has a layout of its own.
const Relinked = "layout: each block has its functions in another order"

// Slices says how an experiment is sliced, or "".
func Slices(e *dyno.Experiment) string {
	if e.Slice == 0 {
		return ""
	}
	s := fmt.Sprintf("slices of %v of one process, with %s changed between them", e.Slice, e.Live())
	if settle := e.Settle(); settle > 0 {
		s += fmt.Sprintf("; the first %v of each is not measured", settle)
	}
	return s
}

// Order says how trials are ordered; "" where there is nothing to order, or for
// runs of versions that said nothing.
func Order(e *dyno.Experiment) string {
	if e.Seed == nil || e.Shuffled || len(e.Levels()) < 2 {
		return ""
	}
	return fmt.Sprintf("order: random by seed %d, balanced", *e.Seed)
}

// Needs says which servers the subject had, and how long each lived; "" if it had none.
func Needs(e *dyno.Experiment) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.Needs)) {
		need := e.Needs[name]
		kind, _ := need.Kind()
		if kind == "url" && need.URL == "" {
			kind = fmt.Sprintf("process %d", need.PID)
		}
		lives := "for each launch"
		switch {
		case need.URL != "" || need.PID != 0:
			lives = "which ran already"
		case need.Lives() == dyno.PerBlock:
			lives = "shared in a block: settings can slow each other through it"
		case need.Lives() == dyno.PerRun:
			lives = "shared by all: settings can slow each other through it"
		}
		part := fmt.Sprintf("%s (%s, %s", name, kind, lives)
		if need.Image != "" {
			part += ", image " + need.Image
		}
		if need.Delay > 0 {
			part += fmt.Sprintf(", %v away", need.Delay)
		}
		if need.Drops() > 0 {
			part += fmt.Sprintf(", its connection breaks at %v of the messages", need.Drop)
		}
		parts = append(parts, part+")")
	}
	if parts == nil {
		return ""
	}
	return "needs: " + strings.Join(parts, ", ")
}
