package findings_test

import (
	"fmt"
	"log"
	"math"

	"github.com/dynolab/dyno/findings"
)

// A run of a service with two settings: each metric that decides, its change and the verdict.
// Three blocks are too few for a verdict.
func Example() {
	dir, err := findings.Open("testdata/runs/2bb5b5f/vary")
	if err != nil {
		log.Fatal(err)
	}
	run, err := findings.Read(dir, findings.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i, s := range run.Table.Settings {
		if s.Baseline {
			continue
		}
		fmt.Println(s.Setting, "against", run.Table.Settings[0].Setting)
		for _, row := range run.Table.Rows {
			v := run.Table.Versus(row, i)
			if v == nil || !row.Primary || math.IsNaN(v.Ratio) {
				continue // not measured, or not one of the metrics that decide, or a value is zero
			}
			fmt.Printf("%-12s %.2f  %s\n", row.Name, v.Ratio, v.Verdict)
		}
	}
	// Output:
	// GOGC=50 against GOGC=100
	// p50-sec      1.12  unclear
	// p99-sec      1.63  unclear
	// req/s        0.91  unclear
	// cpu-sec/req  1.22  unclear
	// rss-peak-B   0.85  unclear
}

// A run of benchmarks has a row for each unit of each benchmark. The interval is of the ratio.
func ExampleRead_benchmarks() {
	dir, err := findings.Open("testdata/runs/2bb5b5f/bench")
	if err != nil {
		log.Fatal(err)
	}
	run, err := findings.Read(dir, findings.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range run.Table.Rows {
		v := run.Table.Versus(row, 1)
		if v != nil && v.Verdict != findings.Same {
			fmt.Printf("%s: %-9s %.2f [%.2f, %.2f] %s\n", row.Benchmark.Name, row.Name, v.Ratio, v.Lo, v.Hi, v.Verdict)
		}
	}
	// Output:
	// */many: sec/op    0.19 [0.16, 0.20] better
	// */many: B/op      0.37 [0.37, 0.37] better
	// */many: allocs/op 0.25 [0.25, 0.25] better
}

// The thresholds of a run, and whether it passes, as dyno's exit status says.
func ExampleFindings_Refuse() {
	dir, err := findings.Open("testdata/runs/2bb5b5f/vary")
	if err != nil {
		log.Fatal(err)
	}
	run, err := findings.Read(dir, findings.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, j := range run.Table.Thresholds {
		fmt.Printf("%s: %s, %s\n", run.Table.Settings[j.Setting].Setting, j.Threshold, j.Outcome)
	}
	if r := run.Refuse(findings.Demands{Strict: true}); r != nil {
		fmt.Println("refused:", r.Kind)
	}
	// Output:
	// GOGC=100: p99 < 200ms, passed
	// GOGC=50: p99 < 200ms, passed
	// GOGC=50: change(p99) < 50%, unclear
	// refused: unclear
}
