// Package check judges what a plan says: whether all of it makes sense together, before anything is built or
// launched. Package plan knows the syntax, package dyno what a plan means.
package check

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Experiment reports the first mistake as a [*dyno.PlanError], or nil. [File] leaves out what a
// flag can still add.
func Experiment(e *dyno.Experiment) error {
	if err := File(e); err != nil {
		return err
	}
	if err := cmp.Or(checkCompared(e), checkOn(e)); err != nil {
		return err
	}
	for _, s := range e.Levels() {
		t, err := e.Written(s)
		if err != nil {
			return err
		}
		for _, l := range s {
			if name, ok := strings.CutPrefix(l.Factor, "arg."); ok && !trialUses(&t, name) {
				return dyno.PlanErrorf("factor %s is used nowhere (consider: {{.arg.%s}} in the arguments, the environment, the files or the load)", l.Factor, name).Of("vary", l.Factor)
			}
		}
	}
	return nil
}

// File is Experiment for a plan that flags may still add to.
func File(e *dyno.Experiment) *dyno.PlanError {
	if e.Bench != nil {
		return checkBench(e)
	}
	if err := cmp.Or(
		checkSubject(&e.Subject),
		checkScheme(e),
		checkFactors(e),
	); err != nil {
		return err
	}
	if err := cmp.Or(checkSlice(e), checkTurns(e)); err != nil { // with a sane number of levels
		return err
	}
	for _, s := range e.Levels() {
		t, err := e.Written(s)
		if err != nil {
			return err
		}
		endless := t.Load.None && t.Load.Duration == 0 && t.Subject.Launched()
		if err := cmp.Or(
			checkLoad(&t.Load),
			wrong(endless, "load none", "a load of none has no end (want for example duration: 10m)"),
			checkSource(&t),
			checkNeeds(e, &t),
		); err != nil {
			return err
		}
	}
	return cmp.Or(checkProfiles(e), checkMemory(e), checkRelink(e), checkAwake(e), checkPrimary(e), checkProbes(&e.Probes), Thresholds(e.Thresholds, e.MetricNames()))
}

// wrong returns the mistake of a plan in which something is wrong, or nil. The
// key is its place in the plan, such as "load rate".
func wrong(is bool, key, format string, args ...any) *dyno.PlanError {
	if !is {
		return nil
	}
	return dyno.PlanErrorf(format, args...).Of(strings.Fields(key)...)
}

// Keys yields the fields of a struct with their names in JSON.
func Keys(part reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range part.NumField() {
			key, _, _ := strings.Cut(part.Type().Field(i).Tag.Get("json"), ",")
			if key != "-" && !yield(key, part.Field(i)) {
				return
			}
		}
	}
}

// given returns the first key of a part of the plan that is set and not allowed, or "".
func given(part any, allowed ...string) string {
	for key, field := range Keys(reflect.ValueOf(part)) {
		if !field.IsZero() && !slices.Contains(allowed, key) {
			return key
		}
	}
	return ""
}

// second returns the index of the first of xs whose name one before it has, or -1.
func second[T any](xs []T, name func(T) string) int {
	seen := map[string]bool{}
	return slices.IndexFunc(xs, func(x T) bool {
		n := name(x)
		was := seen[n]
		seen[n] = true
		return was
	})
}
