// Page makes run directories of invented results, through package store as dyno
// itself writes them, for measuring how reports and the local pages behave with
// runs that would take hours to make, or that mean harm.
//
//	go run ./page -kind hours -out DIR
//
// README.md says what each kind holds. Nothing of it was measured: the plan's name
// says so.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A kind makes what -kind names.
type kind struct {
	name string
	make func(out string, o options) error
}

var kinds = []kind{
	{"hours", makeHours},
	{"study", makeStudy},
	{"many", makeMany},
	{"requests", makeRequests},
	{"hostile", makeHostile},
}

type options struct {
	seed  uint64
	scale float64 // of lengths and numbers, for a quick look
}

// epoch is when the runs began, so that the same seed makes the same files.
var epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func main() {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	var o options
	name := flag.String("kind", "", "what to make: "+strings.Join(names, ", "))
	out := flag.String("out", "", "the `directory` to make, which must be missing or empty")
	flag.Uint64Var(&o.seed, "seed", 1, "of all that is random")
	flag.Float64Var(&o.scale, "scale", 1, "make runs so much smaller, for a quick look: more than 0, at most 1")
	flag.Parse()
	i := slices.Index(names, *name)
	if i < 0 || *out == "" || flag.NArg() > 0 || !(o.scale > 0 && o.scale <= 1) {
		flag.Usage()
		os.Exit(2)
	}
	began := time.Now()
	if err := kinds[i].make(*out, o); err != nil {
		fmt.Fprintln(os.Stderr, "eval/page:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %s, in %.1f s\n", *out, *name, time.Since(began).Seconds())
}
