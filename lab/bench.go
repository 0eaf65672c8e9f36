package lab

import (
	"context"
	"errors"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/subject"
)

// A Bencher runs the blocks of an experiment with a Bench.
type Bencher struct {
	Tests func(ctx context.Context, s dyno.Subject, patterns []string) ([]*subject.TestPackage, error)
	Link  func(ctx context.Context, p *subject.TestPackage, seed uint32) (string, error)
	Start func(ctx context.Context, path string, o subject.BenchOptions) (BenchTurns, error)
	// Survey adds what the source of a package says to surveys; nil means that nobody reads it.
	Source func(p *subject.TestPackage, ss []dyno.Survey) error
	// Open tells which benchmarks need more blocks, after each block; nil means all.
	Open func(block int) func(pkg, name string) bool
	// Watch is told what is done, for progress; nil means nobody watches.
	Watch func(BenchStep)
}

// BenchTurns is a [subject.BenchProcess].
type BenchTurns interface {
	Turn(ctx context.Context, n int) (line string, err error)
	Close()
}

// A BenchStep is one step of the work, for progress.
type BenchStep struct {
	Phase      string // "build", "survey", "link", "block"
	Block      int
	Benchmarks int // open in this block
	Done       int // of them
}

// Run surveys and measures, and gives each finished result to sink.
func (b *Bencher) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	return errors.New("not built yet")
}
