package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/doubts"
	"github.com/dynolab/dyno/report/export"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/store"
)

// pageFile is the report of a run that opens in a browser.
const pageFile = "report.html"

// conclude writes the reports of a run directory, also after an interrupt or an error.
func (o *outFlags) conclude(cmd *cobra.Command, dir *store.Dir, err error) error {
	ready := patience(cmd.ErrOrStderr())
	err = errors.Join(err, writeBenchFile(dir)) // a baseline is compared with it
	f, e := findings.Read(dir, findings.Options{})
	if e == nil {
		err = errors.Join(err, writeReports(dir, f))
	}
	ready()
	if e != nil {
		return errors.Join(err, e)
	}
	switch {
	case !errors.Is(err, errInterrupted):
	case f.Plan.Bench != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: the report is of the blocks that are whole")
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: the report is partial, with pictures in %s; go on with dyno run --resume %s\n",
			filepath.Join(dir.Path, pageFile), dir.Path)
	}
	return o.end(cmd, f, errors.Join(err, missed(f)))
}

func (o *outFlags) end(cmd *cobra.Command, f *findings.Findings, err error) error {
	noteLeftOut(cmd, f)
	err = errors.Join(err, o.print(cmd, f), nothing(f))
	if o.steps {
		stepSummary(cmd, f)
	}
	if err != nil {
		return err
	}
	return o.gate(f)
}

// noteLeftOut leaves out the directory's own notes, which were printed when it was opened.
func noteLeftOut(cmd *cobra.Command, f *findings.Findings) {
	known := func(d compare.Doubt) bool { return d.Kind == dyno.WarnRunDir }
	for _, text := range doubts.Words(nil, slices.DeleteFunc(slices.Clone(f.Notes), known)) {
		notef(cmd, "%s", text)
	}
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

// writeReports writes summary.json and the page. On a full disk there is all that the
// page is made of, as that was synced before.
func writeReports(dir *store.Dir, f *findings.Findings) error {
	write := func(name, format string) error {
		return dir.WriteFile(name, func(w io.Writer) error { return report.Write(w, f, format, layout.Options{}) })
	}
	summary, page := write("summary.json", "json"), write(pageFile, "html")
	if errors.Is(page, syscall.ENOSPC) {
		page = fmt.Errorf("%w; what was measured is whole (consider: dyno report %s --format html > FILE, on another disk)", page, dir.Path)
	}
	return errors.Join(summary, page)
}

// patience prints a line if the reading takes long until it is ready: millions of
// requests are read in seconds, in which nothing else is seen.
func patience(w io.Writer) (ready func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(w, "reading what was measured, for the report ...")
		close(said)
	})
	return func() {
		if !timer.Stop() {
			<-said
		}
	}
}

// errNothing: no data is a failure, never a pass.
var errNothing = errors.New("no trial finished")

// missed is an error if all trials for wanted profiles or traces failed.
func missed(f *findings.Findings) error {
	e := f.Plan
	if e.Bench != nil {
		return nil
	}
	for _, want := range []struct {
		purpose string
		wanted  bool
	}{{dyno.ForProfile, len(e.Profile) > 0}, {dyno.ForTrace, e.Trace > 0}} {
		ran, taken := 0, 0
		for _, r := range f.Results {
			if r.Trial.For == want.purpose {
				ran++
				if r.Err == "" {
					taken++
				}
			}
		}
		if want.wanted && ran > 0 && taken == 0 {
			return fmt.Errorf("no %s was taken: all trials for it failed", want.purpose)
		}
	}
	return nil
}

func nothing(f *findings.Findings) error {
	switch {
	case f.Plan.Bench != nil && f.Table.Blocks == 0:
		return errors.New("no block was finished")
	case f.Plan.Bench == nil && f.Table.Trials == 0:
		return errNothing
	}
	return nil
}
