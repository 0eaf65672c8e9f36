//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process, until it is closed or the process ends.
func lock(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case unix.EWOULDBLOCK:
		return ErrLocked
	default:
		return err
	}
}
