// Package safe reads run directories that somebody else may have made: it refuses files
// that would take all memory, never end, or lie elsewhere.
package safe

import (
	"bufio"
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
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// A budget bounds a file of a run directory that is read as a whole: some kilobytes of
// gzip, or a hole, could take all memory. No file that dyno writes comes near it.
type budget struct {
	bytes int64                              // 0 means any: it is read in pieces
	look  func(f *os.File, size int64) error // nil if the size tells enough
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

// check reports why dyno did not write a file, or nil; closely, it looks into the file.
// A missing file is fine: its trial may be under way.
func (b budget) check(run, name string, closely bool) error {
	path := filepath.Join(run, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notOurs(name, "file", info.Mode())
	case b.bytes > 0 && info.Size() > b.bytes:
		return fmt.Errorf("%s has %d bytes, more than any that dyno writes", name, info.Size())
	case !closely || b.look == nil:
		return nil
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := b.look(f, info.Size()); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

// Plain reports why a run is not to be listed, or nil: a file may be a link or a pipe.
func Plain(path string) error { return fitRun(path, false) }

// Fit reports why a run is not to be read, or nil. Note: it does not see what is put
// there later.
func Fit(path string) error {
	if err := fitRun(path, true); err != nil {
		return err
	}
	return eachInTrials(path, func(name string) error {
		b, ok := budgets[filepath.Base(name)]
		if !ok {
			b, ok = budgets[filepath.Ext(name)]
		}
		if !ok {
			return nil
		}
		return b.check(path, name, true)
	})
}

// fitRun looks at the files beside the trials.
func fitRun(path string, closely bool) error {
	for _, name := range []string{"run.json", "results.jsonl", "summary.json"} {
		if err := budgets[name].check(path, name, closely); err != nil {
			return err
		}
	}
	if info, err := os.Lstat(filepath.Join(path, "trials")); err == nil && !info.IsDir() {
		return notOurs("trials", "folder", info.Mode())
	}
	return nil
}

// FitProfiles reports why the profiles of a run are not to be read, or nil.
func FitProfiles(path string) error {
	all := int64(0)
	return eachInTrials(path, func(name string) error {
		if kind, ok := strings.CutSuffix(filepath.Base(name), ".pb.gz"); !ok || !slices.Contains(dyno.ProfileNames, kind) {
			return nil
		}
		return budget{look: func(f *os.File, _ int64) error {
			n, err := sizeOfProfile(f)
			if all += n; err == nil && all > mostProfiles {
				err = fmt.Errorf("is too much: the profiles of the run have more than %v together", dyno.Size(mostProfiles))
			}
			return err
		}}.check(path, name, true)
	})
}

// eachInTrials calls look with the path of each file of each trial, relative to the
// run's.
func eachInTrials(path string, look func(name string) error) error {
	trials, err := namesIn(filepath.Join(path, "trials"))
	if err != nil {
		return err
	}
	for _, t := range trials {
		name := filepath.Join("trials", t.Name())
		if t.Type().IsRegular() {
			continue // nothing reads it
		}
		if !t.IsDir() {
			return notOurs(name, "folder", t.Type())
		}
		files, err := namesIn(filepath.Join(path, name))
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

// checkPlan finds plans that would never end: what is read writes out all trials.
func checkPlan(f *os.File, size int64) error {
	var run struct {
		Plan struct {
			Vary           map[string]json.RawMessage `json:"vary"`
			Settings       []json.RawMessage          `json:"settings"`
			Repeats        float64                    `json:"repeat"`
			ProfileRepeats float64                    `json:"profile_repeat"`
		} `json:"plan"`
	}
	if err := json.NewDecoder(io.LimitReader(f, size)).Decode(&run); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
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
		return fmt.Errorf("has a plan of %.3g settings and up to %.3g trials (at most %d and %d can be shown)", settings, trials, mostSettings, mostTrials)
	}
	return nil
}

// checkResults counts lines.
func checkResults(f *os.File, size int64) error {
	buf, lines := make([]byte, 64<<10), 0
	for in := io.LimitReader(f, size); ; {
		n, err := in.Read(buf)
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
func checkParquet(f *os.File, size int64) error {
	var end [8]byte
	_, err := f.ReadAt(end[:], size-int64(len(end)))
	if footer := int64(binary.LittleEndian.Uint32(end[:])); err != nil || string(end[4:]) != "PAR1" || footer > size {
		return errors.New("is cut off, or none of dyno's")
	}
	return nil
}

// sizeOfProfile returns the bytes of a profile without gzip, and an error if they or
// its parts are too many. Its reader finds out whether it is one.
func sizeOfProfile(f *os.File) (int64, error) {
	large := errors.New("is a profile larger than any that can be shown")
	var in io.Reader = bufio.NewReader(f)
	if magic, _ := in.(*bufio.Reader).Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return 0, nil
		}
		in = z
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

// Open opens a regular file, neither a link nor a pipe.
func Open(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, notOurs(filepath.Base(path), "file", before.Mode())
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

func notOurs(name, want string, m fs.FileMode) error {
	kind := "a device or socket"
	switch {
	case m.IsDir():
		kind = "a folder"
	case m.IsRegular():
		kind = "a file"
	case m&fs.ModeSymlink != 0:
		kind = "a link"
	case m&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	}
	return fmt.Errorf("%s is not a %s of dyno's: %s", name, want, kind)
}

// ReadJSON reads a small file of a run into v.
func ReadJSON(path string, v any) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MostRead+1))
	if err == nil && len(data) > MostRead {
		err = fmt.Errorf("it has more than %v, and no such file of dyno's has", dyno.Size(MostRead))
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return nil
}
