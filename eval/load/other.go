//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "bench/load: needs Linux (epoll_pwait2, CPU affinity, /proc); this is %s\n", runtime.GOOS)
	os.Exit(1)
}
