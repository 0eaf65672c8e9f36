// Package logs has the files of a trial that take what programs write.
package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dynolab/dyno/gctrace"
)

// An Output takes what a subject writes, into files of a trial.
type Output struct {
	Stdout          *File // takes its standard output
	stderr, gctrace *File
	Trace           *gctrace.Splitter // takes its standard error
}

// NewOutput makes the files in dir. The caller closes the Output.
func NewOutput(dir string) (*Output, error) {
	var errs [3]error
	o := new(Output)
	o.Stdout, errs[0] = NewFile(dir, "stdout.log")
	o.stderr, errs[1] = NewFile(dir, "stderr.log")
	o.gctrace, errs[2] = NewFile(dir, "gctrace.txt")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, o.Stdout.Close(), o.stderr.Close(), o.gctrace.Close())
	}
	o.Trace = gctrace.NewSplitter(o.stderr.file, o.gctrace.file) // which has limits of its own
	return o, nil
}

// Close removes empty files.
func (o *Output) Close() error {
	return errors.Join(o.Trace.Close(), o.Stdout.Close(), o.stderr.Close(), o.gctrace.Close())
}

// Create makes a file of a run directory that only the user may read.
func Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// A File drops what is beyond its limit and what it cannot write: a subject must neither fill
// the disk nor wait for it.
type File struct {
	file *os.File
	left int
	err  error // the first
}

// NewFile makes a File in the directory of a trial. The caller closes it.
func NewFile(dir, name string) (*File, error) {
	f, err := Create(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("make %s of a trial: %w", name, err)
	}
	return &File{file: f, left: gctrace.LogLimit}, nil
}

func (l *File) Write(p []byte) (int, error) {
	if n := min(len(p), l.left); n > 0 && l.err == nil {
		l.left -= n
		if _, l.err = l.file.Write(p[:n]); l.left == 0 && l.err == nil {
			_, l.err = l.file.WriteString("\n[dyno: the rest was dropped]\n")
		}
	}
	return len(p), nil
}

// close removes an empty file. A nil File is not there.
func (l *File) Close() error {
	if l == nil {
		return nil
	}
	errs := []error{l.err, l.file.Close()}
	if info, err := os.Stat(l.file.Name()); err == nil && info.Size() == 0 {
		errs = append(errs, os.Remove(l.file.Name()))
	}
	return errors.Join(errs...)
}

// Files are several files of a trial. The zero value with a Dir is ready.
type Files struct {
	Dir  string
	all  []*File
	errs []error
}

// New makes one of them. If that fails, what is written to it is lost, and Close says why.
func (fs *Files) New(name string) io.Writer {
	f, err := NewFile(fs.Dir, name)
	if err != nil {
		fs.errs = append(fs.errs, err)
		return io.Discard
	}
	fs.all = append(fs.all, f)
	return f
}

// Close closes all.
func (fs *Files) Close() error {
	for _, f := range fs.all {
		fs.errs = append(fs.errs, f.Close())
	}
	return errors.Join(fs.errs...)
}
