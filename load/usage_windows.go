package load

import (
	"math"
	"time"
)

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

func openFiles() int { return math.MaxInt }
