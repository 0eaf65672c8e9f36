package load

import "time"

// cpuTime is not known here yet.
func cpuTime() time.Duration { return 0 }
