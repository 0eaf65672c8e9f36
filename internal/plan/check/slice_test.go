package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
)

func TestSlicesMistakes(t *testing.T) {
	for want, change := range map[string]func(e *dyno.Experiment){
		"too short":           func(e *dyno.Experiment) { e.Slice = 1 },
		"one factor":          func(e *dyno.Experiment) { e.Factors[0].Name = "GODEBUG" },
		"at least two levels": func(e *dyno.Experiment) { e.Factors[0].Levels = []string{"100"} },
		"of one process": func(e *dyno.Experiment) {
			e.Factors = append(e.Factors, dyno.Factor{Name: "GOMAXPROCS", Levels: []string{"1", "2"}})
		},
		"slices of one process have one factor":  func(e *dyno.Experiment) { e.Factors = nil },
		"x.bin has none":                         func(e *dyno.Experiment) { e.Subject = dyno.Subject{Binary: "x.bin"} },
		"x has none":                             func(e *dyno.Experiment) { e.Subject.NoInject = true },
		"no profile":                             func(e *dyno.Experiment) { e.Profile = []string{"cpu"} },
		"not a command":                          func(e *dyno.Experiment) { e.Load.Command = "wrk" },
		"as long as the slices, 3m14s":           func(e *dyno.Experiment) { e.Load.Duration = 1e9 },
		"requests and duration out":              func(e *dyno.Experiment) { e.Load.Requests = 5 },
		"idle has no meaning":                    func(e *dyno.Experiment) { e.Load.Idle = 1 },
		`bad level "" of GOGC`:                   func(e *dyno.Experiment) { e.Factors[0].Levels[1] = "" },
		`GOGC=x: the Go runtime does not accept`: func(e *dyno.Experiment) { e.Factors[0].Levels[1] = "x" },
		`bad level "100" of probes`:              func(e *dyno.Experiment) { e.Factors[0].Name = "probes" },
		"settings alone":                         func(e *dyno.Experiment) { e.Settings = []dyno.Setting{{{Factor: "GOGC", Value: "5"}}} },
	} {
		e := &dyno.Experiment{
			Name: "x", Subject: dyno.Subject{Package: "x"}, Slice: dyno.Duration(2 * time.Second),
			Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		}
		change(e)
		var mistake *dyno.PlanError
		if err := check.Experiment(e); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
