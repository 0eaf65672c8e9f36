//go:build !unix

package cpu

import "time"

// Time is this process's CPU time so far; 0 if it is not known.
func Time() time.Duration { return 0 }
