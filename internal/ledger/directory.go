package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dynolab/dyno/internal/safe"
)

// A directory is the path of one that has a file for each month.
type directory string

const (
	lockName   = ".lock"
	mostLocked = time.Minute // others need the lock for milliseconds
)

var errLocked = errors.New("another process holds the lock")

func (d directory) String() string { return string(d) }

func (d directory) sync(context.Context, string) (SyncResult, error) { return SyncResult{}, nil }

func (d directory) read(ctx context.Context, each func(file string, text []byte)) error {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !isLines(e.Name()) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := d.text(e.Name())
		if err != nil {
			return err
		}
		each(e.Name(), text)
	}
	return nil
}

// text returns a file's, which may be missing.
func (d directory) text(file string) ([]byte, error) {
	f, err := (safe.Budget{Bytes: mostBytes}).Open(filepath.Join(string(d), file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostBytes+1)) // of one that grows, union refuses the rest
}

// add changes one file after the other. When it is killed between two, the next one to add the same lines does the rest.
func (d directory) add(ctx context.Context, files map[string][][]byte, _ []string) error {
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return err
	}
	locked, err := os.OpenFile(filepath.Join(string(d), lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer locked.Close() // ends the lock
	for begin := time.Now(); ; {
		err := lock(locked)
		if err == nil {
			break
		}
		if !errors.Is(err, errLocked) || time.Since(begin) > mostLocked {
			return fmt.Errorf("lock %s: %w", locked.Name(), err)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		old, err := d.text(file)
		if err != nil {
			return err
		}
		text, _, err := union(old, files[file]...)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, old) {
			if err := d.replace(file, text); err != nil {
				return err
			}
		}
	}
	return syncFolder(string(d))
}

// replace writes a file beside the old one, and puts it in its place when it is on disk. Whoever was killed meanwhile has
// left no more than that file, which the next one overwrites.
func (d directory) replace(file string, text []byte) error {
	path, beside := filepath.Join(string(d), file), filepath.Join(string(d), "."+file+".new")
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if old, e := os.Stat(path); e == nil {
		err = f.Chmod(old.Mode().Perm()) // others may be allowed to write
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
	}
	return err
}
