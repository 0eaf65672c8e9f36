//go:build !unix

package store

import "errors"

// Holder reports whether a dyno is writing to the run directory at path, and
// which process that is. Where there are no locks it is not known: the error is
// errors.ErrUnsupported.
func Holder(string) (pid int, held bool, err error) { return 0, false, errors.ErrUnsupported }
