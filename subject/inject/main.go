// Command inject is the smallest service with dyno's probe in it. It waits for
// the end of its standard input. It exists so that the files that package
// subject injects into other services, probe.go, take.go and cpu.go, are compiled,
// vetted and tested like all others.
package main

import (
	"io"
	"os"
)

func main() { io.Copy(io.Discard, os.Stdin) }
