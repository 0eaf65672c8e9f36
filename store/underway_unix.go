//go:build unix

package store

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// UnderWay reports whether a dyno is writing to the run directory at path. It
// has to take the lock for some microseconds to know, shared, so that two that
// ask do not mislead each other; a dyno that is started just then would be
// refused, so it is not to be asked of runs that are known to be done.
func UnderWay(path string) bool {
	f, err := os.Open(filepath.Join(path, resultsFile))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
