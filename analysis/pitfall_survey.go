package analysis

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dynolab/dyno"
)

// A sayer notes a pitfall of the benchmark at hand.
type sayer func(kind, format string, args ...any)

// Versions of Go, 1.x.
const (
	goLoop    = 24 // has testing.B.Loop
	goInlines = 26 // inlines within its braces
)

// looped tells of the loop: whether it does the work, and all of it.
func (run *benchRun) looped(t *Table, row *Benchmark, d *benchData, say sayer) {
	if text := run.inSettings(d, func(i int, s *dyno.Survey) string { return run.empty(row, d, i, s) }); text != "" {
		say(pitEmpty, "%s", text)
	} else if text := run.inSettings(d, func(i int, s *dyno.Survey) string { return run.dropped(row, d, i, s) }); text != "" {
		say(pitDropped, "%s", text)
	}
	if text := run.inAll(d, func(_ int, s *dyno.Survey) string { return grows(s) }); text != "" {
		say(pitGrows, "%s", text)
	} else if text := run.inAll(d, func(i int, s *dyno.Survey) string { return run.growsFromTurns(t, row, i, s) }); text != "" {
		say(pitGrows, "%s", text)
	}
	if text := run.inSettings(d, run.crosses); text != "" {
		say(pitLoop126, "%s", text)
	}
	if text := run.inSettings(d, func(_ int, s *dyno.Survey) string {
		if s.Source.Loop != "RunParallel" || run.bench.CPUs != 1 {
			return ""
		}
		return "pinned to one CPU"
	}); text != "" {
		say(pitParallel, "%s", text)
	}
	if text := run.inSettings(d, left); text != "" {
		say(pitGoroutines, "%s", text)
	}
}

// least is the least time of an iteration that was seen in setting i: in its survey, or
// in any block. Whatever else runs on the machine only makes it slower. It is infinite
// where no sample has enough iterations for its time to be theirs.
func (run *benchRun) least(row *Benchmark, d *benchData, i int, s *dyno.Survey) float64 {
	least := math.Inf(1)
	if s.N >= emptyLeast {
		least = s.Sec
	}
	if s.FewN >= emptyLeast {
		least = min(least, s.FewSec)
	}
	if row.N >= emptyLeast {
		for _, sec := range d.centers("sec/op", i) {
			least = min(least, sec)
		}
	}
	return least
}

// empty tells of a loop that does nothing.
func (run *benchRun) empty(row *Benchmark, d *benchData, i int, s *dyno.Survey) string {
	least := run.least(row, d, i, s)
	switch {
	case least >= emptySec, s.Source.Loop == "RunParallel" && run.bench.CPUs != 1:
		return ""
	case least < noLoopSec: // and the loop with it
		return "less than " + nice(noLoopSec) + " an iteration"
	}
	return nice(least) + " an iteration"
}

// dropped tells of a loop that b.Loop would do better. A toolchain that is not known
// is taken to have it.
func (run *benchRun) dropped(row *Benchmark, d *benchData, i int, s *dyno.Survey) string {
	sec := min(s.Sec, run.least(row, d, i, s))
	if s.Source.Dropped == "" || sec >= inlinedSec || run.minor[i] > 0 && run.minor[i] < goLoop {
		return ""
	}
	return fmt.Sprintf("nobody uses the result of %s, of %s an iteration", s.Source.Dropped, nice(sec))
}

// crosses tells of settings on both sides of Go 1.26. Before 1.24 there was no
// b.Loop at all.
func (run *benchRun) crosses(i int, s *dyno.Survey) string {
	base, now := run.minor[0], run.minor[i]
	if s.Source.Loop != "b.Loop" || base == 0 || now == 0 || (base >= goInlines) == (now >= goInlines) {
		return ""
	}
	return fmt.Sprintf("Go 1.%d against 1.%d", now, base)
}

// tellsGrowth reports whether a survey has two samples that tell how time grows.
func tellsGrowth(s *dyno.Survey) bool {
	return s.FewN > 0 && s.FewSec > 0 && s.Sec > 0 && s.N >= fewTimes/2*s.FewN
}

// constant tells of a loop that does not run b.N times. In settings that cannot tell,
// as their samples have too few iterations, it may be so too. A loop to b.N that is seen
// in the source and takes less than any is not that, but one that was removed.
func (run *benchRun) constant(row *Benchmark, d *benchData) (text string) {
	for _, i := range d.surveyedIn() {
		s := d.surveys[i]
		said := constantTime(s)
		if said == "" {
			said = run.constantTurn(row, i, s)
		}
		if said == "" && run.bench.CPUs == 1 && s.Sec < noLoopSec && s.N >= emptyLeast {
			said = "less than " + nice(noLoopSec) + " an iteration, as no loop takes"
		}
		if removed := s.Source.Loop == "b.N" && s.Sec < noLoopSec; removed || said == "" && tellsGrowth(s) {
			return ""
		}
		text = cmp.Or(text, said)
	}
	return text
}

// constantTime tells of samples whose time does not depend on b.N. Where the source
// has a loop and a call before it, it is that call which takes so long: see once.
func constantTime(s *dyno.Survey) string {
	if !tellsGrowth(s) || s.Source.Loop != "" && s.Source.Timed != "" {
		return ""
	}
	long, short := s.Sec*float64(s.N), s.FewSec*float64(s.FewN)
	if math.Abs(long-short) > constantWithin*short {
		return ""
	}
	return fmt.Sprintf("%s with b.N of %d, %s with %d", nice(short), s.FewN, nice(long), s.N)
}

