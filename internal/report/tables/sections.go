package tables

import (
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/asked"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/places"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/slowest"
)

// Sections are the tables of a report, in order.
func (v *View) Sections() (out []layout.Section) {
	if v.Trials == 0 {
		return nil
	}
	add := func(builds ...func() (layout.Section, bool)) {
		for _, build := range builds {
			if s, ok := build(); ok {
				out = append(out, s)
			}
		}
	}
	add(v.Pooled, v.Memory)
	out = append(out, v.Lasting()...)
	switch {
	case len(v.Rows) == 0:
	case len(v.Settings) == 1:
		out = append(out, v.Values())
	default:
		changes := v.Changes()
		v.picture(changes)
		out = append(out, changes...)
	}
	out = append(out, places.Sections(v.Places)...)
	add(v.Asked, v.Why)
	if len(v.CPU) > 0 {
		out = append(out, profile.CPUShares(v.CPU, v.Named, v.Width))
	}
	add(v.Tail)
	out = append(out, v.Slowest()...)
	add(v.Attribution)
	return out
}

// Asked is the section on who asks whom.
func (v *View) Asked() (layout.Section, bool) { return asked.Section(v.Table, v.Study) }

// Slowest are the sections on slow requests.
func (v *View) Slowest() []layout.Section {
	return slowest.Sections(v.Settings, v.SettingName, v.Width)
}

// SlowFigures show the same in a page, whose settings have short names there.
func (v *View) SlowFigures(name func(int) string, sec chart.Format) []slowest.Figure {
	return slowest.Figures(v.Settings, name, sec)
}

// Lasting are the sections on what takes a while to show: memory, leaks, steadiness.
func (v *View) Lasting() (out []layout.Section) {
	for _, build := range []func() (layout.Section, bool){v.Resident, v.GivenBack, v.Leak, v.Steady} {
		if s, ok := build(); ok {
			out = append(out, s)
		}
	}
	return out
}

// Failures lists the failed trials, those of a setting that failed alike once. The last words of the
// subject are with the first setting only that failed so.
func Failures(t *compare.Table) []Failed {
	type alike struct{ setting, err string }
	var keys []alike
	var out []Failed
	numbers, said := map[alike][]string{}, map[string]bool{}
	for _, f := range t.Failed {
		first, _, _ := strings.Cut(varying.ReplaceAllString(f.Err, ""), "\n")
		key := alike{f.Trial.Setting.String(), first}
		if lines := layout.CleanLines(f.Err); numbers[key] == nil {
			if said[first] {
				lines = lines[:1]
			}
			said[first] = true
			keys, out = append(keys, key), append(out, Failed{Lines: lines})
		}
		numbers[key] = append(numbers[key], strconv.Itoa(f.Trial.N))
	}
	for i, key := range keys {
		plural := map[bool]string{true: "s"}[len(numbers[key]) > 1]
		out[i].What = strings.TrimSpace("trial" + plural + " " + strings.Join(numbers[key], ", ") + " " + key.setting)
	}
	return out
}
