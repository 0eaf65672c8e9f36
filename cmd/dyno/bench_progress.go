package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/lab"
)

// A benchProgress shows what dyno bench does: on a terminal in one line that is
// redrawn, else with a line for each phase and each block.
type benchProgress struct {
	progressLine
	most    time.Duration
	blocks  int // that were asked for; 0 if nobody did
	began   time.Time
	step    lab.BenchStep
	entered time.Time // the phase, or the block
	all     int       // benchmarks that are open in the first block
}

func newBenchProgress(w io.Writer, b *dyno.Bench) *benchProgress {
	now := time.Now()
	p := &benchProgress{most: time.Duration(b.Duration), blocks: b.Blocks, began: now, entered: now}
	p.open(w, p.line)
	return p
}

// see takes the next step of the work.
func (p *benchProgress) see(s lab.BenchStep) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sees(s, time.Now())
}

func (p *benchProgress) sees(s lab.BenchStep, now time.Time) {
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
}

// ended writes a line about the step that is over.
func (p *benchProgress) ended(now time.Time) {
	if p.step.Phase == "" {
		return
	}
	what := p.step.Phase
	if p.step.Block > 0 && what != "profile" {
		what = p.what()
	}
	fmt.Fprintf(p.w, "%s, %v\n", what, now.Sub(p.entered).Round(100*time.Millisecond))
}

// what is the step in words.
func (p *benchProgress) what() string {
	s := p.step
	far := ""
	if s.Benchmarks > 0 && s.Phase != "block" && s.Phase != "link" {
		far = fmt.Sprintf(" %d of %d", s.Done, s.Benchmarks)
	}
	switch s.Phase {
	case "block", "link":
		text := fmt.Sprintf("block %d", s.Block)
		if p.blocks > 0 {
			text += fmt.Sprintf(" of %d", p.blocks)
		}
		switch open := max(s.Benchmarks, 0); {
		case open == 0:
		case p.blocks > 0 || open >= p.all:
			text += fmt.Sprintf(": %s", benchmarks(open))
		default:
			text += fmt.Sprintf(": %d of %s open", open, benchmarks(p.all))
		}
		return text
	}
	return s.Phase + far
}

func benchmarks(n int) string {
	if n == 1 {
		return "1 benchmark"
	}
	return fmt.Sprintf("%d benchmarks", n)
}

// line is what is drawn.
func (p *benchProgress) line(now time.Time) string {
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
	}
	if s.Phase != "profile" { // which comes after the time that was given
		parts = append(parts, fmt.Sprintf("%v left at most", max(p.most-now.Sub(p.began), 0).Round(time.Second)))
	}
	return strings.Join(parts, " · ")
}

// finish erases the line or, if the last step is done and there is no terminal, writes
// one about it.
func (p *benchProgress) finish(done bool) {
	p.close()
	if done && p.width == 0 {
		p.ended(time.Now())
	}
}
