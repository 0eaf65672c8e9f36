package leak

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// outside judges resident memory less what the runtime has mapped: mmap, cgo, pages of
// files, of which the live heap tells nothing. It is below 0 while mapped memory is not
// touched. To touch it is growth, too, so a leak has to end above 0.
func (g *Growth) outside(r *dyno.Result, series func(metric string) (at, value []float64)) *Grown {
	at, rss := g.within(series("rss-B"))
	mappedAt, mapped := g.mapped(series)
	if len(at) == 0 || len(mappedAt) == 0 {
		return nil
	}
	beyond := make([]float64, len(at))
	for i, j := 0, 0; i < len(at); i++ {
		for j+1 < len(mappedAt) && math.Abs(mappedAt[j+1]-at[i]) <= math.Abs(mappedAt[j]-at[i]) {
			j++
		}
		beyond[i] = rss[i] - mapped[j]
	}
	end, e := beyond[len(beyond)-1], ends{}
	if before, after := snapshot(r, dyno.StageBefore), snapshot(r, dyno.StageAfter); before != nil && after != nil && before.Mapped() > 0 && after.Mapped() > 0 {
		// Both may be below 0; what counts is how they differ.
		end = after.RSS - after.Mapped()
		e = ends{before: rss[0], after: rss[0] + end - (before.RSS - before.Mapped())}
	}
	sorted := slices.Sorted(slices.Values(rss))
	t := stats.TrendOf(at, beyond, stats.TrendRule{})
	grown := g.grown("outside-B", t, e)
	grown.Verdict, grown.Reason = g.verdict(t, sorted[len(sorted)/2], e)
	if grown.Verdict == Leaking && end <= 0 {
		grown.Verdict, grown.Reason = Unclear, Reason{Kind: NotTouched, Longer: g.longer(2)}
	}
	return grown
}

// mapped is what the runtime has from the system and has not given back.
func (g *Growth) mapped(series func(metric string) (at, value []float64)) (at, value []float64) {
	if at, value = g.within(series("mapped-B")); len(at) > 0 {
		return at, value
	}
	at, sys := g.within(series("sys-B"))
	releasedAt, released := g.within(series("heap-released-B"))
	if !slices.Equal(at, releasedAt) { // of one page they are of one time
		return nil, nil
	}
	for i := range sys {
		value = append(value, sys[i]-released[i])
	}
	return at, value
}
