package slow

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"golang.org/x/exp/trace"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// Preempt takes from what goroutines did on a CPU the time in which the kernel kept their threads off it: that becomes the
// part [exectrace.Preempted]. r has a line of JSON for each stretch after one with the number of all switches that were seen,
// as [kernel.Preempted] of internal/probe writes them. After an error, without any switch, or if no stretch is of a thread of
// the trace, it is not known when the kernel did so.
func (t *Trace) Preempt(r io.Reader) error {
	byThread := map[int32][]span{}
	in := json.NewDecoder(r)
	var head struct{ Switches int }
	err := in.Decode(&head)
	for err == nil {
		var p struct {
			Thread   int32 `json:"tid"`
			From, To int64
		}
		if err = in.Decode(&p); err != nil {
			break
		}
		if p.To > p.From {
			byThread[p.Thread] = append(byThread[p.Thread], span{p.From, p.To})
		}
	}
	for thread, of := range byThread {
		byThread[thread] = union(of)
	}
	ours := len(byThread) == 0
	for _, g := range t.goroutines {
		ours = g.preempt(byThread) || ours
	}
	t.away, t.ledger = map[trace.ProcID][]span{}, nil
	for p, runs := range t.running {
		t.running[p] = divided(runs, byThread)
		for _, h := range t.held[p] {
			overlap(byThread[h.thread], h.begin, h.end, func(i int) {
				off := byThread[h.thread][i]
				t.away[p] = append(t.away[p], span{max(off.begin, h.begin), min(off.end, h.end)})
			})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	t.Preempted = err == nil && ours && head.Switches > 0
	return err
}

// union are spans in order, those that touch as one.
func union(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for _, s := range spans {
		if n := len(out); n > 0 && s.begin <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// onCPU reports whether a part is one that a thread can be preempted in. In a system call it may sleep, but then it is not
// preempted.
func onCPU(p Part) bool {
	return p == exectrace.Running || p == exectrace.Assisting || p == exectrace.Sweeping || p == exectrace.Syscall
}

// preempt reports whether one of the threads is the goroutine's.
func (g *goroutine) preempt(byThread map[int32][]span) (ours bool) {
	if !slices.ContainsFunc(g.life, func(s stretch) bool { return onCPU(s.part) && byThread[s.thread] != nil }) {
		return false
	}
	life := make([]stretch, 0, len(g.life))
	for i := range g.life {
		s := g.life[i]
		if onCPU(s.part) {
			begin := g.from(i)
			overlap(byThread[s.thread], g.from(i), s.end, func(k int) {
				off := byThread[s.thread][k]
				if ran := s; off.begin > begin {
					ran.end = off.begin
					life = append(life, ran)
					s.goesOn = true
				}
				away := s
				away.part, away.stack, away.end = exectrace.Preempted, 0, min(off.end, s.end)
				life = append(life, away)
				s.goesOn = true
				begin = away.end
			})
			if begin >= s.end {
				continue
			}
		}
		life = append(life, s)
	}
	g.life = life
	return true
}

// pieces are the samples of what a goroutine ran before and after the kernel took the CPU away: it was the same work.
func (g *goroutine) pieces(i int) []sample {
	first, last := i, i
	for g.life[first].goesOn {
		first--
	}
	for last+1 < len(g.life) && g.life[last+1].goesOn {
		last++
	}
	if first == last {
		return nil
	}
	return g.sampled(g.from(first), g.life[last].end)
}

// divided are the stretches of a P, with those in which a thread was preempted apart.
func divided(runs []running, byThread map[int32][]span) (out []running) {
	for _, r := range runs {
		if onCPU(r.part) {
			overlap(byThread[r.thread], r.begin, r.end, func(k int) {
				off := byThread[r.thread][k]
				if ran := r; off.begin > r.begin {
					ran.end = off.begin
					out = append(out, ran)
				}
				away := r
				away.part, away.begin, away.end = exectrace.Preempted, max(off.begin, r.begin), min(off.end, r.end)
				out = append(out, away)
				r.begin = away.end
			})
		}
		if r.end > r.begin {
			out = append(out, r)
		}
	}
	return out
}
