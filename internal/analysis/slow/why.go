package slow

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/stats"
)

// A Why says where the excess of one setting's slow requests goes: what they took more than typical ones.
type Why struct {
	Quantile  float64
	Trials    []*Trial
	Preempted bool // it is known of all when the kernel kept threads off the CPU; else that is running

	Excess stats.Mean // seconds, over trials
	Lines  []Line     // the greatest first; together they are all of the excess
}

// A Line is one line of the subject where time goes.
type Line struct {
	Part          Part
	Site          Site
	Typical, Slow float64    // seconds a request
	Excess        stats.Mean // Slow less Typical, over trials
	By            []By       // the greatest first
	Joined        []Site     // lines whose requests waited for one that was at this line itself
}

// A By is a part of a line's excess.
type By struct {
	Culprit
	Excess float64 // seconds a request
}

// lineKey is a Key without its culprit.
type lineKey struct {
	part Part
	site Site
}

// Explain puts the trials of one setting together. It is nil if they have too few slow requests.
func Explain(trials []*Trial) *Why {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t *Trial) bool { return t == nil })
	matched := 0
	for _, t := range trials {
		if t.Matched {
			matched++
		}
	}
	trials = slices.DeleteFunc(trials, func(t *Trial) bool { return t.Matched != (2*matched >= len(trials)) }) // two sorts of times
	few := 0
	for _, t := range trials {
		few += t.Slow.N
	}
	if few < leastSlow {
		return nil
	}
	w := &Why{Quantile: trials[0].Quantile, Trials: trials}
	var excess []float64
	lines := map[lineKey]*Line{}
	of := map[lineKey][]float64{}
	by := map[lineKey]map[Culprit]float64{}
	n := float64(len(trials))
	w.Preempted = known(trials)
	ran := map[bool]map[Site]float64{}
	ran[true], ran[false] = shares(trials)
	for i, t := range trials {
		excess = append(excess, t.Slow.Mean-t.Typical.Mean)
		for slow, g := range map[bool]*Group{true: &t.Slow, false: &t.Typical} {
			add := func(k Key, s float64) {
				key := lineKey{k.Part, k.Site}
				l := lines[key]
				if l == nil {
					l = &Line{Part: k.Part, Site: k.Site}
					lines[key], of[key], by[key] = l, make([]float64, len(trials)), map[Culprit]float64{}
				}
				sum, sign := &l.Slow, 1.0
				if !slow {
					sum, sign = &l.Typical, -1
				}
				*sum += s / n
				of[key][i] += sign * s
				if k.By != (Culprit{}) {
					by[key][k.By] += sign * s / n
				}
			}
			g.each(w.Preempted, func(k Key, mean, _ float64) {
				if k != bare {
					add(k, mean)
					return
				}
				for site, share := range ran[slow] {
					add(Key{Part: k.Part, Site: site}, mean*share)
				}
			})
		}
	}
	w.Excess = stats.MeanOf(excess)
	join(lines, of, by)
	for key, l := range lines {
		l.Excess = stats.MeanOf(of[key])
		for c, s := range by[key] {
			l.By = append(l.By, By{c, s})
		}
		slices.SortFunc(l.By, func(a, b By) int {
			return cmp.Or(cmp.Compare(b.Excess, a.Excess), compareCulprits(a.Culprit, b.Culprit))
		})
		w.Lines = append(w.Lines, *l)
	}
	slices.SortFunc(w.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Excess.Mean, a.Excess.Mean), cmp.Compare(a.Part, b.Part), compareSites(a.Site, b.Site))
	})
	return w
}

func compareSites(a, b Site) int {
	return cmp.Or(cmp.Compare(a.Func, b.Func), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Via, b.Via), cmp.Compare(a.Op, b.Op))
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), compareSites(a.Site, b.Site), compareCulprits(a.By, b.By))
}

func compareCulprits(a, b Culprit) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), compareSites(a.Site, b.Site))
}

// most of a line's excess has one culprit: then it has the same cause, if the slow requests that were at the
// culprit's line themselves have an excess there too, of at least the share leading of the line's, and typical ones have
// not more than the share usual of what the slow have there. Else that line is what all requests do, such as their own
// turn in a pool.
const most, leading, usual = 0.8, 0.1, 0.25

