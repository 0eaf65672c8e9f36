//go:build !linux

package load

import "runtime"

// cores is how many CPUs this process may use at once.
func cores() float64 { return float64(runtime.GOMAXPROCS(0)) }
