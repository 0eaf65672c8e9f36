package dyno

import (
	"cmp"
	"slices"
	"strings"
)

// A Trial is one launch of the subject under one setting. Subject and Load have the levels of the
// setting. With a Slice, a trial is a part of one launch under the first setting.
type Trial struct {
	N       int // position in the plan, from 1
	Block   int // which repeat, from 1
	Setting Setting
	Subject Subject
	Load    Load
	Probes  Probes

	Limits  Limits // of the subject's control group
	Grouped bool   // the subject has one, be it without limits, where another trial has some: so that both are accounted alike
	Leak    bool   // collections are forced just before and after the window, and the heap profiled, to see what grew

	For     string   // "", ForProfile, ForTrace, ForMemory or ForSame: its values are compared only if ""
	Profile []string // what a trial ForProfile takes
	Trace   Duration // what a trial ForTrace takes
}

// Levels lists the settings, the baseline first; of crossed factors the last changes
// fastest.
func (e *Experiment) Levels() []Setting {
	if len(e.Settings) > 0 {
		return e.Settings
	}
	settings := []Setting{nil}
	for _, f := range e.Factors {
		var next []Setting
		for _, s := range settings {
			for _, v := range f.Levels {
				next = append(next, append(slices.Clip(s), Level{f.Name, v}))
			}
		}
		settings = next
	}
	return settings
}

// Place is where a setting is among the Levels, -1 if it is not.
func (e *Experiment) Place(s Setting) int {
	name := s.String()
	return slices.IndexFunc(e.Levels(), func(l Setting) bool { return l.String() == name })
}

// Trials lists all trials of the plan; Planned counts them. The experiment must have passed package
// plan/check. Each repeat is a block of every setting. The order is random by the seed and balanced over
// blocks, so that drift affects all settings alike. Trials for a purpose come last, except those of More.
// InOrder sorts as trials are run.
func (e *Experiment) Trials() []Trial {
	settings := e.Levels()
	order := e.order(len(settings))
	var trials []Trial
	leaks := e.looksForLeaks()
	for _, p := range e.parts() {
		for block := p.after + 1; block <= p.after+p.blocks; block++ {
			for _, i := range p.settings(func() []int { return order(block) }) {
				t := e.Trial(settings[i])
				t.N, t.Block, t.For = len(trials)+1, block, p.purpose
				t.Load.Seed = e.Rand(uint64(block)).Uint64()
				switch p.purpose {
				case ForProfile:
					t.Profile = e.Profile
				case ForTrace:
					e.traced(&t)
				case ForMemory:
					t.Load = t.Load.brief()
				default:
					t.Leak = leaks
					if e.Relink != nil && *e.Relink {
						t.Subject.Layout = e.Rand(layoutStream+uint64(block)).Uint32() | 1
					}
				}
				trials = append(trials, t)
			}
		}
	}
	return trials
}

// Trial returns a trial of a setting, without its numbers and purpose. The
// experiment must have passed package plan/check.
func (e *Experiment) Trial(s Setting) Trial {
	t, err := e.Written(s)
	if err != nil {
		panic("dyno: a trial of an experiment that was not checked: " + err.Error())
	}
	t.Load = t.Load.Resolved()
	return t
}

// traced sets the length of a trial's trace. At a low rate it is longer, if the load is, so that it has enough requests.
// With WhySlow the load ends with the trace, unless it is of a number of requests, or another program's.
func (e *Experiment) traced(t *Trial) {
	l, length, rate := &t.Load, WhySlowTrace, t.Load.Rate.Max()
	if l.Recording != nil {
		rate = float64(l.Recording.Requests) / l.Length().Seconds()
	}
	if rate > 0 {
		length = max(length, Duration(min(WhySlowRequests/rate*1e9, float64(MostTrace))))
	}
	t.Trace = cmp.Or(e.Trace, min(length, cmp.Or(l.Duration, Duration(l.Length()), length)))
	if e.WhySlow {
		l.Duration, l.Idle = min(l.Duration, t.Trace), 0
	}
}

// looksForLeaks reports whether all trials can look for leaks: they are long enough, and
// collections may be forced, which GOGC=off would not allow.
func (e *Experiment) looksForLeaks() bool {
	return e.Subject.Launched() && e.Slice == 0 && !slices.ContainsFunc(e.Levels(), func(s Setting) bool {
		t, err := e.Written(s)
		gogc := t.Subject.Env["GOGC"]
		return err != nil || t.Load.Resolved().Duration < LeakWindow || gogc == "off" || strings.HasPrefix(gogc, "-")
	})
}

func (e *Experiment) givesBack() bool {
	l := e.Load.Resolved()
	if e.Memory != nil {
		return *e.Memory
	}
	return e.Subject.Launched() && e.Slice == 0 && l.Command == "" && (l.Idle > 0 || l.Duration >= LongWindow)
}

// brief is the load of a trial ForMemory, no longer than it takes to fill the heap. Stages
// of a rate and recordings stay whole: their peak may be the last.
func (l Load) brief() Load {
	if l.Length() == 0 {
		l.Duration = min(l.Duration, LongWindow)
	}
	l.Idle = Duration(l.Idle.Or(DefaultIdle))
	l.KeepRequests = "none"
	return l
}

func (e *Experiment) grouped() bool {
	return e.Limits != Limits{} || e.Varies("limit.cpu") || e.Varies("limit.memory")
}

// MostCompared is the greatest number of trials whose values are compared, without More.
// They come first.
func (e *Experiment) MostCompared() int { return len(e.Levels()) * e.parts()[0].blocks }

// Compared is the number of trials whose values are compared, 0 if the run decides how
// many it takes.
func (e *Experiment) Compared() int {
	blocks := e.Resolved().Repeats
	for _, m := range e.More {
		blocks = m.After + m.Blocks
	}
	return len(e.Levels()) * blocks
}

// Written is the trial of a setting with the load as it was written, not resolved: checks see what the user
// said.
func (e *Experiment) Written(s Setting) (Trial, *PlanError) {
	all := e.Resolved()
	t := Trial{Setting: s, Subject: all.Subject, Load: e.load(), Probes: all.Probes, Limits: e.Limits, Grouped: e.grouped()}
	t.Subject.Needs = e.Needs
	if e.Slice > 0 { // one launch, under the first level
		t.Load.Duration = e.sliced()
		s = e.Levels()[0]
	}
	for _, l := range s {
		if e.Slice > 0 && l.Factor == ProbesFactor || e.Bench != nil && l.Factor == BenchFactor {
			continue
		}
		if err := t.apply(l); err != nil {
			return t, PlanErrorf("%v", err).Of("vary", l.Factor)
		}
	}
	return t, nil
}

// PrimaryMetrics are the full names of the metrics that decide; nil if the plan names none. The experiment must have
// passed package plan/check.
func (e *Experiment) PrimaryMetrics() (names []string) {
	for _, name := range e.Primary {
		if m, err := MetricOf(ThresholdName(name), e.MetricNames()); err == nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// MostTrials is the greatest number of trials that a plan has. More results would take all memory once they are
// read.
const MostTrials = 5_000
