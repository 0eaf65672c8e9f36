package hist_test

import (
	"bytes"
	"fmt"
	"log"
	"time"

	"github.com/dynolab/dyno/hist"
)

func Example() {
	h := hist.New()
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Millisecond)
	}
	fmt.Println(h.Count(), "requests")
	fmt.Println("p99 ", h.Quantile(.99).Round(time.Millisecond)) // within 0.1 %
	fmt.Println("mean", hist.Seconds(h.Mean()))                  // exact
	// Output:
	// 1000 requests
	// p99  990ms
	// mean 500.5ms
}

// A log has one line for each interval. The file latency.hlog of a trial is such a log.
func ExampleLog() {
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var file bytes.Buffer
	w, err := hist.NewLog(&file, start)
	if err != nil {
		log.Fatal(err)
	}
	for second := range 3 {
		h := hist.New()
		h.Add(time.Duration(second+1) * 10 * time.Millisecond)
		if err := w.Add(h, time.Duration(second)*time.Second, time.Duration(second+1)*time.Second); err != nil {
			log.Fatal(err)
		}
	}

	for line, err := range hist.Lines(bytes.NewReader(file.Bytes()), start) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(line.From, "to", line.To, "max", line.Max().Round(time.Millisecond))
	}
	all, err := hist.ReadLog(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all.Count(), "requests")
	// Output:
	// 0s to 1s max 10ms
	// 1s to 2s max 20ms
	// 2s to 3s max 30ms
	// 3 requests
}