// join adds lines to the line that is their cause: those who waited for a request that was itself at that line,
// such as the followers of a singleflight and their leader.
func join(lines map[lineKey]*Line, of map[lineKey][]float64, by map[lineKey]map[Culprit]float64) {
	excess := map[lineKey]float64{}
	var keys []lineKey
	for key, l := range lines {
		excess[key] = l.Slow - l.Typical
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b lineKey) int { return cmp.Or(cmp.Compare(a.part, b.part), compareSites(a.site, b.site)) })
	for _, key := range keys {
		l := lines[key]
		if excess[key] <= 0 || !key.part.Waits() {
			continue
		}
		for c, s := range by[key] {
			cause := lineKey{c.Part, c.Site}
			leader := lines[cause]
			if !c.Other || c.Site.Line == 0 || s < most*excess[key] || leader == nil || cause == key || len(by[cause]) > 0 ||
				excess[cause] < leading*excess[key] || leader.Typical > usual*leader.Slow {
				continue
			}
			leader.Slow += l.Slow
			leader.Typical += l.Typical
			leader.Joined = append(leader.Joined, key.site)
			for i, x := range of[key] {
				of[cause][i] += x
			}
			delete(lines, key)
			break
		}
	}
}

// A Change says why a percentile differs between two settings: where requests near it spend more time, or less.
// The parts add up to the change (Tasche, Euler Allocation, 2008: a quantile is the sum of the expectations of
// its parts, given that the whole is there).
type Change struct {
	Quantile float64
	Blocks   int
	At       stats.Shift // change of the percentile itself, in seconds; Adjusted is NaN
	Near     float64     // mean change of the requests near it, in seconds, which the parts add up to
	Level    float64     // mean time of the baseline's requests near it, in seconds
	Moves    []Move      // the greatest first

	Preempted bool // it is known when the kernel kept threads off the CPU; else that is running
}

// Mixed reports whether sure moves go both ways, each way by more than is left of them: then other requests are near the
// percentile than before, and what they do is no cause.
func (c *Change) Mixed() bool {
	up, down := 0.0, 0.0
	for _, m := range c.Moves {
		if m.Sure {
			up += max(m.Shift.Diff, 0)
			down += max(-m.Shift.Diff, 0)
		}
	}
	return min(up, down) > math.Abs(c.Near)
}

// A Move is what changed in one function.
type Move struct {
	Part  Part
	Func  string
	Site  Site    // the line of it that changed most; of running, the one in the function In that ran most
	In    float64 // of running: how much of it is in the function, in seconds, by few samples
	Shift stats.Shift
	Sure  bool // it is told apart from no change, and large enough to matter
	By    []By // what changed of it, in seconds
}

// Lines of different revisions have different numbers, so a move is of a function.
type moveKey struct {
	part Part
	fn   string
}

// leastShare is how much of the percentile a sure move is at least.
const leastShare = 0.02

