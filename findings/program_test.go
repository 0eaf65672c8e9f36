package findings

import (
	"testing"

	"github.com/dynolab/dyno"
)

// A comparison of a program with itself is said to be one, unless something else is varied.
func TestOneProgram(t *testing.T) {
	setting := func(levels ...string) (s dyno.Setting) {
		for i := 0; i < len(levels); i += 2 {
			s = append(s, dyno.Level{Factor: levels[i], Value: levels[i+1]})
		}
		return s
	}
	for _, c := range []struct {
		other dyno.Setting
		sum   string
		want  int
	}{
		{setting("rev", ".", "GOGC", "100"), "aa", 1},
		{setting("rev", ".", "GOGC", "100"), "bb", 0},
		{setting("rev", ".", "GOGC", "100"), "", 0},
		{setting("rev", "main", "GOGC", "50"), "aa", 0},
		{setting("rev", ".", "GOGC", "50"), "aa", 0},
	} {
		e := &dyno.Experiment{Settings: []dyno.Setting{setting("rev", "main", "GOGC", "100"), c.other}}
		ds := oneProgram(e, []*dyno.Result{
			{Trial: dyno.Trial{Setting: e.Settings[0]}, Sum: "aa"}, {Trial: dyno.Trial{Setting: c.other}, Sum: c.sum},
		})
		if len(ds) != c.want {
			t.Errorf("%s with the program %q: %+v", c.other, c.sum, ds)
		}
	}
	for _, factor := range []string{"GOEXPERIMENT", "GOAMD64", "CGO_ENABLED", "GOFLAGS", "go", "build"} {
		if !dyno.DifferInBuild(setting(factor, ""), setting(factor, "x")) {
			t.Errorf("%s is not of the build", factor)
		}
	}
}
