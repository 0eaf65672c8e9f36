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
	// pressureLimit is the share of one CPU that all who rest may use together, late in their rests: they take it from
	// the one whose turn it is. p99 is what 1 % of the requests take, so less than 1 % of the time has to be disturbed.
	// Services without background work have up to 0.06 % (doc/method/turns.md).
	pressureLimit = 0.01
	// workLimit is that of one: by so much one setting meets more than another.
	workLimit = 0.005
	// doubtLimit is the share of a subject's CPU time of which it is not known whether requests caused it, or time.
	doubtLimit = 0.015
	// lingerLimit is how much of its CPU time a subject may use right after its turns: by so much it may be charged too much
	// if that is work that goes on while requests come. Collections are 1 % (sessions at GOGC=50, alloc at GOGC=25).
	lingerLimit = 0.03
	// QuietTime is how long all subjects of a first block are ready and nobody is loaded, and QuietTries how often that is, at most.
	QuietTime  = 500 * time.Millisecond
	QuietTries = 4
	// leastRest is for how long rests have to be seen before they are judged: CPU clocks are exact, and bursts are not even.
	leastRest = time.Second
)

// Reading is the CPU time that a subject spends on a reading of its probes, in seconds. Measured: 0.1 to 0.2 ms in a service at 20
// requests a second, half of what else it did in its rests.
const Reading = 0.0003

// Known is what is known of what settings do without requests, over all blocks. The zero value knows nothing.
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

// Quiet notes the CPU time per second of a setting while nobody is loaded, and reports whether it is too much: a service may
// go on getting ready for a while, so it is given a few tries, of which the last counts.
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

// Timed is the CPU time per second that time causes in a setting, as far as it is known: late in rests, of which r are
// the last, and before any load or by probes.
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
