package leak

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/google/pprof/profile"
	"gonum.org/v1/gonum/mathext"
)

// A LeakSite is a line of the subject's own that leaks: it allocates, by itself or by what
// it calls, or goroutines wait at it. Rates are in bytes or goroutines; NaN if not known.
type LeakSite struct {
	Func    string
	File    string // as the profile has it
	Line    int    // 0 if nothing of the subject's own is on the stack
	PerHour float64
	Lo, Hi  float64 // of PerHour, 95 % interval from the profile's sampling; NaN of goroutines, which are counted
	Per     float64 // 1,000 requests
	Stuck   float64 // goroutines after the window that nothing can wake; 0 if not asked for
}

type place struct {
	name, file string
	line       int
}

// A tally is what two profiles of one trial have at one place, in samples or goroutines.
type tally struct {
	place
	before, after float64 // alive
	born          float64 // of heaps: allocated between them, freed ones included
	grew          float64 // bytes or goroutines
	squares       float64 // of what each sample stands for, in bytes, times the samples
	period        float64 // of heaps: bytes a sample
	stuck         float64
}

const (
	// siteAlpha bounds the chance that sampling names any line that does not grow.
	siteAlpha = 0.001
	// leastGrown is how many samples or goroutines more a line must have.
	leastGrown = 3
	// leastOfGrown is the least share of the goroutines that came: fewer come and go.
	leastOfGrown = 0.1
)

// heapTallies are the differences of two heap profiles: what is alive, and what was allocated.
func heapTallies(before, after *profile.Profile) []tally {
	if before == nil || after == nil {
		return nil
	}
	taken := []profiles.Profiled{{Block: 1, Requests: 1, Profile: before}, {Block: 2, Requests: 1, Profile: after}}
	inuse, err := profiles.New("heap", taken, nil)
	if err != nil {
		return nil // of another program's making
	}
	allocs, err := profiles.New("allocs", taken, nil)
	if err != nil {
		return nil
	}
	rate := float64(after.Period)
	if rate <= 0 {
		rate = 512 << 10
	}
	return tallied(func(at func(place) *tally) {
		of, born := inuse.Charges(""), allocs.Charges("")
		for i, sign := range []float64{-1, 1} {
			for _, c := range of[i] {
				t, n := at(placeOf(c)), sampled(c, rate)
				t.period = rate
				t.grew += sign * c.Value
				if n > 0 {
					t.squares += c.Value * c.Value / n
				}
				if sign > 0 {
					t.after += n
				} else {
					t.before += n
				}
			}
			for _, c := range born[i] {
				at(placeOf(c)).born += sign * sampled(c, rate)
			}
		}
	})
}

// sampled inverts runtime/pprof's scaleHeapSample: how many samples stand for a charge.
func sampled(c profiles.Charge, rate float64) float64 {
	if c.Count == 0 {
		return 0
	}
	return c.Count * -math.Expm1(-c.Value/c.Count/rate)
}

// goroutineTallies are the differences of two goroutine profiles, with those that are stuck.
func goroutineTallies(before, after, stuck *profile.Profile) []tally {
	if before == nil || after == nil {
		return nil
	}
	taken := []profiles.Profiled{{Block: 1, Profile: before}, {Block: 2, Profile: after}}
	if stuck != nil && len(stuck.SampleType) == 1 {
		// Its values are goroutines, too, under another name.
		taken = append(taken, profiles.Profiled{Block: 3, Profile: &profile.Profile{
			SampleType: before.SampleType, Sample: stuck.Sample, Location: stuck.Location, Function: stuck.Function,
		}})
	}
	p, err := profiles.New("goroutine", taken, nil)
	if err != nil {
		return nil
	}
	return tallied(func(at func(place) *tally) {
		for i, trial := range p.Charges("") {
			for _, c := range trial {
				switch t := at(placeOf(c)); i {
				case 0:
					t.before += c.Count
					t.grew -= c.Count
				case 1:
					t.after += c.Count
					t.grew += c.Count
				case 2:
					t.stuck += c.Count
				}
			}
		}
	})
}

// connections counts how many more goroutines of net/http wait on open connections: those
// with nothing of the subject's on their stacks.
func connections(ts []tally) float64 {
	i := slices.IndexFunc(ts, func(t tally) bool { return t.name == "net/http.(*conn).serve" && t.line == 0 })
	if i < 0 {
		return 0
	}
	return max(0, ts[i].grew)
}

func placeOf(c profiles.Charge) place { return place{c.Func, c.File, c.Line} }

