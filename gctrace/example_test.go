package gctrace_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/dynolab/dyno/gctrace"
)

const stderr = `listening on :8080
gc 1 @0.010s 2%: 0.020+0.50+0.010 ms clock, 0.040+0.10/0.40/0.20+0.020 ms cpu, 4->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.050s 3%: 0.030+0.90+0.020 ms clock, 0.060+0.20/0.80/0.10+0.040 ms cpu, 5->6->3 MB, 6 MB goal, 0 MB stacks, 0 MB globals, 2 P
`

// Sum up a log that was written under GODEBUG=gctrace=1.
func Example() {
	var sum gctrace.Log
	text, err := gctrace.Read(strings.NewReader(stderr), func(c *gctrace.Cycle, line []byte) {
		fmt.Printf("collection %d took %v and left %.0f MiB\n", c.N, c.Wall(), c.Live/(1<<20))
		sum.Add(c)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Total.Collections, "collections,", sum.Total.CPU, "of CPU time, longest stop", sum.Total.PauseMax())
	fmt.Println(text.Lines, "lines,", text.Lost, "of them not readable")
	// Output:
	// collection 1 took 530µs and left 2 MiB
	// collection 2 took 950µs and left 3 MiB
	// 2 collections, 1.66ms of CPU time, longest stop 30µs
	// 3 lines, 0 of them not readable
}

// Part the trace from the log while a program runs: as its standard error, give it a Splitter.
func ExampleSplitter() {
	var trace bytes.Buffer
	s := gctrace.NewSplitter(os.Stdout, &trace) // in place of os.Stdout: cmd.Stderr = s
	fmt.Fprint(s, stderr)
	for _, c := range s.Take(nil) { // while it runs, such as every second
		fmt.Println("collection", c.N)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(trace.String(), "\n"), "lines of trace")
	// Output:
	// listening on :8080
	// collection 1
	// collection 2
	// 2 lines of trace
}
