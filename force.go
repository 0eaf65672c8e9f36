package dyno

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// inForce are the settings of the Go runtime that can be seen in a process, by their variables.
var inForce = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"}

// An Override is a setting of the Go runtime that a plan asked for but that was not in force.
type Override struct {
	Name    string   `json:"name"`             // GOGC, GOMEMLIMIT or GOMAXPROCS
	Asked   string   `json:"asked"`            // as the plan has it
	InForce []string `json:"in_force"`         // as the variable would be written, in the order in which they were seen; several if it changed while the subject ran
	By      string   `json:"by"`               // how that is known: ByRuntime, ByEnvironment, ByTrace or ByPage
	Places  []Setter `json:"places,omitempty"` // in the source, that may have set it, the likeliest first; none if there is no source, or nothing was found
}

// A Setter is a place of a program's source that sets a variable of the Go runtime.
type Setter struct {
	What string `json:"what"` // such as debug.SetGCPercent, or the import path of a package that does it
	File string `json:"file"` // below the module, or with the module's path and version before it if that is not the program's
	Line int    `json:"line"` // from 1
}

// How it is known what is in force, from the surest on.
const (
	ByRuntime     = "runtime"     // the injected probe asked the runtime
	ByEnvironment = "environment" // of the process that answers, which is not the one that it was launched with
	ByPage        = "prometheus"  // the service's page says so
	ByTrace       = "gctrace"     // of the trace: GOMAXPROCS exactly, GOGC by the goals of collections
)

// Other is the last value in force that the runtime does not take for the one that was asked for.
func (o *Override) Other() string {
	other := slices.DeleteFunc(slices.Clone(o.InForce), func(v string) bool { return same(o.Name, o.Asked, v) })
	return other[len(other)-1]
}

// Seen are the settings that one source saw in a Go runtime, one observation after the other.
type Seen struct {
	By       string
	Settings []Setting // each of some of GOGC, GOMEMLIMIT and GOMAXPROCS, as InForce writes them
}

// InForce returns the settings of a Go runtime, written as their variables are: GOGC (given in per cent),
// GOMEMLIMIT (in bytes) and GOMAXPROCS. A NaN is left out.
func InForce(gogc, limit, procs float64) (s Setting) {
	add := func(name, value string, known float64) {
		if !math.IsNaN(known) {
			s = append(s, Level{name, value})
		}
	}
	percent, size := strconv.FormatFloat(gogc, 'f', -1, 64), "off"
	if gogc < 0 || gogc > math.MaxInt32 { // -1 as a number without a sign
		percent = "off"
	}
	if limit < math.MaxInt64 {
		size = Size(limit).String()
	}
	add("GOGC", percent, gogc)
	add("GOMEMLIMIT", size, limit)
	add("GOMAXPROCS", strconv.FormatFloat(procs, 'f', -1, 64), procs)
	return s
}

// Get returns the value of a factor; ok says whether the setting has it.
func (s Setting) Get(factor string) (value string, ok bool) {
	i := slices.IndexFunc(s, func(l Level) bool { return l.Factor == factor })
	if i < 0 {
		return "", false
	}
	return s[i].Value, true
}

// Asked returns the settings of the Go runtime that a trial's plan asks for. Values that the runtime ignores
// are left out, since the program decides then.
func (t *Trial) Asked() (s Setting) {
	if !t.Subject.Launched() {
		return nil
	}
	for _, name := range inForce {
		value := t.Subject.Env[name]
		for arg, v := range t.Subject.Arg {
			value = strings.ReplaceAll(value, "{{.arg."+arg+"}}", v)
		}
		if l := (Level{name, value}); value != "" && value[0] != '+' && RuntimeTakes(l) {
			s = append(s, l)
		}
	}
	return s
}

// Overridden returns the settings that were asked for and are not in force. Sources are in the order of
// trust, see Seen.By: the first that knows a setting is believed. The first of several observations does not
// count, since a program may set what it likes until it is ready.
func Overridden(asked Setting, sources ...Seen) (os []Override) {
	for _, want := range asked {
		for _, src := range sources {
			var values []string
			for _, s := range src.Settings {
				if v, ok := s.Get(want.Factor); ok {
					values = append(values, v)
				}
			}
			if len(values) == 0 {
				continue
			}
			later := values[min(len(values)-1, 1):]
			if slices.ContainsFunc(later, func(v string) bool { return !same(want.Factor, want.Value, v) }) {
				os = append(os, Override{Name: want.Factor, Asked: want.Value, InForce: slices.Compact(values), By: src.By})
			}
			break
		}
	}
	return os
}

// same reports whether the Go runtime takes two values of a variable for one.
func same(name, a, b string) bool {
	return normal(name, a) == normal(name, b)
}

// normal writes a value that the runtime takes in one way: readGOGC and readGOMEMLIMIT of
// runtime/mgcpacer.go. GOMAXPROCS has no most (runtime/proc.go, procresize).
func normal(name, value string) string {
	if name == "GOMEMLIMIT" {
		if n, err := ParseSize(value); err == nil && value != NoLimit && n < math.MaxInt64 {
			return n.String()
		}
		return "off"
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return "off"
	}
	return strconv.FormatInt(n, 10)
}
