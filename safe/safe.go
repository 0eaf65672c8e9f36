// Package safe reads run directories that somebody else may have made: it refuses files
// that would take all memory, never end, or lie elsewhere.
package safe

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dynolab/dyno"
)

// A budget bounds a file of a run directory that is read as a whole: some kilobytes of
// gzip, or a hole, could take all memory. No file that dyno writes comes near it.
type budget struct {
	bytes int64                  // 0 means any: it is read in pieces
	look  func(f *os.File) error // nil if the size tells enough
}

// budgets have the names of files or, in trials, their extensions. Pages need no others.
var budgets = map[string]budget{
	"run.json":      {4 << 20, checkPlan},
	"summary.json":  {MostRead, nil},
	"results.jsonl": {256 << 20, checkResults},
	"series.csv":    {1 << 30, nil},
	"gc.csv":        {1 << 30, nil},
	"latency.hlog":  {1 << 30, nil},
	".csv":          {}, ".hlog": {}, ".gz": {}, ".out": {},
	".parquet": {0, checkParquet},
}

// MostRead is how many bytes of a small file, such as run.json, are read.
const MostRead = 16 << 20

const (
	mostLines     = 10_000  // of results.jsonl; each takes 270 KiB once it is read
	mostTrials    = 100_000 // of a plan
	mostSettings  = 10_000
	mostFileNames = 100_000 // in trials, and in one of them

	// Profiles of big services have some ten megabytes and 100,000 samples.
	mostProfile  = 64 << 20  // bytes of one, without gzip
	mostParts    = 2_000_000 // samples, functions and so on of one; each takes some 100 bytes
	mostProfiles = 512 << 20 // bytes of all of a run
)

