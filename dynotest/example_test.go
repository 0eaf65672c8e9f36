package dynotest_test

import (
	"fmt"
	"testing"

	"github.com/dynolab/dyno/dynotest"
)

// The test fails if the commit makes p99 surely more than 5 % worse than branch main, or if it allocates more.
func ExampleCompare() {
	test := func(t *testing.T) { // func TestNoSlower(t *testing.T)
		s := dynotest.Service{
			Package: "./cmd/server",
			Args:    []string{"-listen", "{{.Addr}}"},
			Path:    "/search?q=go",
			Flags:   []string{"-c", "4"},
		}
		dynotest.Compare(t, s, "rev=main", "rev=HEAD", dynotest.NoWorse("p99", 5), dynotest.NoWorse("alloc_per_req", 1))
	}
	_ = test
}

// The direction is that of the metric: less throughput is worse, and so is more latency. A Limit of another
// form is a text.
func ExampleNoWorse() {
	fmt.Println(dynotest.NoWorse("p99", 5))
	fmt.Println(dynotest.NoWorse("req_per_s", 2.5))
	fmt.Println(dynotest.Limit("p99 < 20ms"))
	// Output:
	// change(p99) < 5%
	// change(req_per_s) > -2.5%
	// p99 < 20ms
}
