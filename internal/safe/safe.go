// Package safe reads files that somebody else may have made: it refuses those that would take
// all memory, never end, or lie elsewhere. Every reader of a run directory and of a file that a
// plan or a flag names goes through a [Budget]. It also knows by their names which values are secret.
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

// A Budget bounds a file: some kilobytes of gzip, or a hole, could take all memory. No file that
// dyno writes comes near it. The zero value bounds a file that is read in pieces.
type Budget struct {
	Bytes int64                  // 0 means any
	look  func(f *os.File) error // nil if the size tells enough
}

// Budgets of files that a plan or a flag names.
var (
	Plan       = Budget{Bytes: 512 << 10} // as text; the parser takes some 400 times as much memory
	Run        = Budget{Bytes: 4 << 20}   // run.json, with the texts that a plan includes
	Data       = Budget{Bytes: 256 << 20} // rows, targets and bodies, which are in memory while they are sent
	Benchmarks = Budget{Bytes: 256 << 20}
	Source     = Budget{Bytes: 1 << 20}
)

// budgets have the names of files of a run directory or, in trials, their extensions. Nobody
// reads others.
var budgets = map[string]Budget{
	"run.json":         Run,
	"summary.json":     {MostRead, nil},
	"certificate.json": {MostRead, nil},
	"results.jsonl":    {512 << 20, checkResults}, // 500 benchmarks take some 30 MiB a block
	"baseline.txt":     Benchmarks,
	"bench.txt":        Benchmarks,
	"series.csv":       {1 << 30, nil},
	"gc.csv":           {1 << 30, nil},
	"preempted.jsonl":  {256 << 20, nil},
	"slow.json":        {MostRead, nil},
	"latency.hlog":     {1 << 30, nil},
	".csv":             {}, ".hlog": {}, ".gz": {}, ".out": {},
	".parquet": {0, checkParquet},
}

// Of returns the budget of a file of a run directory.
func Of(path string) Budget {
	b, _ := of(path)
	return b
}

func of(path string) (b Budget, ok bool) {
	if b, ok = budgets[filepath.Base(path)]; !ok {
		b, ok = budgets[filepath.Ext(path)]
	}
	return b, ok
}

// Open opens a file of a run directory: a regular one, neither a link nor a pipe, within the budget.
func (b Budget) Open(path string) (*os.File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = b.fits(filepath.Base(path), info.Size())
	}
	if err == nil && b.look != nil {
		if err = b.look(f); err != nil {
			err = fmt.Errorf("%s %w", filepath.Base(path), err)
		} else {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (b Budget) fits(name string, size int64) error {
	if b.Bytes > 0 && size > b.Bytes {
		return fmt.Errorf("%s has %d bytes, more than dyno reads of it (%v)", name, size, dyno.Size(b.Bytes))
	}
	return nil
}

// ReadFile reads a file that a user names. It may be a link, or a pipe with a writer, such as a
// shell makes of <(command). A device, or a pipe without a writer, is an error, as it would hang.
func (b Budget) ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, Quickly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mode := info.Mode()
	if mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if !mode.IsRegular() && mode&fs.ModeNamedPipe == 0 {
		return nil, fmt.Errorf("%s is not a file: %v", path, mode)
	}
	if err := b.fits(path, info.Size()); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, b.Bytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0 && !mode.IsRegular():
		return nil, fmt.Errorf("%s is a pipe without a writer", path)
	}
	return data, b.fits(path, int64(len(data)))
}

// MostRead is how many bytes of a small file, such as run.json, are read.
const MostRead = 16 << 20

const (
	mostLines     = 2 * dyno.MostTrials // of results.jsonl: a trial that failed is run again; each takes up to 270 KiB once it is read
	mostFileNames = 100_000             // in trials, and in one of them

	// Profiles of big services have some ten megabytes and 100,000 samples.
	mostProfile  = 64 << 20  // bytes of one, without gzip
	mostParts    = 2_000_000 // samples, functions and so on of one; each takes some 100 bytes
	mostProfiles = 512 << 20 // bytes of all of a run
)

// check reports why a file of a run is not to be read, or nil. A missing file is fine: its trial
// may be under way.
func (b Budget) check(run, name string) error {
	f, err := b.Open(filepath.Join(run, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Fit returns the reason not to read a run, or nil. Note: it does not see files that are added
// later.
func Fit(path string) error {
	for _, name := range []string{"run.json", "summary.json"} {
		if err := Of(name).check(path, name); err != nil {
			return err
		}
	}
	if err := (Budget{256 << 20, checkResults}).check(path, "results.jsonl"); err != nil {
		return err
	}
	return eachInTrials(path, func(name string) error {
		b, ok := of(name)
		if !ok {
			return nil
		}
		return b.check(path, name)
	})
}

// FitProfiles reports why the profiles of a run are not to be read, or nil.
func FitProfiles(path string) error {
	var all Profiles
	return eachInTrials(path, func(name string) error {
		if !strings.HasSuffix(name, ".pb.gz") {
			return nil
		}
		_, err := all.ReadFile(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// Profiles bounds profiles that are in memory together. The zero value is ready for use.
type Profiles struct {
	bytes int64 // so far
}

// ReadFile reads a profile of a run directory, without gzip.
func (p *Profiles) ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := unpacked(f)
	if p.bytes += int64(len(data)); err == nil && p.bytes > mostProfiles {
		err = fmt.Errorf("is too much: the profiles of the run exceed %v together", dyno.Size(mostProfiles))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return data, nil
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
		return nil, fmt.Errorf("%s is not a directory of dyno's: %v", name, info.Mode())
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

// checkResults counts lines.
func checkResults(f *os.File) error {
	buf, lines := make([]byte, 64<<10), 0
	for {
		n, err := f.Read(buf)
		if lines += bytes.Count(buf[:n], []byte("\n")); lines > mostLines {
			return fmt.Errorf("has more than %d lines, too many to show", mostLines)
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
		return errors.New("is cut off, or not written by dyno")
	}
	return nil
}

// unpacked reads a profile without gzip; it is an error if its bytes or parts are too many. Its
// reader finds out whether it is one.
func unpacked(f *os.File) ([]byte, error) {
	large := errors.New("is too large a profile to show")
	var in io.Reader = f
	if z, err := gzip.NewReader(f); err == nil {
		in = z
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, mostProfile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(data) > mostProfile {
		return nil, large
	}
	rest := data
	for parts := 0; len(rest) > 0; parts++ {
		if parts > mostParts {
			return nil, large
		}
		tag, n := binary.Uvarint(rest)
		if n <= 0 {
			break
		}
		value, long := binary.Uvarint(rest[n:])
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
			return data, nil
		}
		rest = rest[min(max(step, 1), len(rest)):]
	}
	return data, nil
}

// Quickly is how a file is opened without waiting for who writes to a pipe.
const Quickly = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens a regular file, neither a link nor a pipe.
func Open(path string) (*os.File, error) {
	before, err := plain(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		e.Op = "open" // as who asked for it calls it
	}
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
