package subject

import (
	"context"
	"errors"

	"github.com/dynolab/dyno"
)

// A TestPackage is a package whose tests can be built, under one setting.
type TestPackage struct {
	ImportPath string   // without the revision's worktree: the same in all settings
	Dir        string   // of its sources, where its tests run
	Files      []string // its test files, relative to Dir
	Go, Rev    string   // as Built's
	Warnings   []string

	// Has unexported fields: what Link needs.
}

// Tests finds the test packages that patterns mean in the tree of s (its Dir, Rev, Go, Build, Env).
func (b *Builder) Tests(ctx context.Context, s dyno.Subject, patterns []string) ([]*TestPackage, error) {
	return nil, errors.New("not built yet")
}

// Link builds the test binary of p with its functions in the order of a seed.
func (b *Builder) Link(ctx context.Context, p *TestPackage, seed uint32) (path string, err error) {
	return "", errors.New("not built yet")
}

// BenchOptions say how a test binary is launched.
type BenchOptions struct {
	Dir  string
	Env  map[string]string
	Args []string // -test.bench and so on
	CPUs []int    // it is pinned to these; none means that it is not
}

// A BenchProcess is a test binary that runs only in its turns.
type BenchProcess struct{}

// StartBench launches a test binary; it is stopped when it has printed its first result.
func StartBench(ctx context.Context, path string, o BenchOptions) (*BenchProcess, error) {
	return nil, errors.New("not built yet")
}

// Turn lets the process go on until it has printed n more results, and stops it.
// It returns the last of the lines.
func (p *BenchProcess) Turn(ctx context.Context, n int) (line string, err error) {
	return "", errors.New("not built yet")
}

// Close ends the process.
func (p *BenchProcess) Close() {}