// Compare holds two settings against each other, paired by block. It is nil below two blocks that have both.
func Compare(base, other *Why) *Change {
	if base == nil || other == nil {
		return nil
	}
	var a, b []*Trial
	for _, t := range base.Trials {
		if i := slices.IndexFunc(other.Trials, func(o *Trial) bool { return o.Block == t.Block }); i >= 0 && other.Trials[i].Matched == t.Matched {
			a, b = append(a, t), append(b, other.Trials[i])
		}
	}
	if len(a) < 2 {
		return nil
	}
	c := &Change{Quantile: base.Quantile, Blocks: len(a), Preempted: known(a, b)}
	pairs, keys, moves := movesOf(a, b)
	totals := func(ts []*Trial, of func(*Trial) float64) (xs []float64) {
		for _, t := range ts {
			xs = append(xs, of(t))
		}
		return xs
	}
	at := func(t *Trial) float64 { return t.At }
	band := func(t *Trial) float64 { return t.Band.Mean }
	p := stats.Pair{Base: totals(a, at), Other: totals(b, at), Sampling: make([]float64, len(a))}
	c.At = stats.Each([]stats.Pair{p})[0]
	baseNear, otherNear := totals(a, band), totals(b, band)
	for i := range baseNear {
		c.Near += (otherNear[i] - baseNear[i]) / float64(len(a))
		c.Level += baseNear[i] / float64(len(a))
	}
	for i, p := range pairs { // less cannot be sure
		pairs[i].Tested = max(mean(p.Base), mean(p.Other)) > leastShare*c.Level
	}
	for i, s := range stats.Each(pairs) {
		m := moves[keys[i]]
		m.Shift = s
		m.Sure = s.Adjusted < 0.05 && math.Abs(s.Diff) > leastShare*c.Level
		slices.SortFunc(m.By, func(a, b By) int { return cmp.Compare(math.Abs(b.Excess), math.Abs(a.Excess)) })
		c.Moves = append(c.Moves, *m)
	}
	slices.SortFunc(c.Moves, func(a, b Move) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Shift.Diff), math.Abs(a.Shift.Diff)), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Func, b.Func))
	})
	return c
}

// movesOf sums up the costs near the percentile by function; running is one, as its lines are known by few samples.
func movesOf(a, b []*Trial) (pairs []stats.Pair, keys []moveKey, moves map[moveKey]*Move) {
	n := len(a)
	moves = map[moveKey]*Move{}
	of := map[moveKey]*stats.Pair{}
	lines := map[moveKey]map[Site]float64{}
	by := map[moveKey]map[Culprit]float64{}
	for i := range n {
		for side, g := range []*Group{&a[i].Band, &b[i].Band} {
			sign := float64(2*side-1) / float64(n)
			add := func(k Key, mean, sampling float64) {
				p := pairOf(of, moveKey{k.Part, k.Site.Func}, n)
				[]([]float64){p.Base, p.Other}[side][i] += mean
				p.Sampling[i] += sampling
				note(lines, by, k, sign*mean)
			}
			g.each(known(a, b), add)
		}
	}
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y moveKey) int { return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.fn, y.fn)) })
	for _, k := range keys {
		m := &Move{Part: k.part, Func: k.fn}
		greatest := math.Inf(-1)
		for s, d := range lines[k] {
			if d = math.Abs(d); d > greatest || d == greatest && compareSites(s, m.Site) < 0 {
				greatest, m.Site = d, s
			}
		}
		if k.part == exectrace.Running {
			m.Site, m.In = ranMore(a, b)
			m.Func = m.Site.Func
		}
		m.By = byFunction(by[k])
		moves[k] = m
		pairs = append(pairs, *of[k])
	}
	return pairs, keys, moves
}

// byFunction adds up the culprits of one function, each with the line that has most.
func byFunction(by map[Culprit]float64) (out []By) {
	place := map[Culprit]int{}
	most := map[Culprit]float64{}
	for _, c := range slices.SortedFunc(maps.Keys(by), compareCulprits) {
		key := c
		key.Site.File, key.Site.Line = "", 0
		n, ok := place[key]
		if !ok {
			n = len(out)
			place[key], most[key], out = n, by[c], append(out, By{Culprit: c})
		}
		out[n].Excess += by[c]
		if by[c] > most[key] {
			out[n].Culprit, most[key] = c, by[c]
		}
	}
	return out
}

func mean(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x / float64(len(xs))
	}
	return sum
}

func pairOf(of map[moveKey]*stats.Pair, k moveKey, n int) *stats.Pair {
	p := of[k]
	if p == nil {
		p = &stats.Pair{Base: make([]float64, n), Other: make([]float64, n), Sampling: make([]float64, n)}
		of[k] = p
	}
	return p
}

func note(lines map[moveKey]map[Site]float64, by map[moveKey]map[Culprit]float64, k Key, d float64) {
	key := moveKey{k.Part, k.Site.Func}
	if lines[key] == nil {
		lines[key], by[key] = map[Site]float64{}, map[Culprit]float64{}
	}
	lines[key][k.Site] += d
	if k.By != (Culprit{}) {
		by[key][k.By] += d
	}
}
