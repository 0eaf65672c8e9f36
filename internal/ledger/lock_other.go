//go:build !unix

package ledger

import "os"

// lock does nothing where there is no flock: only one process at a time may add.
func lock(*os.File) error { return nil }

func syncFolder(string) error { return nil }
