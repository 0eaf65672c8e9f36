package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// ErrLost is what Rescue wraps.
var ErrLost = errors.New("the run directory was removed or renamed while the run went on")

// Rescue reports whether the directory is still the one that results go to. If it was removed or
// renamed it is made again, with all results that are known, and the error wraps ErrLost, now and
// ever after: what is measured next would be apart from what was measured before. It is another
// error each time that it is made again, as when the removal still went on.
func (d *Dir) Rescue() error {
	if d.results == nil {
		return d.lost
	}
	path := filepath.Join(d.Path, resultsFile)
	ours, err := d.results.Stat()
	closed := d.lost != nil && errors.Is(err, os.ErrClosed) // it could not be made again
	if err != nil && !closed {                              // as writing will say
		return d.lost
	}
	there, err := os.Stat(path)
	switch {
	case err == nil && !closed && (d.lost != nil || os.SameFile(ours, there)):
		if _, err := os.Stat(filepath.Join(d.Path, runFile)); d.lost != nil && errors.Is(err, fs.ErrNotExist) {
			d.lost = errors.Join(d.lost, d.writeRun()) // the removal had not come to an end
		}
		return d.lost
	case err == nil:
		d.lost = fmt.Errorf("%w: %s now belongs to another run, and the results are only shown", ErrLost, d.Path)
		return d.lost
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	d.lost = fmt.Errorf("%w: %s has its results again, but not the files of their trials", ErrLost, d.Path)
	if err := d.again(); err != nil {
		d.lost = fmt.Errorf("%w: %s could not be made again, and the results are only shown: %w", ErrLost, d.Path, err)
	}
	return d.lost
}

// again makes the directory from what is in memory.
func (d *Dir) again() error {
	if err := os.MkdirAll(filepath.Join(d.Path, trialsDir), 0o700); err != nil {
		return err
	}
	d.results.Close() // it has nothing that is not in memory
	if err := errors.Join(d.openResults(), d.writeRun()); err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(d.done)) {
		if err := d.add(d.done[n]); err != nil {
			return err
		}
	}
	return nil
}
