//go:build !linux

package load

import (
	"runtime"
	"time"
)

func cpuTime() time.Duration { return 0 }

func cores() float64 { return float64(runtime.GOMAXPROCS(0)) }
