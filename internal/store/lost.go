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

// Rescue checks that results still go to the directory. If it was removed or renamed, Rescue makes
// it again with all known results, and returns an error that wraps ErrLost, now and later: further
// results would be apart from the earlier ones. Each time that Rescue makes the directory again,
// for example because the removal still went on, the error is a new one.
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
