//go:build linux

package main

import (
	"math/rand/v2"

	"github.com/dynolab/dyno/eval/internal/history"
)

const turns = history.Turns

// A planted is a repository with what dyno is to find in it.
type planted struct {
	history.History
	at     []int // commits that may be the answer
	metric string
	target []string // of dyno
}

func newHistory(o options, r *rand.Rand) *planted {
	n := o.commits
	h := &planted{History: history.History{Work: make([]int, n), Keeps: make([]int, n), Broken: make([]bool, n)}, metric: "cpu_per_req", target: []string{"./cmd/server"}}
	slow := int(turns * (1 + o.percent/100))
	at := 1 + r.IntN(n-1)
	if o.kind == "back" || o.kind == "two" {
		at = 1 + r.IntN(n/2-1)
	}
	later := at + 1 + r.IntN(n-at-1+boolInt(at == n-1))
	for i := range n {
		h.Work[i] = turns
		switch o.kind {
		case "step", "broken", "embed", "bench":
			if i >= at {
				h.Work[i] = slow
			}
		case "back":
			if i >= at && i < later {
				h.Work[i] = slow
			}
		case "two":
			if i >= at {
				h.Work[i] = slow
			}
			if i >= later {
				h.Work[i] = 2*slow - turns
			}
		case "drift":
			h.Work[i] = turns + (slow-turns)*i/(n-1)
		case "memory":
			if i >= at {
				h.Keeps[i] = 8 << 20
			}
		}
	}
	switch o.kind {
	case "step", "memory":
		h.at = []int{at}
	case "embed":
		h.at, h.Embed = []int{at}, true
	case "tail":
		h.at, h.Tail, h.Longer, h.metric = []int{at}, at, 4*(1+o.percent/100), "p99"
	case "bench":
		h.at, h.metric, h.target = []int{at}, "sec_per_op", []string{"./work", "--bench", "Digest"}
	case "two":
		h.at = []int{at, later}
	case "broken":
		h.at = []int{at}
		for i := 1; i < n-1; i++ {
			h.Broken[i] = r.IntN(10) == 0
		}
	case "mod":
		h.at, h.Mod = []int{at}, at
	}
	if o.kind == "memory" {
		h.metric = "rss_peak"
	}
	return h
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
