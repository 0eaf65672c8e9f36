package slow

import (
	"maps"
	"math"
	"slices"
)

// How long requests ran is known by events, on which lines by samples, 100 a second of running.
const (
	fewSamples = 5   // less say nothing of a line
	ranShare   = 0.5 // of a change of running, that a function has to be named
	mostShare  = 1.5 // more is not the change, as another function has the opposite
	enoughNear = 30  // samples near the percentile; with less, those of typical requests may say it
)

func ofSlow(t *Trial) *Group    { return &t.Slow }
func ofTypical(t *Trial) *Group { return &t.Typical }
func ofBand(t *Trial) *Group    { return &t.Band }

// shares divide running of slow requests and of typical ones over lines, as the samples of all trials are. If the slow ones
// have too few, both are divided over the calls up to which they ran, so that one can be held against the other; what ended
// with none has no line.
func shares(ts []*Trial) (slow, typical map[Site]float64) {
	s, t := samplesOf(ts, ofSlow, true), samplesOf(ts, ofTypical, true)
	if s.n < fewSamples {
		return upTo(ts, ofSlow, s.mean), upTo(ts, ofTypical, t.mean)
	}
	return s.shares(), t.shares()
}

func (s sampled) shares() map[Site]float64 {
	if s.n < fewSamples {
		return map[Site]float64{{}: 1}
	}
	out := map[Site]float64{}
	for site, n := range s.bySite {
		out[site] = float64(n) / float64(s.n)
	}
	return out
}

// upTo divides running over the calls up to which it went. ran is how long a request ran, in seconds.
func upTo(ts []*Trial, of func(*Trial) *Group, ran float64) map[Site]float64 {
	out := map[Site]float64{{}: 1}
	for _, t := range ts {
		calls := of(t).Calls
		for _, site := range slices.SortedFunc(maps.Keys(calls), compareSites) {
			share := calls[site] / float64(len(ts)) / ran
			site.Before = true
			out[site] += share
			out[Site{}] -= share
		}
	}
	return out
}

// ranMore is the function that most of a change of running near the percentile is in, by the line of it that ran most, and
// how much of the change it is, in seconds. Where samples near the percentile are few, and typical requests changed by half
// as much or more, theirs say it. It has no line if samples do not tell.
func ranMore(a, b []*Trial) (line Site, in float64) {
	known := known(a, b)
	base, other := samplesOf(a, ofBand, known), samplesOf(b, ofBand, known)
	whole := other.mean - base.mean
	if line, in = moreIn(base, other, whole); line.Func != "" || base.n+other.n >= enoughNear {
		return line, atMost(in, whole)
	}
	base, other = samplesOf(a, ofTypical, known), samplesOf(b, ofTypical, known)
	if (other.mean-base.mean)*whole < ranShare*whole*whole {
		return Site{}, 0
	}
	line, in = moreIn(base, other, whole)
	return line, atMost(in, whole)
}

// atMost is x, or the whole if x is more: it is known less well.
func atMost(x, whole float64) float64 { return math.Copysign(min(math.Abs(x), math.Abs(whole)), x) }

func moreIn(base, other sampled, whole float64) (line Site, in float64) {
	all := maps.Clone(base.bySite)
	maps.Copy(all, other.bySite)
	for _, site := range slices.SortedFunc(maps.Keys(all), compareSites) {
		was, v1 := base.ran(site.Func)
		is, v2 := other.ran(site.Func)
		d, more := is-was, other
		if d < 0 {
			more = base
		}
		share, off := d/whole, math.Sqrt(v1+v2)/math.Abs(whole)
		sure := site.Func != "" && share-off >= ranShare && share >= 2*off && share <= mostShare && more.byFunc[site.Func] >= fewSamples
		switch {
		case !sure:
		case math.Abs(d) > math.Abs(in), site.Func == line.Func && more.bySite[site] > more.bySite[line]:
			line, in = site, d
		}
	}
	return line, in
}

// sampled are the samples of some requests of all trials of a setting.
type sampled struct {
	mean   float64 // seconds that a request ran
	n      int
	byFunc map[string]int
	bySite map[Site]int
}

func samplesOf(ts []*Trial, of func(*Trial) *Group, known bool) sampled {
	s := sampled{byFunc: map[string]int{}, bySite: map[Site]int{}}
	for _, t := range ts {
		g := of(t)
		g.each(known, func(k Key, mean, _ float64) {
			if k == bare {
				s.mean += mean / float64(len(ts))
			}
		})
		for site, n := range g.Samples {
			s.n += n
			s.byFunc[site.Func] += n
			s.bySite[site] += n
		}
	}
	return s
}

// ran is how long a request ran in a function, in seconds, and the variance of that. The share of k in n samples has that
// of k+1 in n+2, as all of few samples may be in one function.
func (s sampled) ran(fn string) (mean, variance float64) {
	if s.n == 0 {
		return 0, s.mean * s.mean
	}
	n, p := float64(s.n), float64(s.byFunc[fn]+1)/float64(s.n+2)
	return s.mean * float64(s.byFunc[fn]) / n, s.mean * s.mean * p * (1 - p) / n
}
