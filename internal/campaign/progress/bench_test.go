package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/gobench"
)

// After the second block it is said that the time is too short, while there is time to
// do something about it. The first holds the survey.
func TestBenchProgressEnd(t *testing.T) {
	for _, c := range []struct {
		bench      dyno.Bench
		note, line string
	}{
		{dyno.Bench{}, "note: 14 blocks, the fewest that can show a change, take about 7m30s\n", "about 6m10s to block 14"},
		{dyno.Bench{Duration: dyno.Duration(6 * time.Minute)}, "take about 7m30s, but --duration 6m0s has room for 11 (consider: a longer one, or", "at most 4m40s left"},
		{dyno.Bench{Duration: dyno.Duration(8 * time.Minute)}, "", "at most 6m40s left"},
		{dyno.Bench{Blocks: 3}, "", "at most 3m40s left"},
		{dyno.Bench{Blocks: 30}, "note: 30 blocks take about 15m30s\n", "block 3 of 30: 5 benchmarks · 2 measured · Parse/small -3.2% · about 14m10s to block 30"},
	} {
		var out strings.Builder
		p := NewBench(&out, &c.bench)
		at := func(sec int, s gobench.Step) { p.sees(s, p.began.Add(time.Duration(sec)*time.Second)) }
		at(0, gobench.Step{Phase: "survey"})
		at(10, gobench.Step{Phase: "link", Block: 1, Benchmarks: 5})
		at(11, gobench.Step{Phase: "block", Block: 1, Benchmarks: 5})
		at(60, gobench.Step{Phase: "link", Block: 2, Benchmarks: 5})
		at(61, gobench.Step{Phase: "block", Block: 2, Benchmarks: 5})
		at(90, gobench.Step{Phase: "link", Block: 3, Benchmarks: 5})
		at(91, gobench.Step{Phase: "block", Block: 3, Benchmarks: 5, Done: 2, Last: "Parse/small", Ratio: 0.968})
		if !strings.HasSuffix(out.String(), "\n") || !strings.Contains(out.String(), c.note) || strings.Contains(out.String(), "note") != (c.note != "") {
			t.Errorf("%+v: %s", c.bench, out.String())
		}
		if line := p.line(p.began.Add(80 * time.Second)); !strings.Contains(line, c.line) {
			t.Errorf("%+v: %s", c.bench, line)
		}
		p.Finish(false)
	}
}

// A suite is told when it has answers, before it is measured.
func TestBenchProgressSuite(t *testing.T) {
	for _, c := range []struct {
		bench      dyno.Bench
		benchmarks int
		each       time.Duration
		note       string
	}{
		{dyno.Bench{}, 116, 8 * time.Second, "note: 116 benchmarks: the first answers come after about 2m40s (consider: --bench, for fewer)\n"},
		{dyno.Bench{}, 116, 15 * time.Second, "after about 3m50s"},
		{dyno.Bench{}, 116, time.Minute, "after about 5m0s"},
		{dyno.Bench{Duration: dyno.Duration(time.Minute)}, 116, time.Second, "after about 40s"},
		{dyno.Bench{}, 5, time.Second, ""}, {dyno.Bench{Blocks: 14}, 116, time.Second, ""},
	} {
		var out strings.Builder
		p := NewBench(&out, &c.bench)
		p.sees(gobench.Step{Phase: "link", Block: 1, Benchmarks: c.benchmarks}, p.began.Add(19*time.Second))
		p.sees(gobench.Step{Phase: "block", Block: 1, Benchmarks: c.benchmarks, Expected: c.each}, p.began.Add(20*time.Second))
		if !strings.Contains(out.String(), c.note) || strings.Contains(out.String(), "note") != (c.note != "") {
			t.Errorf("%+v: %s", c, out.String())
		}
		p.Finish(false)
	}
}

// A time that is too short is said before it is spent, and again only if a block takes much longer
// than was foretold, as on a machine where others compile.
func TestBenchProgressExpected(t *testing.T) {
	for _, c := range []struct {
		expected, took int // seconds of a block
		note           string
		notes          int
	}{
		{30, 30, "note: 14 blocks, the fewest that can show a change, take about 6m40s, but --duration 1m0s has room for 2 (consider: a longer one, or fewer benchmarks with --bench)\n", 1},
		{80, 70, "take about 17m30s, but --duration 1m0s has room for 1 (consider: ", 1},
		{3, 3, "", 0},
		{10, 30, "take about 6m40s", 2},
		{25, 30, "take about 5m35s", 1},
		{0, 30, "take about 6m40s", 1},
		{3, 30, "take about 6m40s", 1},
	} {
		var out strings.Builder
		p := NewBench(&out, &dyno.Bench{Duration: dyno.Duration(time.Minute)})
		at := func(sec int, s gobench.Step) { p.sees(s, p.began.Add(time.Duration(sec)*time.Second)) }
		expected := time.Duration(c.expected) * time.Second
		at(5, gobench.Step{Phase: "block", Block: 1, Benchmarks: 2})
		at(10, gobench.Step{Phase: "link", Block: 2, Benchmarks: 2})
		at(12, gobench.Step{Phase: "block", Block: 2, Benchmarks: 2, Expected: expected})
		before := strings.Count(out.String(), "note")
		at(13, gobench.Step{Phase: "block", Block: 2, Benchmarks: 2, Done: 1, Expected: expected})
		at(10+c.took, gobench.Step{Phase: "link", Block: 3, Benchmarks: 2})
		if n := strings.Count(out.String(), "note"); !strings.Contains(out.String(), c.note) || n != c.notes || before == 0 && 10+c.expected*13 > 60 {
			t.Errorf("%+v, %d notes before the second block: %s", c, before, out.String())
		}
		p.Finish(false)
	}
}

// Profiles have blocks of their own, which foretell nothing.
func TestBenchProgressProfiles(t *testing.T) {
	var out strings.Builder
	p := NewBench(&out, &dyno.Bench{Blocks: 14})
	at := func(sec int, s gobench.Step) { p.sees(s, p.began.Add(time.Duration(sec)*time.Second)) }
	for block := 1; block <= 14; block++ {
		at(3*block, gobench.Step{Phase: "block", Block: block, Benchmarks: 1})
	}
	for block := 1; block <= 3; block++ {
		at(43+6*block, gobench.Step{Phase: "profile", Block: block, Benchmarks: 6})
	}
	p.Finish(false)
	if strings.Contains(out.String(), "note") {
		t.Errorf("%s", out.String())
	}
}
