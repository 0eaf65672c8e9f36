package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/safe"
)

// TrialDir makes an empty directory for the files of trial n; files of an earlier,
// unfinished attempt are removed. Those of a trial that is done stay until Add.
func (d *Dir) TrialDir(n int) (string, error) {
	if err := d.Rescue(); err != nil {
		return "", err
	}
	dir, again := d.trialDir(n), d.againDir(n)
	if err := os.RemoveAll(again); err != nil {
		return "", err
	}
	if d.Done(n) {
		dir = again
	} else if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// againDir is where a trial that is done is measured again.
func (d *Dir) againDir(n int) string { return d.trialDir(n) + ".again" }

// attemptDir has the files of trial n until Add.
func (d *Dir) attemptDir(n int) string {
	if _, err := os.Stat(d.againDir(n)); err == nil {
		return d.againDir(n)
	}
	return d.trialDir(n)
}

// TrialFile returns the path of a file of trial n, which may be missing.
func (d *Dir) TrialFile(n int, name string) string { return filepath.Join(d.trialDir(n), name) }

func (d *Dir) trialDir(n int) string {
	return filepath.Join(d.Path, trialsDir, fmt.Sprintf("%04d", n))
}

// Add stores the result of a trial and returns when it is on disk. It sets Files to
// what the trial's directory holds, moves Collections to one of these files, and turns
// series.csv into series.parquet. The line in results.jsonl comes last, so that a
// result with a line is whole.
func (d *Dir) Add(r *dyno.Result) error {
	lost := d.Rescue()
	err := d.add(r)
	if err != nil && lost == nil {
		if lost = d.Rescue(); lost != nil { // it went meanwhile
			err = d.add(r)
		}
	}
	if err != nil {
		if lost != nil {
			d.done[r.Trial.N] = d.shown(r) // to be shown
			return lost
		}
		cure := "run --resume " + d.Path
		if d.Run.Plan.Bench != nil { // which cannot be resumed
			cure = "report " + d.Path
		}
		if _, resume := CampaignOf(d.Path); resume != "" {
			cure = resume
		}
		return fmt.Errorf("store the result of trial %d: %w (the trials before it are safe; consider: dyno %s)", r.Trial.N, err, cure)
	}
	d.done[r.Trial.N] = d.shown(r)
	return lost
}

// shown is a result as results.jsonl has it, if it has secrets.
func (d *Dir) shown(r *dyno.Result) *dyno.Result {
	text, err := json.Marshal(r)
	if d.hidden == nil || err != nil {
		return r
	}
	with, again := replaced(text, d.hidden), new(dyno.Result)
	if bytes.Equal(with, text) || json.Unmarshal(with, again) != nil {
		return r
	}
	return again
}

func (d *Dir) add(r *dyno.Result) error {
	dir := d.attemptDir(r.Trial.N)
	if r.Latency != nil || len(r.Collections) > 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := addLatency(filepath.Join(dir, latencyFile), r); err != nil {
		return err
	}
	if err := d.addSeries(r.Trial.N); err != nil { // nothing is lost
		r.Warnings.Add(dyno.WarnSeries, "the series stay in series.csv: %v", err)
	}
	if len(r.Collections) > 0 {
		if err := Replace(filepath.Join(dir, collectionsFile), func(w io.Writer) error { return writeCollections(w, r.Collections) }); err != nil {
			return err
		}
		r.Collections = nil // a million of them in each trial would not fit into memory
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Files = nil
	for _, e := range entries {
		r.Files = append(r.Files, e.Name())
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if d.hidden != nil {
		line = replaced(line, d.hidden)
	}
	if dir != d.trialDir(r.Trial.N) {
		if err := errors.Join(os.RemoveAll(d.trialDir(r.Trial.N)), os.Rename(dir, d.trialDir(r.Trial.N))); err != nil {
			return err
		}
	}
	before, err := d.results.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err = d.results.Write(append(line, '\n')); err == nil {
		err = d.results.Sync()
	}
	if err != nil {
		// A full disk may have taken half of the line.
		return errors.Join(err, d.results.Truncate(before))
	}
	return nil
}

// addLatency syncs the latency log that was written during the trial, second by
// second, or else writes one line of all latencies.
func addLatency(path string, r *dyno.Result) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return errors.Join(f.Sync(), f.Close())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.Latency == nil || r.Latency.Count() == 0 {
		return nil
	}
	return Replace(path, func(w io.Writer) error {
		log, err := hist.NewLog(w, r.Start)
		if err != nil {
			return err
		}
		return log.Add(r.Latency, 0, r.Elapsed)
	})
}

// Done reports whether trial n has a result without an error.
func (d *Dir) Done(n int) bool {
	r, ok := d.done[n]
	return ok && r.Err == ""
}

// Missing returns the trials of the plan that are not done. If the run has ended, it counts only
// trials of the blocks that it compared, and trials that are not compared.
func (d *Dir) Missing() (missing []int) {
	most := d.Run.Plan.MostCompared()
	last := most
	if d.Run.Ended != "" {
		last = 0
		for n := range d.done {
			if n <= most {
				last = max(last, n)
			}
		}
	}
	for n := range d.Run.Plan.Planned() {
		if n++; !d.Done(n) && (n <= last || n > most) {
			missing = append(missing, n)
		}
	}
	return missing
}

// Results returns the last result of each trial in the order of trials, with the
// counts of their latencies. A result whose histogram is missing or broken has a
// warning.
func (d *Dir) Results() []*dyno.Result {
	rs := d.Brief()
	for _, r := range rs {
		if r.Latency != nil && !r.Latency.Whole() {
			if err := readLatency(d.TrialFile(r.Trial.N, latencyFile), r.Latency); err != nil {
				r.Warnings.Add(dyno.WarnPooled, "pooled percentiles lack trial %d: %v", r.Trial.N, err)
			}
		}
	}
	return rs
}

// Brief returns the results without the counts of latencies, which take long to read
// after long trials.
func (d *Dir) Brief() (rs []*dyno.Result) {
	for _, n := range slices.Sorted(maps.Keys(d.done)) {
		rs = append(rs, d.done[n])
	}
	return rs
}

func readLatency(path string, h *hist.Histogram) error {
	f, err := safe.Of(path).Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	counts, err := hist.ReadLog(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if counts.Count() != h.Count() {
		return fmt.Errorf("%s does not hold the %d requests of its result", path, h.Count())
	}
	h.SetCounts(counts)
	return nil
}
