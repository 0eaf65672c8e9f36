//go:build !unix

package client

import "time"

// cpuTime is this process's CPU time so far; 0 if it is not known.
func cpuTime() time.Duration { return 0 }
