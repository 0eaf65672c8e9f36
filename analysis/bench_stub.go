package analysis

import (
	"errors"
	"io"

	"github.com/dynolab/dyno"
)

// To be deleted when the rooms are merged.

type BenchstatOptions struct{ Alpha float64 }
type BenchstatTables struct{}

func Against(baseline io.Reader, name string, current io.Reader, factors []string, o BenchstatOptions) (*BenchstatTables, error) {
	return nil, errors.New("not built yet")
}

func ReadBenchSource(dir string, files []string, ss []dyno.Survey) error { return nil }

func (t *BenchTable) Gate(ths []dyno.Threshold, failWorse bool) (failed, unclear string) {
	return "", ""
}
