// Command inject is the smallest service with dyno's probe. It waits for the end of its standard
// input. So the files that package subject injects are compiled, vetted and tested.
package main

import (
	"io"
	"os"
)

func main() { io.Copy(io.Discard, os.Stdin) }
