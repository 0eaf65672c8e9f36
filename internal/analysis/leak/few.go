package leak

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// The more a heap leaks, the fewer its collections: each waits until the heap has grown
// by a share of itself (GOGC). So a fast leak leaves a handful of readings, ever farther
// apart, where a trend wants many and regular ones. But it is large against all noise,
// and what is live at the ends of the window is known to the byte.
const (
	// fewStretches is the least number of stretches between readings that have to grow alike.
	fewStretches = 3
	// fewLength is the least part of the window that a stretch takes.
	fewLength = 0.05
	// fewApart is by how much the growth of a stretch may miss that of a straight line.
	fewApart = 0.3
	// fewNoise is the least that counts as noise of a reading, as of restGrowth: what
	// requests under way hold, and what was allocated while a collection marked.
	fewNoise = restGrowth
)

// few judges a live heap by what was live without requests, before the window and after it,
// and by the collections between. It leaks if it grew by much more than noise, and alike in
// all stretches of the window. It is level if it did not grow by more than noise. nil: it
// cannot tell.
func (g *Growth) few(by string, at, value []float64, e ends) *Grown {
	grew, sec := e.after-e.before, g.Window.Seconds()
	noise := max(fewNoise, e.before/10)
	t := stats.Trend{N: len(at), Slope: grew / sec, Lo: (grew - noise) / sec, Hi: (grew + noise) / sec}
	switch {
	case !e.known() || e.load >= max(grew, noise)/4 || g.rose && g.connections > 0:
		return nil
	case math.Abs(grew) <= noise:
		t.Shape, t.Detectable = stats.Level, 2*noise/sec
		grown := g.grown(by, t, e)
		grown.Verdict = NoLeak
		return grown
	case grew < 0:
		return nil
	}
	shortest := max(fewLength, 2*noise/grew) * sec
	stretches, most, from, low := 0, 0.0, 0.0, e.before
	alike := func(at, value float64) bool {
		want := t.Slope * (at - from)
		apart := math.Abs(value - low - want)
		stretches, most = stretches+1, max(most, apart)
		from, low = at, value
		return apart <= fewApart*want
	}
	for i := range at {
		if at[i]-from >= shortest && sec-at[i] >= shortest && !alike(at[i], value[i]) {
			return nil
		}
	}
	if !alike(sec, e.after) || stretches < fewStretches {
		return nil
	}
	t.Shape, t.Detectable = stats.Growing, 2*noise/shortest
	half := max(most, noise/4) / sec
	t.Lo, t.Hi = t.Slope-half, t.Slope+half
	grown := g.grown(by, t, e)
	grown.Verdict = Leaking
	return grown
}

// risen is how much more the last collection found live than the first, where what was live at the
// ends of the window is not known, as of a program without dyno's probe; 0 if no more than noise. A
// longer window hardly helps then: the more a heap has grown, the later its next collection.
func (g *Growth) risen(series func(metric string) (at, value []float64), e ends) float64 {
	for _, name := range liveSeries {
		if _, v := g.within(series(name)); len(v) >= fewStretches && !e.known() {
			first, last := v[0], v[len(v)-1]
			if last == slices.Max(v) && last-first > max(leastHeap, first) {
				return last - first
			}
		}
	}
	return 0
}
