package report

import (
	"fmt"
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
)

// To be deleted when the rooms are merged.

func BenchText(w io.Writer, t *analysis.BenchTable, o Options) error {
	_, err := fmt.Fprintf(w, "%d benchmarks, %d blocks\n", len(t.Rows), t.Blocks)
	return err
}
func BenchMarkdown(w io.Writer, t *analysis.BenchTable) error { return BenchText(w, t, Options{}) }
func BenchJSON(w io.Writer, t *analysis.BenchTable) error {
	_, err := fmt.Fprintf(w, "{\n  \"blocks\": %d\n}\n", t.Blocks)
	return err
}
func BenchFile(w io.Writer, rs []*dyno.Result) error { return nil }

func BenchFileOf(w io.Writer, rs []*dyno.Result, setting dyno.Setting) error { return nil }

func BenchHTML(w io.Writer, p *BenchPage) error { return nil }

type BenchPage struct {
	Table    *analysis.BenchTable
	Origin   Origin
	Ran      string
	Listings []Listing
	Notes    []string
	Site     *Site
}

type Listing struct{ Title, Text string }
