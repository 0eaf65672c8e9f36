//go:build unix && !linux

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Holder reports whether a dyno is writing to the run directory at path. Which
// process that is the system does not tell: pid is 0. It takes the lock for some
// microseconds to know, shared, so that two that ask do not mislead each other; a
// dyno that starts just then is refused.
func Holder(path string) (pid int, held bool, err error) {
	held, err = locked(filepath.Join(path, resultsFile))
	if err != nil {
		err = fmt.Errorf("find the writer of %s: %w", path, err)
	}
	return 0, held, err
}

// Claimed reports whether a dyno has claimed the directory of a campaign.
func Claimed(dir string) bool {
	held, err := locked(dir)
	return err == nil && held
}

func locked(path string) (bool, error) {
	// Neither through a link nor waiting for who writes to a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK, nil
}
