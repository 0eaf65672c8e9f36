package tune

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
)

// A Schedule says how long stages take.
type Schedule struct {
	Total    time.Duration // of all stages
	Headroom bool          // there is a stage for it
	Spent    time.Duration // in stages that are over
}

// The shares of the whole time that stages take, and what headroom leaves of it.
const (
	todayShare     = 0.14
	candidateShare = 0.62
	withHeadroom   = 0.65
)

// Bounds of a launch's load where the plan gives none.
const (
	longestToday = 20 * time.Second
	longestTurns = 3 * time.Second
	shortest     = 600 * time.Millisecond
	aroundLaunch = 300 * time.Millisecond // that a launch and its end take
)

// shortTotal is the time in which two candidates are enough, since three would have too few blocks each.
const shortTotal = 90 * time.Second

// Settings is how many settings of the collector the first round has.
func (s *Schedule) Settings() int {
	if s.Total < shortTotal {
		return 2
	}
	return 3
}

// Most is how long a stage may take.
func (s *Schedule) Most(stage Stage) time.Duration {
	total := s.Total
	if s.Headroom {
		total = time.Duration(float64(total) * withHeadroom)
	}
	part := func(share float64) time.Duration { return time.Duration(share * float64(total)) }
	most := s.Total - s.Spent
	switch stage {
	case StageToday:
		most = part(todayShare)
	case StageCandidates:
		most = min(part(candidateShare), total-s.Spent)
	case StageMore:
		most = total - s.Spent
	}
	return max(most, time.Second).Truncate(100 * time.Millisecond)
}

// Common is what the plans of all stages have in common: e without its settings, and without trials that compare nothing.
func Common(e *dyno.Experiment) *dyno.Experiment {
	p := *e
	p.Factors, p.Settings, p.More, p.Repeats, p.Within = nil, nil, nil, 0, 0
	p.Profile, p.ProfileRepeats, p.Trace, p.WhySlow, p.TraceRepeats, p.Memory, p.Thresholds = nil, 0, 0, false, 0, new(bool), nil
	p.Load.Idle = 0
	return &p
}

// Plan is the plan of a stage. A load that has no end of its own gets one that leaves time for enough blocks.
func (s *Schedule) Plan(common *dyno.Experiment, p *Problem, stage Stage, settings []dyno.Setting) *dyno.Experiment {
	e := *common
	e.Name += " " + string(stage)
	e.Settings = settings
	within := s.Most(stage)
	e.Within = dyno.Duration(within)
	launches, longest := 12*len(settings), longestTurns
	switch stage {
	case StageToday:
		e.Repeats, launches, longest = 2, 2, longestToday
	case StageHeadroom:
		e.Repeats, launches = 6, 4*len(settings)
	default:
		e.Thresholds = p.Limits()
	}
	if l := &e.Load; l.Requests+l.RequestsPerClient == 0 && l.Duration == 0 && l.Length() == 0 {
		one := within*9/10/time.Duration(launches) - aroundLaunch - time.Duration(l.Warmup) // a slow machine takes longer around a launch
		l.Duration = dyno.Duration(max(min(one, longest), shortest).Truncate(100 * time.Millisecond))
	}
	return &e
}

// Procs returns the values of GOMAXPROCS to try, from today's value, the CPUs of the machine and the CPU
// limit: half of it, and the limit.
func Procs(told string, cpus int, limit dyno.CPUs) (ns []int) {
	now := cpus
	if n, err := strconv.Atoi(told); err == nil && n > 0 {
		now = n
	}
	for _, n := range []int{now / 2, int(math.Ceil(float64(limit)))} {
		if n >= 1 && n != now && !slices.Contains(ns, n) {
			ns = append(ns, n)
		}
	}
	return ns
}

// BallastEnv is the variable by which the injected probe makes the live heap larger, in bytes.
const BallastEnv = "DYNO_BALLAST"

// Cases are other days than the plan's: half and double its load, and live heaps that are larger than the measured one, in bytes;
// NaN if that is not known.
func Cases(e *dyno.Experiment, live float64) (cases []Case) {
	load := e.Load.Resolved()
	scaled := func(kind CaseKind, by float64) {
		l := dyno.Level{Factor: "load.concurrency", Value: strconv.Itoa(max(int(math.Round(float64(load.Concurrency)*by)), 1))}
		switch {
		case load.Replay != "":
			l = dyno.Level{Factor: "load.speed", Value: strconv.FormatFloat(load.Pace()*by, 'g', -1, 64)}
		case load.Rate.Open():
			rate := make(dyno.Rate, len(load.Rate))
			for i, s := range load.Rate {
				rate[i] = dyno.Stage{From: s.From * by, To: s.To * by, Over: s.Over}
			}
			l = dyno.Level{Factor: "load.rate", Value: rate.String()}
		}
		cases = append(cases, Case{kind, dyno.Setting{l}})
	}
	if load.Open() || load.Concurrency > 1 {
		scaled(HalfLoad, 0.5)
	}
	scaled(DoubleLoad, 2)
	if math.IsNaN(live) {
		return cases
	}
	larger := func(kind CaseKind, share float64) {
		cases = append(cases, Case{kind, dyno.Setting{{Factor: BallastEnv, Value: strconv.FormatInt(int64(share*live), 10)}}})
	}
	larger(Live25, 0.25)
	larger(Live50, 0.5)
	return cases
}

// PGO is a build with the CPU profile in a file.
func PGO(path string) dyno.Setting {
	return dyno.Setting{{Factor: "build", Value: "-pgo=" + path}}
}
