package receipt

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
)

// find has the places of all settings that agree with the promise's. Those of a search for a capacity have nothing else, and others not
// that: so where some measured the metric, the others are left out.
func (a *After) find(p *Promise) []int {
	var all, measured []int
	for i := range a.Settings {
		if m := &a.Settings[i]; agree(p.Setting, m.Levels) {
			all = append(all, i)
			if _, ok := m.Values[p.Metric]; ok {
				measured = append(measured, i)
			}
		}
	}
	if measured != nil {
		return measured
	}
	return all
}

// base is the place of the setting that a ratio is to: it agrees, and has all levels of the setting at that place of which no promise
// was made. It is -1 if there is none.
func (a *After) base(p *Promise, at int) int {
	promised := func(l dyno.Level) bool {
		_, of := p.Levels.Get(l.Factor)
		_, to := p.Against.Levels.Get(l.Factor)
		return of || to
	}
	others := func(i int) string {
		return slices.DeleteFunc(slices.Clone(a.Settings[i].Levels), promised).String()
	}
	for i := range a.Settings {
		if i != at && agree(*p.Against, a.Settings[i].Levels) && others(i) == others(at) {
			return i
		}
	}
	return -1
}

// agree reports whether a setting that was promised for, and one that ran, have the same level of each factor that both have. What
// makes the program has to be known of both; so has a version of Go that was promised by name.
func agree(p answer.Setting, ran dyno.Setting) bool {
	for _, l := range ran {
		if _, ok := p.Levels.Get(l.Factor); !ok && dyno.OfSource(l.Factor) {
			return false
		}
	}
	_, goNamed := answer.SettingNamed(p.Name).Levels.Get("go")
	for _, l := range p.Levels {
		value, ok := ran.Get(l.Factor)
		if !ok && (dyno.OfSource(l.Factor) || l.Factor == "go" && goNamed) {
			return false
		}
		if !ok || value == l.Value {
			continue
		}
		same := false
		switch one := (dyno.Setting{l}); l.Factor {
		case "GOGC", "GOMEMLIMIT":
			same = told(one) == told(dyno.Setting{{Factor: l.Factor, Value: value}})
		case "go":
			same = strings.TrimPrefix(value, "go") == strings.TrimPrefix(l.Value, "go")
		}
		if !same {
			return false
		}
	}
	return true
}