// constantTurn tells the same from turns, where the source has no loop. Other work on the
// machine makes long samples longer than turns, and not as long as they are.
func (run *benchRun) constantTurn(row *Benchmark, i int, s *dyno.Survey) string {
	sec, n := run.table.turnSec(row, i)
	if n == 0 || s.Sec <= 0 || s.Source.File == "" || s.Source.Loop != "" || max(s.N, n) < fewTimes*min(s.N, n) {
		return ""
	}
	long, turn := s.Sec*float64(s.N), sec*float64(n)
	if max(long, turn) > constantTimes*min(long, turn) {
		return ""
	}
	return fmt.Sprintf("%s with b.N of %d, %s with %d", nice(turn), n, nice(long), s.N)
}

// grows tells of time per iteration that grows, collecting left out: short samples
// have none of it.
func grows(s *dyno.Survey) string {
	if !tellsGrowth(s) {
		return ""
	}
	ratio, more := growsBlind, ""
	if s.Source.NAsSize != "" {
		ratio, more = growsRatio, ": "+s.Source.NAsSize
	}
	if s.Sec*(1-min(1, max(0, s.GCFrac))) <= ratio*s.FewSec {
		return ""
	}
	return fmt.Sprintf("%s an iteration with b.N of %d, %s with %d%s", nice(s.FewSec), s.FewN, nice(s.Sec), s.N, more)
}

// growsFromTurns tells the same of turns, which have far fewer iterations than any sample
// of a survey.
func (run *benchRun) growsFromTurns(t *Table, row *Benchmark, i int, s *dyno.Survey) string {
	sec, n := run.table.turnSec(row, i)
	typical := run.typical(t, i)
	if n == 0 || typical == 0 || s.N < turnTimes*n ||
		s.Sec*(1-min(1, max(0, s.GCFrac))) <= growsTurn*sec*max(1, 1/typical) {
		return ""
	}
	return fmt.Sprintf("%s an iteration with b.N of %d, %s with %d", nice(sec), n, nice(s.Sec), s.N)
}

func left(_ int, s *dyno.Survey) string {
	switch n := s.Goroutines; {
	case n < leftLeast:
		return ""
	case n >= leftEach*float64(s.N):
		return fmt.Sprintf("%.0f more after %d iterations than before", n, s.N)
	default:
		return fmt.Sprintf("%.0f more after than before", n)
	}
}

// once tells of what is done once in a call of the benchmark's function.
func (run *benchRun) once(t *Table, row *Benchmark, d *benchData, say sayer) {
	text := run.inAll(d, func(i int, s *dyno.Survey) string {
		text := setup(s, s.FewN, s.FewSec, setupRatio)
		// Turns that are shorter still show it more, if it is true.
		if sec, n := run.table.turnSec(row, i); text != "" && n > 0 && n <= s.FewN/2 && setup(s, n, sec, setupRatio) == "" {
			return ""
		}
		return text
	})
	if text == "" {
		text = run.inAll(d, func(i int, s *dyno.Survey) string {
			if s.Source.Timed == "" {
				return ""
			}
			sec, n := run.table.turnSec(row, i)
			typical := run.typical(t, i)
			if typical == 0 {
				return setup(s, n, sec, setupAlone)
			}
			return setup(s, n, sec/max(1, typical), setupRatio)
		})
	}
	if text != "" {
		say(pitSetup, "%s", text)
	}
	if text := run.inSettings(d, func(_ int, s *dyno.Survey) string {
		if s.Outside < outsideSec {
			return ""
		}
		return nice(s.Outside) + " before each sample"
	}); text != "" {
		say(pitOutside, "%s", text)
	}
}

// setup tells of what is timed and done once, S, from a sample with few iterations n
// beside the long one with N: few = sec + S/n and long = sec + S/N per iteration.
// Where the source is known there has to be a call in it that is timed, and few is more
// than ratio times long.
func setup(s *dyno.Survey, n int64, few, ratio float64) string {
	known := s.Source.Loop != ""
	if n < 1 || s.N < fewTimes/2*n || !finite(few) || s.Sec <= 0 || known && s.Source.Timed == "" {
		return ""
	}
	call := s.Source.Timed
	if !known {
		ratio, call = max(ratio, setupBlind), "something"
	}
	total := (few - s.Sec) / (1/float64(n) - 1/float64(s.N))
	if few <= ratio*s.Sec || total <= setupShare*few*float64(n) {
		return ""
	}
	return fmt.Sprintf("%s takes some %s once, %s of the time of %d iterations", call, nice(total), percent(min(1, total/(few*float64(n)))), n)
}

// collected tells of garbage collection that is in some samples and not in others.
func (run *benchRun) collected(d *benchData, row *Benchmark, say sayer) {
	out := run.inSettings(d, func(i int, s *dyno.Survey) string {
		if s.GCFrac < gcFrac || s.Collections < 1 || row.N < 1 || run.samples(d, i) == 0 {
			return ""
		}
		each := s.Collections * float64(row.N) / float64(s.N)
		if each >= gcContained {
			return ""
		}
		return fmt.Sprintf("collecting is %s of the time, and a sample has %.2g collections", percent(s.GCFrac), each)
	})
	if out != "" {
		say(pitGCOut, "%s", out)
		return
	}
	if text := run.inSettings(d, func(_ int, s *dyno.Survey) string {
		if s.GCFrac < gcMuch || s.Collections < 1 || s.Collections > gcFew {
			return ""
		}
		return fmt.Sprintf("%s in %d iterations, %s of the time", count(s.Collections, "collection"), s.N, percent(s.GCFrac))
	}); text != "" {
		say(pitGC, "%s", text)
	}
}

// samples counts those of setting i.
func (run *benchRun) samples(d *benchData, i int) (n int) {
	for _, block := range d.blocks {
		if block[i] != nil {
			for _, l := range block[i].Launches {
				n += len(l)
			}
		}
	}
	return n
}
