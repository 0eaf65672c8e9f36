package rests

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Limits of what subjects may do in the turns of others. Beyond them a block does not run side by side.
const (
	// pressureLimit is the share of one CPU that all resting subjects together may use late in their rests.
	// They take it from the subject whose turn it is. p99 rests on 1 % of the requests, so less than 1 % of
	// the time may be disturbed. Services without background work use up to 0.06 % (doc/method/turns.md).
	pressureLimit = 0.01
	// workLimit is the limit of a single subject: one setting meets so much more work of others than another.
	workLimit = 0.005
	// doubtLimit is the largest share of a subject's CPU time that may have either cause: requests, or time.
	doubtLimit = 0.015
	// lingerLimit is the share of its CPU time that a subject may use right after its turns. If that is work
	// that also goes on while requests come, the subject is charged too much by this share. Collections are 1
	// % (sessions at GOGC=50, alloc at GOGC=25).
	lingerLimit = 0.03
	// QuietTime is how long all subjects of a first block are ready without a load. That is tried QuietTries
	// times at most.
	QuietTime  = 500 * time.Millisecond
	QuietTries = 4
	// leastRest is how long rests have to be seen before they are judged. CPU clocks are exact, but bursts
	// are uneven.
	leastRest = time.Second
)

// Reading is the CPU time in seconds that a subject spends on a reading of its probes. Measured: 0.1 to 0.2
// ms in a service at 20 requests a second, half of its other CPU time in its rests.
const Reading = 0.0003

// Known collects what settings do without requests, over all blocks. The zero value knows nothing.
type Known struct {
	// Probing is the CPU time per second that readings of probes take of a subject in its window. In a quiet moment there
	// are none.
	Probing float64

	mu sync.Mutex
	of map[string]*background
}

type background struct {
	quiet float64 // CPU time per second in the quiet moment
	sum   Rested
}

func (k *Known) setting(s string) *background {
	if k.of == nil {
		k.of = map[string]*background{}
	}
	if k.of[s] == nil {
		k.of[s] = new(background)
	}
	return k.of[s]
}

// Quiet notes the CPU time per second of a setting while no subject is loaded, and reports whether it is too
// much. A service may go on getting ready for a while, so there are a few tries, and the last one counts.
func (k *Known) Quiet(setting string, rate float64) (busy bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setting(setting).quiet = rate
	return rate > workLimit
}

// Add notes what a subject of a setting used in a window.
func (k *Known) Add(setting string, r Rested) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setting(setting).sum.add(r)
}

// Timed returns the CPU time per second that time causes in a setting, not requests, as far as it is known:
// late in rests, of which r is the last, and before any load or by probes.
func (k *Known) Timed(setting string, r Rested) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.setting(setting)
	r.add(x.sum)
	return min(r.Rate(), x.quiet+k.Probing)
}

// TooMuch says why the settings cannot run side by side, by what was seen of all blocks; "" if they can.
func (k *Known) TooMuch() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, least, most, who := 0.0, math.Inf(1), 0.0, ""
	for _, s := range slices.Sorted(maps.Keys(k.of)) {
		rate := k.of[s].rate()
		if k.of[s].sum.LateTime >= leastRest {
			rate = max(rate-k.Probing, 0) // readings of probes are the same for all
		}
		all, least = all+rate, min(least, rate)
		if rate > most {
			most, who = rate, s
		}
	}
	switch {
	case most > workLimit && len(k.of) > 1:
		return fmt.Sprintf("%s uses %s of a CPU without any request, and would take it from the others in their turns", who, percent(most))
	case all-least > pressureLimit && len(k.of) > 1:
		return fmt.Sprintf("the settings use %s of a CPU together without any request (%s most of it), and would take it from the one whose turn it is", percent(all), who)
	}
	for _, s := range slices.Sorted(maps.Keys(k.of)) {
		x := k.of[s]
		charged := x.sum.Own + x.sum.After
		if x.sum.LateTime < leastRest {
			continue
		}
		timed := x.quiet + k.Probing
		if doubt := (x.sum.Rate() - timed) * x.sum.Time().Seconds(); doubt > doubtLimit*charged {
			return fmt.Sprintf("%s does %s of its work long after its turns, and it is unknown whether requests or time cause that", s, percent(doubt/charged))
		}
		if lingers := x.sum.After - min(timed, x.sum.Rate())*x.sum.AfterTime.Seconds(); lingers > lingerLimit*charged {
			return fmt.Sprintf("%s does %s of its work after its turns, and it is unknown whether requests or time cause that", s, percent(lingers/charged))
		}
	}
	return ""
}

// rate is the CPU time per second of a setting that rests.
func (x *background) rate() float64 {
	if x.sum.LateTime < leastRest {
		return x.quiet
	}
	return x.sum.Rate()
}

func percent(x float64) string { return fmt.Sprintf("%.2g %%", 100*x) }
