//go:build !unix

package store

import (
	"errors"
	"os"
)

// lock does nothing where there is no flock: two writers are not noticed.
func lock(*os.File) error { return nil }

// Holder reports whether a dyno is writing to the run directory at path, and which
// process that is. Without locks it is not known: the error is errors.ErrUnsupported.
func Holder(string) (pid int, held bool, err error) { return 0, false, errors.ErrUnsupported }

// Claimed reports whether a dyno has claimed the directory of a campaign.
func Claimed(string) bool { return false }
