package dyno_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/dynolab/dyno"
)

// A plan of two settings and two blocks, and the order of its trials. The JSON of the plan is a dyno.yaml
// that dyno run -f reads.
func Example() {
	seed := uint64(1)
	plan := dyno.Experiment{
		Name:    "gogc",
		Subject: dyno.Subject{Package: "./cmd/server"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		Repeats: 2,
		Seed:    &seed,
	}
	for _, t := range plan.Trials() {
		fmt.Println("block", t.Block, t.Setting)
	}
	file, err := json.Marshal(&plan)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(file))
	// Output:
	// block 1 GOGC=100
	// block 1 GOGC=50
	// block 2 GOGC=50
	// block 2 GOGC=100
	// {"name":"gogc","subject":{"package":"./cmd/server"},"vary":{"GOGC":["100","50"]},"repeat":2,"seed":1}
}

// A threshold names a metric without its unit.
func ExampleParseThreshold() {
	for _, text := range []string{"p99 < 20ms", "change(req_per_s) > -2%"} {
		t, err := dyno.ParseThreshold(text)
		if err != nil {
			log.Fatal(err)
		}
		m, limit, err := t.Of(nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Name, limit)
	}
	// Output:
	// p99-sec 0.02
	// req/s -0.02
}

// Each metric has a direction and a text. Its name ends in its base unit.
func ExampleMetricByName() {
	m, ok := dyno.MetricByName("rss-peak-B")
	fmt.Println(ok, m.Better, m.Help)
	m, ok = dyno.MetricByName("login-p99-sec") // of a step of the load
	fmt.Println(ok, m.Better, m.Help)
	// Output:
	// true -1 highest resident memory of the measured window
	// true -1 99th percentile of latency of step login
}
