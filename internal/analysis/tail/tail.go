// Package tail says what the slowest requests have to do with collections: how many
// met one, against chance.
//
// It is handed requests and collections, and reads no files.
package tail

import (
	"iter"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

// A Trial is what the slowest successful requests of one trial have to do with collections.
// A request met one if neither was over before the other began.
type Trial struct {
	Requests int64
	Slow     int64 // of them, that took longer than p99

	// Shares of requests that met a collection. By chance, the slowest meet more
	// of them than others, as they take longer.
	Met        float64 // of all
	SlowMet    float64 // of the slow; this and the next are NaN if no request is slow
	SlowChance float64 // of the slow, had the collections come at any other time

	// In seconds; P99Clear of the requests that met no collection, NaN below 100 of
	// them. P99Chance is what it would be had the collections come at any other time.
	P99, P99Clear, P99Chance float64

	Stopped float64 // share of the window in stop-the-worlds
	StopMet float64 // share of requests that met one
}

// leastTail is of how many requests one is the slowest 1 %.
const leastTail = 100

// New reads the requests of a trial twice, all or a uniform sample, and holds them against
// its collections. It is nil for fewer than 100. The error is the sequence's.
func New(times iter.Seq2[dyno.Times, error], cs []dyno.Collection) (*Trial, error) {
	all := hist.New()
	window := time.Duration(0)
	for t, err := range times {
		if err != nil {
			return nil, err
		}
		for i, done := range t.Done {
			window = max(window, time.Duration(done))
			if t.Failed == nil || !t.Failed[i] {
				all.Add(time.Duration(done - t.Due[i]))
			}
		}
	}
	if all.Count() < leastTail {
		return nil, nil
	}
	gc, stw := newSpans(UnderWay(cs), window), newSpans(Stops(cs), window)
	p99 := all.Quantile(0.99)
	t := &Trial{Requests: all.Count(), P99: p99.Seconds(), Stopped: stw.share()}
	var met, slowMet, stopMet int64
	chance, clear := 0.0, hist.New()
	for ts, err := range times {
		if err != nil {
			return nil, err
		}
		for i := range ts.Done {
			if ts.Failed != nil && ts.Failed[i] {
				continue
			}
			due, done := time.Duration(ts.Due[i]), time.Duration(ts.Done[i])
			took, meets := done-due, gc.meets(due, done)
			if meets {
				met++
			} else {
				clear.Add(took)
			}
			if stw.meets(due, done) {
				stopMet++
			}
			if took > p99 {
				t.Slow++
				chance += gc.chance(took)
				if meets {
					slowMet++
				}
			}
		}
	}
	n := float64(t.Requests)
	t.Met, t.StopMet = float64(met)/n, float64(stopMet)/n
	t.SlowMet, t.SlowChance = float64(slowMet)/float64(t.Slow), chance/float64(t.Slow)
	t.P99Clear, t.P99Chance = math.NaN(), clearByChance(all, gc)
	if clear.Count() >= leastTail {
		t.P99Clear = clear.Quantile(0.99).Seconds()
	}
	return t, nil
}

// Split parts the successful requests of a trial by their latency into those that met a collection and
// those that met none. The error is the sequence's.
func Split(times iter.Seq2[dyno.Times, error], cs []dyno.Collection) (met, clear *hist.Histogram, err error) {
	met, clear = hist.New(), hist.New()
	gc := newSpans(UnderWay(cs), math.MaxInt64/2)
	for ts, err := range times {
		if err != nil {
			return nil, nil, err
		}
		for i := range ts.Done {
			if ts.Failed != nil && ts.Failed[i] {
				continue
			}
			due, done := time.Duration(ts.Due[i]), time.Duration(ts.Done[i])
			if gc.meets(due, done) {
				met.Add(done - due)
			} else {
				clear.Add(done - due)
			}
		}
	}
	return met, clear, nil
}

// clearByChance is the 99th percentile of latency, in seconds, with each request weighed by
// its chance to meet no collection; NaN if it has none.
func clearByChance(all *hist.Histogram, gc *spans) float64 {
	bars := all.Counts().Distribution()
	weight, sum := make([]float64, len(bars)), 0.0
	for i, b := range bars {
		if b.Count > 0 {
			weight[i] = float64(b.Count) * (1 - gc.chance(time.Duration(b.To)))
			sum += weight[i]
		}
	}
	left := 0.99*sum - 1e-9
	for i, w := range weight {
		if left -= w; left <= 0 && sum > 0 {
			return min(time.Duration(bars[i].To), all.Max()).Seconds()
		}
	}
	return math.NaN()
}

// A Setting is the tails of the trials of one setting that count.
type Setting struct {
	Trials     int        `json:"trials"`
	Requests   int64      `json:"requests"` // of all trials
	Met        stats.Mean `json:"met-frac"`
	SlowMet    stats.Mean `json:"slow-met-frac"`
	SlowChance stats.Mean `json:"slow-chance-frac"`
	Excess     stats.Mean `json:"excess-frac"` // SlowMet - SlowChance, trial by trial
	P99        stats.Mean `json:"p99-sec"`
	P99Clear   stats.Mean `json:"p99-clear-sec"`
	P99Chance  stats.Mean `json:"p99-chance-sec"`
	Stopped    stats.Mean `json:"stw-frac"`
	StopMet    stats.Mean `json:"stw-met-frac"`
	Verdict    Verdict    `json:"verdict,omitempty"`
}

// A Verdict says whether collections make requests slow.
type Verdict string

// The verdicts. A single trial has no verdict: "".
const (
	InTail    Verdict = "yes"     // the slowest meet more collections than by chance, by leastExcess or more, and that is no chance itself
	NotInTail Verdict = "no"      // they do not, or by less than leastExcess
	Unclear   Verdict = "unclear" // the trials are too few, or differ too much, or collections are hardly ever over
)

// leastExcess is the least share of the slowest that is worth to be explained by collections.
const leastExcess = 0.05

// Of puts the tails of a setting's trials together; nil if no trial has one.
func Of(rs []*dyno.Result, of map[int]*Trial) *Setting {
	s := &Setting{}
	var ts []*Trial
	slow := int64(0)
	for _, r := range rs {
		if t := of[r.Trial.N]; t != nil && dyno.Counts(r, "p99-sec") {
			ts = append(ts, t)
			s.Requests += t.Requests
			slow += t.Slow
		}
	}
	if s.Trials = len(ts); s.Trials == 0 {
		return nil
	}
	estimate := func(f func(t *Trial) float64) stats.Mean {
		var vs []float64
		for _, t := range ts {
			vs = append(vs, f(t))
		}
		return stats.MeanOf(vs)
	}
	share := func(f func(t *Trial) float64) stats.Mean {
		e := estimate(f)
		e.Lo, e.Hi = max(e.Lo, 0), min(e.Hi, 1)
		return e
	}
	s.Met = share(func(t *Trial) float64 { return t.Met })
	s.SlowMet = share(func(t *Trial) float64 { return t.SlowMet })
	s.SlowChance = share(func(t *Trial) float64 { return t.SlowChance })
	s.Excess = estimate(func(t *Trial) float64 { return t.SlowMet - t.SlowChance })
	s.P99 = estimate(func(t *Trial) float64 { return t.P99 })
	s.P99Clear = estimate(func(t *Trial) float64 { return t.P99Clear })
	s.P99Chance = estimate(func(t *Trial) float64 { return t.P99Chance })
	s.Stopped = share(func(t *Trial) float64 { return t.Stopped })
	s.StopMet = share(func(t *Trial) float64 { return t.StopMet })
	s.Verdict = verdictOf(s.Excess, s.SlowChance.Mean, slow)
	return s
}

// verdictOf judges what the slowest have above chance. Few slow requests are alike by luck,
// which makes their interval too narrow. So the excess must be more than as many coins
// give, and a no takes 3/leastExcess of them: of fewer, none at all may meet one (95 %).
func verdictOf(e stats.Mean, chance float64, slow int64) Verdict {
	n := float64(slow)
	coins := 2*math.Sqrt(max(0, chance*(1-chance))/n) + 0.5/n
	switch {
	case math.IsNaN(e.Lo):
		return ""
	case chance > 1-leastExcess: // no request can meet more
		return Unclear
	case e.Lo > 0 && e.Mean >= max(leastExcess, coins):
		return InTail
	case e.Hi < leastExcess && (chance == 0 || n >= 3/leastExcess): // chance 0: no collections
		return NotInTail
	}
	return Unclear
}