func tallied(add func(at func(place) *tally)) []tally {
	by := map[place]*tally{}
	add(func(p place) *tally {
		if by[p] == nil {
			by[p] = &tally{place: p}
		}
		return by[p]
	})
	var ts []tally
	for _, t := range by {
		ts = append(ts, *t)
	}
	slices.SortFunc(ts, func(a, b tally) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return ts
}

func pooled(of [][]tally) []tally {
	return tallied(func(at func(place) *tally) {
		for _, ts := range of {
			for _, t := range ts {
				sum := at(t.place)
				sum.before += t.before
				sum.after += t.after
				sum.born += t.born
				sum.grew += t.grew
				sum.squares += t.squares
				sum.stuck += t.stuck
				sum.period = t.period
			}
		}
	})
}

// turnover bounds how many samples came and stayed, and how many of those before went.
func (t *tally) turnover() (came, went float64) {
	came = max(0, min(t.born, t.after))
	return came, max(0, came-(t.after-t.before))
}

// heapSites are the lines that surely grow, the greatest first. The heap grew by exactly so
// many bytes between the profiles, NaN if not known. enough is how many samples would have
// been called growth, had none gone.
func heapSites(ts []tally, hours float64, requests int64, bytes float64) (sites []LeakSite, enough float64) {
	tested, grew, noise := 0.0, 0.0, 0.0
	for i := range ts {
		t := &ts[i]
		grew += t.grew
		noise += t.variance()
		if came, went := t.turnover(); came+went > 0 {
			tested++
		}
	}
	surely := func(came, went, absent float64) bool { return chance(came, went, absent)*tested < siteAlpha }
	for i := range ts {
		t := &ts[i]
		came, went := t.turnover()
		if t.after-t.before < leastGrown-0.5 || t.grew <= 0 || t.probe() || !surely(came, went, absent(bytes, grew-t.grew, noise-t.variance(), t.period)) {
			continue
		}
		half := 1.96 * math.Sqrt(t.variance())
		sites = append(sites, LeakSite{
			Func: t.name, File: t.file, Line: t.line, PerHour: t.grew / hours,
			Lo: (t.grew - half) / hours, Hi: (t.grew + half) / hours, Per: perThousand(t.grew, requests),
		})
	}
	alone := func(n float64) float64 { // with n samples of the leak, and nothing else
		if math.IsNaN(bytes) {
			return 1
		}
		return math.Exp(-n)
	}
	for enough = leastGrown; tested > 0 && !surely(enough, 0, alone(enough)); {
		enough++
	}
	return greatest(sites), enough
}

// variance of grew, that sampling gives, in bytes squared.
func (t *tally) variance() float64 {
	came, went := t.turnover()
	if came+went == 0 {
		return 0
	}
	return (came + went) * t.squares / (t.before + t.after)
}

// chance is that of a line that does not grow to look as if it did. If it allocates as much
// as it frees, each sample comes or goes by a coin. absent is the independent chance that
// the growth is elsewhere and was not sampled. The product k of two independent p is as
// small with k(1-ln k) (Fisher); the better of two tests counts twice.
func chance(came, went, absent float64) float64 {
	p := heads(came, came+went)
	if k := p * absent; k > 0 {
		return 2 * min(p, k*(1-math.Log(k)))
	}
	return 2 * p
}

// absent is the chance that the profiles show no more than elsewhere of a growth of so many
// bytes. Small objects are sampled the least: Poisson, of a period each. What comes and
// goes adds noise, as if a sample stood for more.
func absent(bytes, elsewhere, noise, period float64) float64 {
	if !(bytes > 0) {
		return 1
	}
	each := period + noise/bytes
	return mathext.GammaIncRegComp(max(0, elsewhere/each)+1, bytes/each)
}

func (t *tally) probe() bool { return strings.Contains(t.name, "dynoProbe") }

// heads is the chance that of n coins k or more show heads.
func heads(k, n float64) float64 {
	k, n = math.Round(k), math.Round(n)
	if k <= 0 {
		return 1
	}
	return mathext.RegIncBeta(k, n-k+1, 0.5)
}

// goroutineSites are the lines at which more goroutines wait than before.
func goroutineSites(ts []tally, hours float64, requests int64) []LeakSite {
	all := 0.0
	for i := range ts {
		all += max(0, ts[i].grew)
	}
	var sites []LeakSite
	for i := range ts {
		if t := &ts[i]; t.grew >= max(leastGrown, leastOfGrown*all) && !t.probe() {
			sites = append(sites, LeakSite{
				Func: t.name, File: t.file, Line: t.line, PerHour: t.grew / hours, Lo: math.NaN(), Hi: math.NaN(),
				Per: perThousand(t.grew, requests), Stuck: t.stuck,
			})
		}
	}
	return greatest(sites)
}

func perThousand(v float64, requests int64) float64 {
	if requests == 0 {
		return math.NaN()
	}
	return v / float64(requests) * 1000
}

func greatest(sites []LeakSite) []LeakSite {
	slices.SortStableFunc(sites, func(a, b LeakSite) int { return cmp.Compare(b.PerHour, a.PerHour) })
	return sites
}
