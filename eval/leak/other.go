//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "bench/leak: needs Linux (/proc, signals of a parent's death); this is %s\n", runtime.GOOS)
	os.Exit(1)
}
