package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A trial is a line of results.jsonl, and what was seen of its process from outside.
type trial struct {
	Trial   int                `json:"trial"`
	Block   int                `json:"block"`
	Turns   int                `json:"turns"` // 0 unless it ran beside others
	Levels  map[string]string  `json:"levels"`
	Start   time.Time          `json:"start"`
	Elapsed float64            `json:"elapsed-sec"`
	Values  map[string]float64 `json:"values"`
	Error   string             `json:"error"`

	peak   int64 // VmHWM at the end of the window, bytes; 0 if no process was seen
	cycles int   // collections that began in the window, by the trace; -1 if not known
}

func (t *trial) end() time.Time { return t.Start.Add(time.Duration(t.Elapsed * float64(time.Second))) }

// A summary is what dyno run --json prints.
type summary struct {
	Metrics []struct {
		Name    string
		Primary bool
	}
	Settings []struct {
		Setting string
		Versus  map[string]struct{ Verdict string }
	}
	Warnings []struct{ Kind, Text string }
	Failed   []struct{ Error string }
}

// countCycles counts the collections of a process's trace that began between two times since it
// started. The runtime numbers its collections; if one is missing it is an error.
func countCycles(trace []byte, from, to time.Duration) (n int, err error) {
	last := 0
	for lines := bufio.NewScanner(bytes.NewReader(trace)); lines.Scan(); {
		var number int
		var at float64
		if _, err := fmt.Sscanf(lines.Text(), "gc %d @%fs", &number, &at); err != nil {
			continue // of the scavenger
		}
		if number != last+1 {
			return 0, fmt.Errorf("collection %d follows %d in the trace", number, last)
		}
		last = number
		if d := time.Duration(at * float64(time.Second)); d >= from && d < to {
			n++
		}
	}
	return n, nil
}

// primary are the verdicts on the primary metrics, as "p50 better, p99 unclear".
func (s summary) primary() string {
	var words []string
	for _, m := range s.Metrics {
		if !m.Primary || len(s.Settings) < 2 {
			continue
		}
		if v, ok := s.Settings[1].Versus[m.Name]; ok {
			words = append(words, strings.TrimSuffix(m.Name, "-sec")+" "+v.Verdict)
		}
	}
	return strings.Join(words, ", ")
}
