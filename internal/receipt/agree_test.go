package receipt

import (
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
)

func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"GOGC=50 GOMEMLIMIT=off", "GOGC=50 GOMEMLIMIT=off go=1.26.8", true},
		{"GOGC=50", "GOGC=100", false},
		{"GOGC=-1", "GOGC=off", true},
		{"GOGC=off GOMEMLIMIT=1GiB", "GOGC=off GOMEMLIMIT=1024MiB", true},
		{"GOGC=100 GOMEMLIMIT=off", "GOGC=100 GOMEMLIMIT=1GiB", false},
		{"go=go1.27.4", "go=1.27.4 GOGC=100", true},
		{"GOGC=100 rev=main", "GOGC=100 rev=fix", false},
		{"GOGC=100 rev=main", "GOGC=100", false},
		{"GOGC=100", "GOGC=100 rev=main", false},
		{"GOGC=100 dep:x=v2", "GOGC=100", false},
		{"go=1.27.4", "GOGC=100", false},
		{"GOGC=100", "go=1.27.4 GOGC=100", true},
	} {
		if got := agree(answer.SettingNamed(c.a), answer.SettingNamed(c.b).Levels); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// Each setting that agrees is judged, and says which it is. A ratio is to the one that differs in nothing else.
func TestSeveral(t *testing.T) {
	best, today := gogc("200"), gogc("100")
	r := &Receipt{Promises: []Promise{
		{Setting: best, Metric: "rss-peak-B", Interval: Interval{100, 90, 110}},
		{Setting: best, Against: &today, Metric: "rss-peak-B", Interval: Interval{1.2, 1.1, 1.3}, Truth: true},
		{Setting: best, Metric: CapacityMetric, Interval: Interval{500, 480, 520}},
	}}
	a := &After{SameMachine: true, Settings: []Measured{{Levels: best.Levels, Load: Unknown(), Values: map[string]Value{CapacityMetric: {Value: 500}}}}}
	for _, procs := range []string{"2", "4"} {
		for _, s := range []answer.Setting{today, best} {
			levels := With(slices.Clone(s.Levels), dyno.Setting{{Factor: "GOMAXPROCS", Value: procs}})
			a.Settings = append(a.Settings, Measured{Levels: levels, Load: Unknown(), Values: map[string]Value{"rss-peak-B": {Value: map[string]float64{"2": 100, "4": 200}[procs]}}})
		}
	}
	var pairs [][2]int
	a.Ratio = func(of, to int, _ string) (Value, bool) {
		pairs = append(pairs, [2]int{of, to})
		return Value{1.2, 1.19, 1.21, 5}, true
	}
	var got []string
	for _, o := range r.Against(a).Outcomes {
		got = append(got, string(o.Word)+" "+o.Ran)
	}
	two, four := "GOGC=200 GOMEMLIMIT=off GOMAXPROCS=2", "GOGC=200 GOMEMLIMIT=off GOMAXPROCS=4"
	if want := []string{"held " + two, "missed " + four, "held " + two, "held " + four, "held "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := [][2]int{{2, 1}, {4, 3}}; !slices.Equal(pairs, want) {
		t.Errorf("ratios of %v, want %v", pairs, want)
	}
}

// How much is sent, and how fast, is not what is sent.
func TestSends(t *testing.T) {
	get := func(path string) dyno.Client { return dyno.Client{Loop: []dyno.Step{{Path: path}}} }
	base := Under(&dyno.Load{Client: get("/a"), Concurrency: 4, Duration: 1e9}).Sends
	for name, c := range map[string]struct {
		load dyno.Load
		same bool
	}{
		"faster and longer": {dyno.Load{Client: get("/a"), Rate: dyno.PerSecond(100), Duration: 9e9}, true},
		"another path":      {dyno.Load{Client: get("/b"), Concurrency: 4}, false},
		"a program":         {dyno.Load{Program: "./load"}, false},
	} {
		if got := Under(&c.load).Sends; (got == base) != c.same {
			t.Errorf("%s: %s, was %s", name, got, base)
		}
	}
	if got := Under(&dyno.Load{None: true}); got.Sends != "" || got.Clients != 0 {
		t.Errorf("of what is watched the load is not known: %+v", got)
	}
}
