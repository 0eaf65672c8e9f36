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
	// Neither through a link nor waiting for who writes to a pipe.
	f, err := os.OpenFile(filepath.Join(path, resultsFile), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find the writer of %s: %w", path, err)
	}
	defer f.Close()
	return 0, unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK, nil
}