// check reports why dyno did not write a file of a run, or nil. A missing file is fine:
// its trial may be under way.
func (b budget) check(run, name string) error {
	path := filepath.Join(run, name)
	info, err := plain(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case b.bytes > 0 && info.Size() > b.bytes:
		return fmt.Errorf("%s has %d bytes, more than any that dyno writes", name, info.Size())
	case b.look == nil:
		return nil
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := b.look(f); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

// Fit reports why a run is not to be read, or nil. Note: it does not see what is put
// there later.
func Fit(path string) error {
	for _, name := range []string{"run.json", "results.jsonl", "summary.json"} {
		if err := budgets[name].check(path, name); err != nil {
			return err
		}
	}
	return eachInTrials(path, func(name string) error {
		b, ok := budgets[filepath.Base(name)]
		if !ok {
			b, ok = budgets[filepath.Ext(name)]
		}
		if !ok {
			return nil
		}
		return b.check(path, name)
	})
}

// FitProfiles reports why the profiles of a run are not to be read, or nil.
func FitProfiles(path string) error {
	all := int64(0)
	each := budget{look: func(f *os.File) error {
		n, err := sizeOfProfile(f)
		if all += n; err == nil && all > mostProfiles {
			err = fmt.Errorf("is too much: the profiles of the run have more than %v together", dyno.Size(mostProfiles))
		}
		return err
	}}
	return eachInTrials(path, func(name string) error {
		if !strings.HasSuffix(name, ".pb.gz") {
			return nil
		}
		return each.check(path, name)
	})
}

// eachInTrials calls look with the path of each file of each trial, relative to the
// run's. A file beside the trials is not looked at: nothing reads it.
func eachInTrials(path string, look func(name string) error) error {
	trials, err := namesIn(path, "trials")
	if err != nil {
		return err
	}
	for _, t := range trials {
		if t.Type().IsRegular() {
			continue
		}
		name := filepath.Join("trials", t.Name())
		files, err := namesIn(path, name)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := look(filepath.Join(name, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// namesIn lists a folder of a run, which may be missing, in no order.
func namesIn(run, name string) ([]fs.DirEntry, error) {
	path := filepath.Join(run, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder of dyno's: %v", name, info.Mode())
	}
	f, err := os.OpenFile(path, Quickly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.ReadDir(mostFileNames + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > mostFileNames {
		return nil, fmt.Errorf("%s has more than %d files", name, mostFileNames)
	}
	return names, nil
}

// checkPlan finds plans that would never end: what is read writes out all trials.
func checkPlan(f *os.File) error {
	var run struct {
		Plan struct {
			Vary           map[string]any    `json:"vary"`
			Settings       []json.RawMessage `json:"settings"`
			Repeats        float64           `json:"repeat"`
			ProfileRepeats float64           `json:"profile_repeat"`
		} `json:"plan"`
	}
	if err := json.NewDecoder(f).Decode(&run); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	settings := float64(max(len(run.Plan.Settings), 1))
	for _, levels := range run.Plan.Vary {
		all, _ := levels.([]any)
		settings *= float64(max(len(all), 1))
	}
	// Trials of profiles are as many as the others unless said, and more are of a trace and of
	// memory.
	p := &run.Plan
	blocks, profiles := p.Repeats, max(p.Repeats, p.ProfileRepeats)
	if blocks == 0 { // as many as it takes
		blocks, profiles = max(dyno.MostBlocks, dyno.DefaultPairs), max(dyno.DefaultRepeats, p.ProfileRepeats)
	}
	trials := settings * (max(blocks, 1) + profiles + 2)
	if settings > mostSettings || trials > mostTrials {
		return fmt.Errorf("has a plan of %.3g settings and up to %.3g trials (at most %d and %d can be shown)", settings, trials, mostSettings, mostTrials)
	}
	return nil
}

// checkResults counts lines.
func checkResults(f *os.File) error {
	buf, lines := make([]byte, 64<<10), 0
	for {
		n, err := f.Read(buf)
		if lines += bytes.Count(buf[:n], []byte("\n")); lines > mostLines {
			return fmt.Errorf("has more than %d lines, more than can be shown", mostLines)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// checkParquet checks that the file ends as parquet does: its reader trusts the length
// of the footer.
func checkParquet(f *os.File) error {
	var end [8]byte
	at, err := f.Seek(-int64(len(end)), io.SeekEnd)
	if err == nil {
		_, err = io.ReadFull(f, end[:])
	}
	if footer := int64(binary.LittleEndian.Uint32(end[:])); err != nil || string(end[4:]) != "PAR1" || footer > at {
		return errors.New("is cut off, or none of dyno's")
	}
	return nil
}

// sizeOfProfile returns the bytes of a profile without gzip, and an error if they or
// its parts are too many. Its reader finds out whether it is one.
func sizeOfProfile(f *os.File) (int64, error) {
	large := errors.New("is a profile larger than any that can be shown")
	var in io.Reader = f
	if z, err := gzip.NewReader(f); err == nil {
		in = z
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	data, _ := io.ReadAll(io.LimitReader(in, mostProfile+1))
	memory := int64(len(data))
	if memory > mostProfile {
		return memory, large
	}
	for parts := 0; len(data) > 0; parts++ {
		if parts > mostParts {
			return memory, large
		}
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		value, long := binary.Uvarint(data[n:])
		step := n
		switch tag & 7 { // of a field of a protocol buffer
		case 0:
			step += long
		case 1:
			step += 8
		case 2:
			step += long + int(min(value, mostProfile))
		case 5:
			step += 4
		default:
			return memory, nil
		}
		data = data[min(max(step, 1), len(data)):]
	}
	return memory, nil
}

// Quickly is how a file is opened without waiting for who writes to a pipe.
const Quickly = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens a regular file, neither a link nor a pipe.
func Open(path string) (*os.File, error) {
	before, err := plain(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, Quickly, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		f.Close()
		return nil, fmt.Errorf("%s is being replaced", filepath.Base(path))
	}
	return f, nil
}

// plain describes a file, and fails if it is none but a link, a pipe or the like.
func plain(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file of dyno's: %v", filepath.Base(path), info.Mode())
	}
	return info, err
}

// ReadJSON reads a small file of a run into v. A larger one is read in part, which is no
// JSON.
func ReadJSON(path string, v any) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MostRead))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return nil
}
