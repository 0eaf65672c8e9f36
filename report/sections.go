package report

import (
	"strconv"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/profile"
)

// sections are the tables of a report, in order.
func (v *view) sections() []layout.Section {
	if v.Trials == 0 {
		return nil
	}
	var out []layout.Section
	if s, ok := v.pooled(); ok {
		out = append(out, s)
	}
	if s, ok := v.memory(); ok {
		out = append(out, s)
	}
	out = append(out, v.hours()...)
	switch {
	case len(v.Rows) == 0:
	case len(v.Settings) == 1:
		out = append(out, v.values())
	default:
		changes := v.changes()
		v.picture(changes)
		out = append(out, changes...)
	}
	if s, ok := v.why(); ok {
		out = append(out, s)
	}
	if len(v.CPU) > 0 {
		out = append(out, profile.CPUShares(v.CPU, v.named, v.width))
	}
	if s, ok := v.tail(); ok {
		out = append(out, s)
	}
	if s, ok := v.attribution(); ok {
		out = append(out, s)
	}
	return out
}

// hours are those of [Hours].
func (v *view) hours() (out []layout.Section) {
	for _, build := range []func() (layout.Section, bool){v.resident, v.givenBack, v.leak, v.steady} {
		if s, ok := build(); ok {
			out = append(out, s)
		}
	}
	return out
}

// failures lists the failed trials, those that failed alike once.
func failures(t *compare.Table) []failed {
	var keys []string
	numbers := map[string][]string{}
	first := map[string]compare.Failure{}
	for _, f := range t.Failed {
		key := f.Setting.String() + "\x00" + f.Err
		if _, ok := first[key]; !ok {
			keys = append(keys, key)
			first[key] = f
		}
		numbers[key] = append(numbers[key], strconv.Itoa(f.Trial))
	}
	var out []failed
	for _, key := range keys {
		trials := "trial"
		if len(numbers[key]) > 1 {
			trials += "s"
		}
		trials += " " + strings.Join(numbers[key], ", ")
		if s := first[key].Setting.String(); s != "" {
			trials += " " + s
		}
		out = append(out, failed{trials, layout.CleanLines(first[key].Err)})
	}
	return out
}
