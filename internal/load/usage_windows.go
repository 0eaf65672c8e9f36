package load

import "math"

func openFiles() int { return math.MaxInt }
