package main

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/lab/gobench"
)

// After the second block it is said that the time is too short, while there is time to
// do something about it.
func TestBenchProgressEnd(t *testing.T) {
	for _, c := range []struct {
		bench      dyno.Bench
		note, line string
	}{
		{dyno.Bench{}, "note: 14 blocks, the fewest that can tell a change, take some 7m10s\n", "some 5m50s to block 14"},
		{dyno.Bench{Duration: dyno.Duration(6 * time.Minute)}, "take some 7m10s, and --duration 6m0s ends before (consider: a longer one, or", "4m40s left at most"},
		{dyno.Bench{Duration: dyno.Duration(8 * time.Minute)}, "", "6m40s left at most"},
		{dyno.Bench{Blocks: 3}, "", "3m40s left at most"},
		{dyno.Bench{Blocks: 30}, "note: 30 blocks take some 15m10s\n", "block 3 of 30: 5 benchmarks · 2 measured · some 13m50s to block 30"},
	} {
		var out strings.Builder
		p := newBenchProgress(&out, &c.bench)
		at := func(sec int, s gobench.Step) { p.sees(s, p.began.Add(time.Duration(sec)*time.Second)) }
		at(0, gobench.Step{Phase: "survey"})
		at(10, gobench.Step{Phase: "link", Block: 1, Benchmarks: 5})
		at(11, gobench.Step{Phase: "block", Block: 1, Benchmarks: 5})
		at(40, gobench.Step{Phase: "link", Block: 2, Benchmarks: 5})
		at(41, gobench.Step{Phase: "block", Block: 2, Benchmarks: 5})
		at(70, gobench.Step{Phase: "link", Block: 3, Benchmarks: 5})
		at(71, gobench.Step{Phase: "block", Block: 3, Benchmarks: 5, Done: 2})
		if !strings.HasSuffix(out.String(), "\n") || !strings.Contains(out.String(), c.note) || strings.Contains(out.String(), "note") != (c.note != "") {
			t.Errorf("%+v: %s", c.bench, out.String())
		}
		if line := p.line(p.began.Add(80 * time.Second)); !strings.Contains(line, c.line) {
			t.Errorf("%+v: %s", c.bench, line)
		}
		p.finish(false)
	}
}
