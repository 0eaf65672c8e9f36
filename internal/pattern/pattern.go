// Package pattern writes the values of -test.bench and -test.skip that mean certain benchmarks.
//
// It owns how package testing matches names. It runs nothing.
package pattern

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Of means one benchmark, by its name without "Benchmark". Package testing matches the elements of a name one by one.
func Of(name string) string {
	elems := strings.Split("Benchmark"+name, "/")
	for i, e := range elems {
		elems[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return strings.Join(elems, "/")
}

// Within means some parts of a benchmark, by their elements after its name.
func Within(outer string, elems []string) string {
	var quoted []string
	for _, e := range elems {
		quoted = append(quoted, regexp.QuoteMeta(e))
	}
	return Of(outer) + "/^(" + strings.Join(quoted, "|") + ")$"
}

// Skip means benchmarks to leave out. Shorter names come first: package testing stops at the first pattern that matches the elements there
// are.
func Skip(names []string) string {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	for i, name := range names {
		names[i] = Of(name)
	}
	return strings.Join(names, "|")
}
