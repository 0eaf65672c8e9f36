//go:build !unix

package store

// UnderWay reports whether a dyno is writing to the run directory at path: never,
// where there are no locks.
func UnderWay(string) bool { return false }
