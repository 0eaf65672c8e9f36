package dyno

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Where it can be, the subjects of a block run side by side: all are launched, and the load
// goes to one after the other in turns of 200 ms. So both sides of a
// comparison meet the same machine. doc/method/turns.md, "Side by side", has what it does to metrics.

// Defaults and bounds of blocks side by side.
const (
	DefaultTurn   = Duration(200 * time.Millisecond)
	DefaultWithin = Duration(2 * time.Minute)
	MostBlocks    = 40 // of a run that decides itself how many it takes

	// DefaultBeside is how long a load in turns lasts that has no end of its own. It is shorter
	// than DefaultDuration as launches differ more than windows do, and more of them tell more.
	DefaultBeside = Duration(3 * time.Second)

	// FewTurns is what a load has at least, unless its turns would be shorter than ShortTurn: what
	// disturbs a machine meets few turns unevenly, and too short ones are cold for most of their time.
	FewTurns  = 15
	ShortTurn = Duration(50 * time.Millisecond)

	mostBeside = 16 // settings
)

// Ended says why a run compared fewer blocks than its plan has.
type Ended string

const (
	EndedDecided Ended = "decided" // its primary verdicts are
	EndedTime    Ended = "time"    // another block would have taken longer than Within
)

// Sequential reports whether a run decides itself how many blocks it takes: until the
// primary verdicts are decided or the time is up.
func (e *Experiment) Sequential() bool {
	return e.Repeats == 0 && e.Compares()
}

// Compares reports whether there are several settings, each with launches of its own.
func (e *Experiment) Compares() bool {
	return e.Bench == nil && e.Slice == 0 && e.Subject.Launched() && len(e.Levels()) > 1
}

// WhyAlone reports whether the subjects of a block run side by side. If they cannot, why says the
// reason and the cure; it is "" if side by side does not apply.
func (e *Experiment) WhyAlone() (why string, beside bool) {
	settings := len(e.Levels())
	switch {
	case !e.Compares() || e.Alone || e.Load.None:
		return "", false
	case e.Load.Command != "":
		return "the load is a command, which cannot take turns (consider: dyno's own load)", false
	case e.mixed():
		return "only some settings have an open load, whose turns follow the clock (consider: load.rate for all)", false
	case e.Subject.Addr != "" && !strings.Contains(e.Subject.Addr, "{{"):
		return fmt.Sprintf("the subject has a fixed address, %s, which two cannot share (consider: {{.Port}} for its port, in addr and in the arguments)", e.Subject.Addr), false
	case e.Probes.elsewhere() != "":
		return fmt.Sprintf("probes.%s at a fixed address reads one process only (consider: a path of the service)", e.Probes.elsewhere()), false
	case settings > mostBeside:
		return fmt.Sprintf("%d settings are too many to run at the same time (want at most %d)", settings, mostBeside), false
	case e.resetsShared() != "":
		return fmt.Sprintf("need %s is reset for each launch, while others use it (consider: per: launch)", e.resetsShared()), false
	case e.Limits.CPU > 0 || e.Varies("limit.cpu"):
		why = "a CPU limit is a share of the time, which a resting setting does not use"
		if e.wholeCPUs() {
			why += " (consider: GOMAXPROCS instead of limit.cpu)"
		}
		return why, false
	case e.longest() >= LeakWindow: // see looksForLeaks
		return fmt.Sprintf("windows of %v and longer look for leaks, which needs an uninterrupted load (consider: a shorter duration)", LeakWindow), false
	}
	return "", true
}

// resetsShared returns a need that the settings of a block share, and whose state a reset takes from all of them; "" if
// there is none.
func (e *Experiment) resetsShared() string {
	for _, name := range slices.Sorted(maps.Keys(e.Needs)) {
		if need := e.Needs[name]; len(need.Reset) > 0 && !need.Books() {
			return name
		}
	}
	return ""
}

// wholeCPUs reports whether all CPU limits are of whole CPUs, which GOMAXPROCS can stand for.
func (e *Experiment) wholeCPUs() bool {
	limits := []CPUs{e.Limits.CPU}
	for _, s := range e.Levels() {
		if i := slices.IndexFunc(s, func(l Level) bool { return l.Factor == "limit.cpu" }); i >= 0 {
			c, _ := ParseCPUs(s[i].Value) // 0 is none
			limits = append(limits, c)
		}
	}
	return !slices.ContainsFunc(limits, func(c CPUs) bool { return c != CPUs(int(c)) })
}

// mixed reports whether some settings have an open load, and some a closed one.
func (e *Experiment) mixed() bool {
	rates := e.rates()
	return len(rates) > 0 && len(rates) < len(e.Levels()) && !e.Load.Open()
}

// rates are those that settings have of their own.
func (e *Experiment) rates() (rates []Rate) {
	for _, s := range e.Levels() {
		for _, l := range s {
			if l.Factor == "load.rate" {
				r, _ := ParseRate(l.Value) // a mistake is for package plan/check to tell
				rates = append(rates, r)
			}
		}
	}
	return rates
}

// longest is the longest window of a setting; 0 if it is a number of requests.
func (e *Experiment) longest() Duration {
	longest := e.Load.Resolved().Duration
	if l := e.Load; l.Requests+l.RequestsPerClient == 0 && l.Duration == 0 {
		if e.Varies("load.speed") { // the plan's own is that of no setting
			longest = 0
		}
		for _, s := range e.Levels() {
			t := Trial{Load: l}
			for _, level := range s {
				if level.Factor == "load.rate" || level.Factor == "load.speed" {
					_ = t.apply(level) // a mistake is for package plan/check to tell
				}
			}
			longest = max(longest, Duration(t.Load.Length()))
		}
	}
	return longest
}

// EachTurn is how long a turn is, as far as the plan says how long the load is.
func (e *Experiment) EachTurn() Duration {
	l := e.load()
	switch length := cmp.Or(l.Duration, Duration(l.Length())); {
	case e.Turn > 0:
		return e.Turn
	case length > 0:
		turn := time.Duration(length / FewTurns).Truncate(10 * time.Millisecond) // which is said
		return min(DefaultTurn, max(Duration(turn), ShortTurn))
	default:
		return DefaultTurn
	}
}

// load is the load of the plan, with an end if only turns decide it.
func (e *Experiment) load() Load {
	l := e.Load
	if l.Requests+l.RequestsPerClient > 0 || l.Duration > 0 || l.Length() > 0 || e.Varies("load.rate") {
		return l
	}
	if _, beside := e.WhyAlone(); beside {
		l.Duration = DefaultBeside
	}
	return l
}

// elsewhere is the key of a probe that reads a URL of its own; "" if none does.
func (p *Probes) elsewhere() string {
	for _, at := range []struct{ key, url string }{{"expvar", p.Expvar}, {"prometheus", p.Prometheus}, {"pprof", p.Pprof}} {
		if at.url != "" && !strings.HasPrefix(at.url, "/") {
			return at.key
		}
	}
	return ""
}
