package progress

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A Bench has a line for each phase and block, or one line of a terminal.
type Bench struct {
	Line
	most    time.Duration
	before  int  // blocks of a run that is resumed
	blocks  int  // of --blocks and --more; 0 if not given
	least   int  // that are wanted: those that were asked for, or the fewest that can tell a change
	beyond  bool // they are run after the time, too
	began   time.Time
	second  time.Time // when the second block began: the first holds the survey
	step    gobench.Step
	entered time.Time     // the phase, or the block
	all     int           // benchmarks that are open in the first block
	said    time.Duration // that the wanted blocks take; 0 if nothing was said
}

// NewBench shows a bench on w until Finish.
func NewBench(w io.Writer, b *dyno.Bench) *Bench {
	now, all := time.Now(), b.Resolved()
	p := &Bench{
		most: time.Duration(all.Duration), blocks: b.Planned(), least: cmp.Or(b.Planned(), compare.FewestBenchBlocks()), beyond: b.Duration == 0,
		began: now, entered: now,
	}
	if n := len(b.Resumed); n > 0 {
		p.before = b.Resumed[n-1].After
		p.least = max(1, p.least-p.before)
	}
	p.Open(w, 0, p.line)
	return p
}

// See takes each step.
func (p *Bench) See(s gobench.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sees(s, time.Now())
}

func (p *Bench) sees(s gobench.Step, now time.Time) {
	last := p.step
	// Links belong to the block that they are for.
	same := s.Phase == last.Phase || s.Phase == "block" && last.Phase == "link"
	if !same || s.Block != last.Block && s.Phase != "profile" {
		if p.width == 0 {
			p.ended(now)
		}
		p.entered = now
	}
	p.step = s
	if s.Phase == "block" && p.all == 0 {
		p.all = s.Benchmarks
	}
	switch {
	case s.Phase == "profile": // whose blocks are others
	case s.Block == p.before+1 && s.Phase == "block" && s.Done == 0:
		p.foretell(s, now)
	case s.Block == p.before+2 && p.second.IsZero():
		p.second = now
	case s.Block == p.before+2 && s.Phase == "block" && s.Done == 0:
		p.warn(s.Expected)
	case s.Block == p.before+3 && last.Block == p.before+2:
		p.warn(now.Sub(p.second))
	}
}

// manyBenchmarks are worth a word before they are measured.
const manyBenchmarks = 20

// foretell says when a suite has its first answers: after half of the time that is left, or later if blocks take longer.
func (p *Bench) foretell(s gobench.Step, now time.Time) {
	if p.blocks > 0 || p.before > 0 || s.Benchmarks < manyBenchmarks {
		return
	}
	before := now.Sub(p.began)
	left := max(0, p.most-before)
	first := before + min(left, max(left/2, time.Duration(p.least)*s.Expected))
	p.say(fmt.Sprintf("note: %d benchmarks: the first answers come after about %v (consider: --bench, for fewer)", s.Benchmarks, first.Round(10*time.Second)))
}

// misjudged is how many times as long as it was said before the second block the wanted ones may take
// after it, without another note.
const misjudged = 1.5

// warn says that the wanted blocks take longer than the time, if each but the first takes so long: before the
// second by what the survey and the link tell, and after it if that was too little.
func (p *Bench) warn(each time.Duration) {
	before := p.second.Sub(p.began)
	end := (before + each*time.Duration(p.least-1)).Round(time.Second)
	if each <= 0 || end <= p.most || end <= time.Duration(misjudged*float64(p.said)) {
		return
	}
	p.said = end
	text := fmt.Sprintf("%d blocks, the fewest that can show a change, take about %v", p.least, end)
	if p.blocks > 0 {
		text = fmt.Sprintf("%d blocks take about %v", p.least, end)
	}
	if !p.beyond {
		// A block that has begun is cut off, and what it has in all settings counts.
		text += fmt.Sprintf(", but --duration %v has room for %d (consider: a longer one, or fewer benchmarks with --bench)", p.most, 1+max(p.most-before, 0)/each)
	}
	p.say("note: " + text)
}

// end is when the wanted blocks may end, from the beginning; 0 if it is not known.
func (p *Bench) end(now time.Time) time.Duration {
	if p.step.Block < p.before+3 {
		return 0
	}
	each := now.Sub(p.second) / time.Duration(p.step.Block-p.before-2)
	return p.second.Sub(p.began) + each*time.Duration(p.least-1)
}

func (p *Bench) ended(now time.Time) {
	if p.step.Phase == "" {
		return
	}
	what := p.step.Phase
	if p.step.Block > 0 && what != "profile" {
		what = p.what()
	}
	fmt.Fprintf(p.w, "%s, %v\n", what, now.Sub(p.entered).Round(100*time.Millisecond))
}

func (p *Bench) what() string {
	s := p.step
	if s.Phase != "block" && s.Phase != "link" {
		if s.Benchmarks > 0 {
			return fmt.Sprintf("%s %d of %d", s.Phase, s.Done, s.Benchmarks)
		}
		return s.Phase
	}
	text := fmt.Sprintf("block %d", s.Block)
	if p.blocks > 0 {
		text += fmt.Sprintf(" of %d", p.blocks)
	}
	switch open := s.Benchmarks; {
	case open <= 0:
	case p.blocks > 0 || open >= p.all:
		text += ": " + layout.Count(open, "benchmark")
	default:
		text += fmt.Sprintf(": %d of %s open", open, layout.Count(p.all, "benchmark"))
	}
	return text
}

func (p *Bench) line(now time.Time) string {
	s := p.step
	if s.Phase == "" {
		return ""
	}
	parts := []string{p.what()}
	switch {
	case s.Phase == "link":
		parts = append(parts, "linking")
	case s.Phase == "block" && s.Benchmarks > 1:
		parts = append(parts, fmt.Sprintf("%d measured", s.Done))
		if s.Last != "" {
			parts = append(parts, fmt.Sprintf("%s %+.1f%%", s.Last, 100*(s.Ratio-1)))
		}
	}
	switch end := p.end(p.entered); {
	case s.Phase == "profile": // which comes after the time that was given
	case p.beyond && s.Block-p.before <= p.least && end > p.most:
		parts = append(parts, fmt.Sprintf("about %v to block %d", max(end-now.Sub(p.began), 0).Round(time.Second), p.before+p.least))
	default:
		parts = append(parts, fmt.Sprintf("at most %v left", max(p.most-now.Sub(p.began), 0).Round(time.Second)))
	}
	return strings.Join(parts, " · ")
}

// Finish erases the line; without a terminal it writes one about the last step.
func (p *Bench) Finish(done bool) {
	p.Close()
	if done && p.width == 0 {
		p.ended(time.Now())
	}
}
