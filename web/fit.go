package web

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// What of a run directory is read as a whole, or at once, is at most so much. Of
// what dyno writes no run comes near it; of what somebody else put there, some
// kilobytes or a file with a hole could take all memory, and with it the server.
const (
	mostPlan      = 4 << 20 // bytes of run.json
	mostResults   = 256 << 20
	mostLines     = 10_000  // of results.jsonl; each takes 270 KiB once it is read
	mostTrials    = 100_000 // of a plan
	mostSettings  = 10_000
	mostCSV       = 1 << 30
	mostLog       = 1 << 30
	mostFileNames = 100_000 // in trials, and in one of them
)

// endsRead are those of the names of files in trials that are read for pages; logs are
// not, and are sent as they are.
var endsRead = []string{".parquet", ".csv", ".hlog", ".gz", ".out"}

// mostOf is the most bytes of files that are read wholly or line by line.
var mostOf = map[string]int64{
	"run.json": mostPlan, "summary.json": mostRead, "results.jsonl": mostResults,
	"series.csv": mostCSV, "gc.csv": mostCSV, "latency.hlog": mostLog,
}

// plain reports why a run is not for a list, or nil: the files that are read of
// every run have to be such as dyno writes. A link leads elsewhere, and a pipe is
// never done.
func plain(path string) error {
	for _, name := range []string{"run.json", "results.jsonl", "summary.json", "trials"} {
		info, err := os.Lstat(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.IsDir() != (name == "trials") {
			return fmt.Errorf("%s is not what dyno makes: %s", name, kindOf(info.Mode()))
		}
		if err := fitFile(name, info); err != nil {
			return err
		}
	}
	return nil
}

// fit reports why a run is not to be read, or nil: plain, and no more than can be
// read, in trials too. Note: what is put there after this has looked is not seen.
func fit(path string) error {
	if err := plain(path); err != nil {
		return err
	}
	if err := fitPlan(filepath.Join(path, "run.json")); err != nil {
		return err
	}
	if err := fitResults(filepath.Join(path, "results.jsonl")); err != nil {
		return err
	}
	return fitTrials(filepath.Join(path, "trials"))
}

// fitFile reports why a file is none that dyno writes.
func fitFile(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is not a file of dyno's: %s", name, kindOf(info.Mode()))
	}
	if most := mostOf[filepath.Base(name)]; most > 0 && info.Mode().IsRegular() && info.Size() > most {
		return fmt.Errorf("%s has %s, more than any that dyno writes", name, size(info.Size()))
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device or socket"
}

// fitTrials looks at the folders of trials, and at what is in them.
func fitTrials(path string) error {
	trials, err := namesIn(path)
	if err != nil {
		return err
	}
	for _, t := range trials {
		name := filepath.Join("trials", t.Name())
		if t.Type().IsRegular() {
			continue // nobody reads it
		}
		if !t.IsDir() {
			return fmt.Errorf("%s is not a folder of dyno's: %s", name, kindOf(t.Type()))
		}
		files, err := namesIn(filepath.Join(path, t.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if !slices.Contains(endsRead, filepath.Ext(f.Name())) {
				continue
			}
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // a trial is under way
			}
			if err != nil {
				return err
			}
			if err := fitFile(filepath.Join(name, f.Name()), info); err != nil {
				return err
			}
			if filepath.Ext(f.Name()) == ".parquet" && !fitParquet(filepath.Join(path, t.Name(), f.Name()), info.Size()) {
				return fmt.Errorf("%s is cut off, or none of dyno's", filepath.Join(name, f.Name()))
			}
		}
	}
	return nil
}

// fitParquet reports whether a file ends as parquet does, with the length of what is
// read first and at once: whatever number stands there is taken for it.
func fitParquet(path string, size int64) bool {
	f, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var end [8]byte
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return false
	}
	return string(end[4:]) == "PAR1" && int64(binary.LittleEndian.Uint32(end[:])) <= size
}

// namesIn lists a folder that may be missing, in no order.
func namesIn(path string) ([]fs.DirEntry, error) {
	f, err := openQuick(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.ReadDir(mostFileNames + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > mostFileNames {
		return nil, fmt.Errorf("%s has more than %d files", filepath.Base(path), mostFileNames)
	}
	return names, nil
}

// fitPlan reports why a plan is none that anybody could have run: what is read
// writes out all its trials.
func fitPlan(path string) error {
	var run struct {
		Plan struct {
			Vary           map[string]json.RawMessage `json:"vary"`
			Settings       []json.RawMessage          `json:"settings"`
			Repeats        float64                    `json:"repeat"`
			ProfileRepeats float64                    `json:"profile_repeat"`
		} `json:"plan"`
	}
	if err := readJSON(path, &run); err != nil {
		return err
	}
	settings := float64(max(len(run.Plan.Settings), 1))
	for _, levels := range run.Plan.Vary {
		var all []json.RawMessage
		if json.Unmarshal(levels, &all) == nil && len(all) > 0 {
			settings *= float64(len(all))
		}
	}
	p := &run.Plan
	// Trials of profiles are as many as the others unless said, and one more is of a trace.
	trials := settings * (max(p.Repeats, 1) + max(p.Repeats, p.ProfileRepeats) + 2)
	if settings > mostSettings || trials > mostTrials {
		return fmt.Errorf("its plan has %.3g settings and up to %.3g trials, more than anybody runs (at most %d and %d)", settings, trials, mostSettings, mostTrials)
	}
	return nil
}

// fitResults counts lines.
func fitResults(path string) error {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // who reads the run tells
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf, lines := make([]byte, 64<<10), 0
	for in := io.LimitReader(f, mostResults); ; {
		n, err := in.Read(buf)
		if lines += bytes.Count(buf[:n], []byte("\n")); lines > mostLines {
			return fmt.Errorf("results.jsonl has more than %d lines, more than can be shown", mostLines)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// openRegular opens a file that is one: neither a link nor a pipe, also if it has
// just become one.
func openRegular(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file of dyno's: %s", filepath.Base(path), kindOf(before.Mode()))
	}
	f, err := openQuick(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		f.Close()
		return nil, fmt.Errorf("%s is being replaced", filepath.Base(path))
	}
	return f, nil
}
