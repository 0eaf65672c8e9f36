package main

import (
	"cmp"
	"os"
	"testing"

	"github.com/dynolab/dyno/dynotest"
)

// The cure of this example must not allocate more than the variant that it replaces. To see the test
// fail, compare the other way: BASE=without HEAD=with go test -run TestAllocatesNoMore
func TestAllocatesNoMore(t *testing.T) {
	dynotest.Compare(t, dynotest.Service{
		Package: ".",
		Args:    []string{"-addr", "{{.Addr}}", "-variant", "{{.arg.variant}}"},
		Path:    "/search?term=topic&cnn=on&bbc=on&nyt=on",
		Flags:   []string{"-X", "POST", "-d", "100ms", "-c", "2", "--repeat", "6"},
	}, "arg.variant="+cmp.Or(os.Getenv("BASE"), "with"), "arg.variant="+cmp.Or(os.Getenv("HEAD"), "without"),
		dynotest.NoWorse("alloc_per_req", 5))
}
