// Package trend follows a metric over many runs: which of them can be compared, and
// where its level changed. It reads no files and writes no sentences.
package trend

import (
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// EnoughRuns is how many runs a change of level can be found in.
const EnoughRuns = 10

// Conditions are what two runs must have in common to be compared, by name, such as
// their machine.
type Conditions map[string]string

// Differing returns the names of the conditions that differ, sorted.
func (c Conditions) Differing(other Conditions) (names []string) {
	for name := range c {
		if c[name] != other[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A Run is one run's value of the metric.
type Run struct {
	Conditions Conditions
	Value      float64
}

// A Course is a sequence of runs that can be compared.
type Course struct {
	Conditions Conditions          // of its first run
	Runs       []int               // indexes, in the order of time
	Changes    []stats.ChangePoint // of the level; At is an index of Runs
}

// Courses divides runs, the oldest first, into those that can be compared, and finds
// the changes of level in each course. With mixed there is one course of all runs.
func Courses(runs []Run, mixed bool) (cs []Course) {
	var values [][]float64
	for n, r := range runs {
		i := slices.IndexFunc(cs, func(c Course) bool { return mixed || len(c.Conditions.Differing(r.Conditions)) == 0 })
		if i < 0 {
			i = len(cs)
			cs, values = append(cs, Course{Conditions: r.Conditions}), append(values, nil)
		}
		cs[i].Runs, values[i] = append(cs[i].Runs, n), append(values[i], r.Value)
	}
	for i := range cs {
		cs[i].Changes = stats.ChangePoints(values[i])
	}
	return cs
}
