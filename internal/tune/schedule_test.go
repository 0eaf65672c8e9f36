package tune

import (
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// The stages together take the time that there is, and a plan's own load stays.
func TestSchedule(t *testing.T) {
	for _, headroom := range []bool{false, true} {
		s := Schedule{Total: 5 * time.Minute, Headroom: headroom}
		for _, stage := range []Stage{StageToday, StageCandidates, StageMore, StageHeadroom} {
			if stage == StageHeadroom && !headroom {
				continue
			}
			s.Spent += s.Most(stage)
		}
		if s.Spent > s.Total || s.Spent < s.Total*9/10 {
			t.Errorf("headroom %t: the stages take %v of %v", headroom, s.Spent, s.Total)
		}
	}
	e := &dyno.Experiment{Subject: dyno.Subject{Binary: "svc"}, Repeats: 9, Load: dyno.Load{Requests: 100}, Profile: []string{"cpu"}, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"1", "2"}}}}
	s := Schedule{Total: time.Minute}
	p := problem(t, "100", "", "rss_peak < 1GiB")
	plan := s.Plan(Common(e), &p, StageCandidates, []dyno.Setting{p.Today, With(p.Today, dyno.Level{Factor: "GOGC", Value: "200"})})
	if plan.Load.Duration != 0 || plan.Load.Requests != 100 || len(plan.Profile) > 0 || !plan.Sequential() || len(plan.Thresholds) != 1 {
		t.Errorf("plan %+v", plan)
	}
	e.Load.Requests = 0
	plan = s.Plan(Common(e), &p, StageCandidates, plan.Settings)
	if d := time.Duration(plan.Load.Duration); d < shortest || d > longestTurns {
		t.Errorf("a load of %v", d)
	}
}

func TestCases(t *testing.T) {
	rate, err := dyno.ParseRate("100/s")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		load dyno.Load
		live float64
		want []string
	}{
		{dyno.Load{Concurrency: 5}, math.NaN(), []string{"load.concurrency=3", "load.concurrency=10"}},
		{dyno.Load{Concurrency: 1}, 100, []string{"load.concurrency=2", "DYNO_BALLAST=25", "DYNO_BALLAST=50"}},
		{dyno.Load{Rate: rate}, math.NaN(), []string{"load.rate=50", "load.rate=200"}},
	} {
		cases := Cases(&dyno.Experiment{Load: test.load}, test.live)
		if len(cases) != len(test.want) {
			t.Errorf("%v; want %v", cases, test.want)
			continue
		}
		for i, c := range cases {
			if c.Levels.String() != test.want[i] {
				t.Errorf("%s: %s; want %s", c.Kind, c.Levels, test.want[i])
			}
		}
	}
}

func TestProcs(t *testing.T) {
	for _, test := range []struct {
		told  string
		limit dyno.CPUs
		want  []int
	}{{"", 0, []int{4}}, {"", 1.5, []int{4, 2}}, {"2", 0, []int{1}}, {"1", 0, nil}} {
		if got := Procs(test.told, 8, test.limit); len(got) != len(test.want) || len(got) > 0 && got[len(got)-1] != test.want[len(got)-1] {
			t.Errorf("%q, %v: %v; want %v", test.told, test.limit, got, test.want)
		}
	}
}
