package findings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/safe"
)

// The files of a run directory that its benchmarks are compared by.
const (
	BaselineFile = "baseline.txt" // the copy of the file that they are compared with
	BenchFile    = "bench.txt"    // their results in the Go benchmark format
)

// readBaseline compares a run with its baseline file, if it has one.
func (f *Findings) readBaseline() (err error) {
	old, err := safe.Of(BaselineFile).Open(filepath.Join(f.Dir.Path, BaselineFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare with the baseline: %w", err)
	}
	defer old.Close()
	now, err := safe.Of(BenchFile).Open(filepath.Join(f.Dir.Path, BenchFile))
	if err != nil {
		return fmt.Errorf("compare with the baseline: %w", err)
	}
	defer now.Close()
	b := f.Plan.Bench.Resolved()
	if f.Against, err = benchstat.Against(old, now, float64(*b.Error)); err != nil {
		return fmt.Errorf("compare with the baseline: %w", err)
	}
	return nil
}
