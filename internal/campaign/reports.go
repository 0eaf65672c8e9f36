package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// PageFile is the report of a run that opens in a browser.
const PageFile = "report.html"

// A run directory that was removed is looked at again after removal, the time that a large
// one takes to go, and written again mostRemovals times at most.
const (
	removal      = 500 * time.Millisecond
	mostRemovals = 10
)

// Conclude reads a run directory and writes its reports, also after an interrupt or an error, which is failed. Without findings,
// the directory cannot be read, and the error says why.
func (c *Campaign) Conclude(dir *store.Dir, failed error) (*findings.Findings, error) {
	lost := dir.Rescue()
	reading := progress.Reading(c.Stderr)
	f, unread, unwritten := ReadAndWrite(dir)
	for range mostRemovals { // it can go while it is written, and a removal may still be under way
		if errors.Is(lost, store.ErrLost) {
			time.Sleep(removal)
		}
		now := dir.Rescue()
		if now == lost {
			break
		}
		lost = now
		f, unread, unwritten = ReadAndWrite(dir)
	}
	if errors.Is(failed, store.ErrLost) { // which has been said
		lost = nil
	}
	reading.Close()
	if unread != nil {
		f = nil
	}
	return f, errors.Join(failed, lost, unwritten, unread)
}

// ReadAndWrite reads a run directory and writes its reports into it. The findings are nil if it cannot be read.
func ReadAndWrite(dir *store.Dir) (f *findings.Findings, unread, unwritten error) {
	unwritten = writeBenchFile(dir) // a baseline is compared with it
	if f, unread = findings.Read(dir, findings.Options{Keep: true}); unread == nil {
		unwritten = errors.Join(unwritten, writeReports(dir, f))
	}
	return f, unread, unwritten
}

// writeBenchFile writes the baseline first, which benchstat takes for its base.
func writeBenchFile(dir *store.Dir) error {
	place := map[string]int{}
	for i, s := range dir.Run.Plan.Levels() {
		place[s.String()] = i
	}
	results := slices.SortedStableFunc(slices.Values(dir.Results()), func(a, b *dyno.Result) int {
		return place[a.Trial.Setting.String()] - place[b.Trial.Setting.String()]
	})
	return dir.WriteFile(findings.BenchFile, func(w io.Writer) error {
		h := dir.Run.Host
		fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"))
		return export.Bench(w, results, dir.Run.Plan.Name)
	})
}

// writeReports writes summary.json, the page, and the patch of a deployment.
func writeReports(dir *store.Dir, f *findings.Findings) error {
	write := func(name, format string) error {
		return dir.WriteFile(name, func(w io.Writer) error { return report.Write(w, f, format, layout.Options{}) })
	}
	err := errors.Join(write("summary.json", "json"), write(PageFile, "html"))
	if patch := report.Patch(f); patch != "" {
		err = errors.Join(err, dir.WriteFile("deployment.patch.yaml", func(w io.Writer) error { _, err := io.WriteString(w, patch); return err }))
	}
	return err
}
