package gcmodel

import (
	"math"
	"slices"
)

// Constants of runtime/mgcpacer.go, the same from Go 1.19 to 1.27.
const (
	heapMinimum      = 4 * MiB // with GOGC=100
	leastSweep       = 1 * MiB // sweepMinHeapDistance: from the end of marking to the next trigger, without a limit
	leastRunway      = 64 << 10
	earliest, latest = 0.7, 0.95 // minTriggerRatio, maxTriggerRatio: of the way from the marked heap to the goal
	limitHeadroom    = 0.03      // memoryLimitHeapGoalHeadroomPercent
	leastHeadroom    = 1 * MiB   // memoryLimitMinHeapGoalHeadroom
	background       = 0.25      // gcBackgroundUtilization
)

// What lies beside a heap that is full is a fixed part, stacks and a share of the heap: spans that are not
// full, and their metadata. Fixed part and bounds are fitted to workloads (doc/method/predictions.md).
const (
	fixedOverhead         = 7 * MiB
	usualSlope            = 0.03
	leastSlope, mostSlope = 0.01, 0.12
)

// facts is a window with what every replay of it needs.
type facts struct {
	Window
	live    []float64 // true live heap of each cycle
	black   []float64 // allocated while marking
	wanted  []float64 // runway that each cycle would have asked for
	runway  []float64 // from the trigger to the goal, where the pacer is free to choose
	cached  float64   // as the model's
	stacks  float64   // stacks and globals, which count in the goal
	slope   float64   // memory beside the heap that a byte of heap takes
	filling float64   // Filling, within bounds
	clamped bool      // assists held the allocation back in half of the cycles

	whole replayed // the window's own setting, replayed
	bytes float64  // what the heap grew by from one collection to the next, measured by the one replayed
	peak  float64  // likewise the highest heap
}

func study(w Window, cached float64) *facts {
	w.Cycles = smooth(w.Cycles)
	f := &facts{Window: w, cached: cached}
	f.stacks = stacks(&w)
	f.slope = usualSlope
	if w.Overhead > 0 {
		f.slope = min(max((w.Overhead-f.stacks-fixedOverhead)/f.heapPeak(), leastSlope), mostSlope)
	}
	if w.Filling > 0 { // not if it is unknown
		f.filling = min(w.Filling, 1)
	}
	held := 0
	for i := range w.Cycles {
		c := &w.Cycles[i]
		d := max(c.End-c.Trigger, 0)
		f.live = append(f.live, c.live())
		f.black = append(f.black, d)
		f.wanted = append(f.wanted, f.runwayOf(c))
		span, runway := c.Goal-c.Marked, c.Goal-c.Trigger
		if i > 0 {
			span = c.Goal - w.Cycles[i-1].Marked
		}
		recent := slices.Max(f.wanted[max(0, i-5):max(i, 1)]) // what the cycles before it asked for
		switch {
		case c.Goal == 0 || span <= 0:
			runway = recent
		case runway > 0.9*(1-earliest)*span: // the trigger was as early as it may be
			if d > 0.9*runway {
				held++
			}
			runway = max(runway, recent)
		case runway < 1.1*min((1-latest)*span, heapMinimum): // as late as it may be
			runway = min(runway, recent)
		}
		f.runway = append(f.runway, max(runway, 0))
	}
	f.clamped = 2*held > len(w.Cycles)
	f.bytes, f.peak = 1, 1
	if len(w.Cycles) > 0 {
		f.whole = f.replay(w.Setting)
		f.bytes = ratio(f.counted(), f.whole.bytes, 0.8, 1.25)
	}
	if len(w.Cycles) > 0 && f.whole.least > spiralRoom { // how far a spiral overshoots says nothing of other settings
		f.peak = ratio(w.HeapPeak, f.whole.peak(float64(len(w.Cycles))/f.launches()), 0.9, 1.25)
	}
	return f
}

// smoothing is over how many cycles on both sides sizes of whole MiB are averaged: the pacer takes the highest
// of the last runways, which would be that of the roundings.
const smoothing = 4

// smooth averages the distances from the trigger to the end and to the goal where sizes are of whole MiB.
func smooth(cs []Cycle) []Cycle {
	out := slices.Clone(cs)
	for i := range out {
		if cs[i].Exact {
			continue
		}
		end, goal, n, goals := 0.0, 0.0, 0.0, 0.0
		for _, c := range cs[max(i-smoothing, 0):min(i+smoothing+1, len(cs))] {
			end += c.End - c.Trigger
			n++
			if c.Goal > 0 {
				goal += c.Goal - c.Trigger
				goals++
			}
		}
		out[i].End = out[i].Trigger + end/n
		if out[i].Goal > 0 {
			out[i].Goal = out[i].Trigger + goal/goals
		}
	}
	return out
}

func (f *facts) launches() float64 { return float64(max(f.Launches, 1)) }

// runwayOf is the runway that the pacer works out from a cycle for the next ones (endCycle and commit): what is allocated
// while a quarter of the Ps marks, at the rates that the cycle had.
func (f *facts) runwayOf(c *Cycle) float64 {
	d, all := max(c.End-c.Trigger, 0), c.Mark*f.Procs
	if !(all > 0) {
		return d
	}
	used, idle := min(background+c.Assist/all, 0.9), min(c.Idle/all, 1)
	return (1 - background) / background * d * (used + idle) / (1 - used)
}

// counted is by how much the heap grows from one collection to the next, as the pacer counts it, in the mean.
func (w *Window) counted() float64 {
	sum, n := 0.0, 0.0
	for i := 1; i < len(w.Cycles); i++ {
		if by := w.Cycles[i].End - w.Cycles[i-1].Marked; by > 0 {
			sum += by
			n++
		}
	}
	return sum / n
}

// ratio is a/b within bounds; 1 if it is not known.
func ratio(a, b, lo, hi float64) float64 {
	if r := a / b; r > 0 {
		return min(max(r, lo), hi)
	}
	return 1
}

// stacks works out from the goals what stacks and globals count in them: goal = marked +
// (marked + stacks)·GOGC/100. It is 0 where GOGC did not set the goal: under a limit that may have.
func stacks(w *Window) float64 {
	g := w.GOGC / 100
	if g == 0 || math.IsInf(g, 1) {
		return 0
	}
	var all []float64
	for i := 1; i < len(w.Cycles); i++ {
		marked, goal := w.Cycles[i-1].Marked, w.Cycles[i].Goal
		if limited := w.Limit > 0 && goal+w.Overhead > 0.9*w.Limit; goal > 1.1*heapMinimum*g && goal > marked && !limited {
			all = append(all, (goal-marked)/g-marked)
		}
	}
	if 2*len(all) < len(w.Cycles) {
		return 0
	}
	slices.Sort(all)
	return max(all[len(all)/2], 0)
}

// replayed is what came of a replay.
type replayed struct {
	bytes   float64   // that the heap grows by from one collection to the next, mean
	ends    []float64 // heap at the end of marking, in ascending order
	marked  float64   // mean
	limited float64   // share of cycles whose goal the limit set
	slower  float64   // how much longer marking takes than in the window, beside what more is live
	least   float64   // of the room from the marked heap to the goal, as a share of the marked heap, the median
}

// peak is the highest of n collections, in the mean.
func (r *replayed) peak(n float64) float64 {
	if len(r.ends) == 0 {
		return math.NaN()
	}
	at := float64(len(r.ends)) * (1 - 1/(n+1)) // n may be infinite
	return r.ends[min(int(at), len(r.ends)-1)]
}

// replay lets the cycles of the window happen again under another setting, in their order: each with its
// own live heap, what was allocated while it was marked, and the runway that the pacer gave it.
func (f *facts) replay(s Setting) replayed {
	r := f.again(s, 1)
	if f.whole.bytes > 0 {
		r = f.again(s, cold(r.bytes/f.whole.bytes))
	}
	return r
}

// cold is how much longer a collection takes if so many times as much is allocated from one to the next: less of the
// heap is in the CPU's caches. The exponent is fitted to workloads.
func cold(by float64) float64 { return math.Pow(by, 0.1) }

// again is one replay, with all that happens while marking scaled by slower.
func (f *facts) again(s Setting, slower float64) (r replayed) {
	k := s.scale() / f.scale()
	r.slower = slower
	marking := slower * k * s.rate() // a collection takes its time, in which so much more is allocated
	n := max(2*len(f.live), 60)
	marked := k*f.live[0] + f.black[0]
	var rooms []float64
	for i := range n + len(f.live) {
		j := i % len(f.live)
		goal, limited := f.goal(s, marked)
		room := max(goal-marked, leastRunway)
		goal = marked + room
		natural, rise := marking*f.black[j], 0.0
		if limited {
			rise = f.filling * natural
		}
		trigger := goal - ahead(room, marking*f.runway[j], rise)
		if !limited {
			trigger = max(trigger, min(marked+leastSweep, goal))
		}
		black := min(natural, max(1.03*(goal-trigger), leastRunway)) // else assists hold the allocation
		end := trigger + black
		if i >= len(f.live) { // after it has settled
			r.bytes += (end - marked) / float64(n)
			r.marked += marked / float64(n)
			r.ends = append(r.ends, end)
			rooms = append(rooms, room/marked)
			if limited {
				r.limited += 1 / float64(n)
			}
		}
		marked = k*f.live[j] + black
	}
	slices.Sort(r.ends)
	slices.Sort(rooms)
	r.least = rooms[len(rooms)/2]
	return r
}

// ahead is how far before the goal marking begins, if a runway is asked for. Under a limit the goal is lower by rise at that
// time than at the end of marking: slots that the program is to fill until then count as memory beside the heap.
func ahead(room, runway, rise float64) float64 {
	most := min((1-earliest)*room+earliest*rise, room)
	least := min((1-latest)*room+latest*rise, heapMinimum+rise)
	return max(min(runway+rise, most), min(least, most))
}

func (s Setting) scale() float64 {
	if s.Live == 0 {
		return 1
	}
	return s.Live
}

func (s Setting) rate() float64 {
	if s.Rate == 0 {
		return 1
	}
	return s.Rate
}

// goal is the heap that the pacer wants to stay below, and whether the limit sets it.
func (f *facts) goal(s Setting, marked float64) (goal float64, limited bool) {
	g := s.GOGC / 100
	goal = math.Inf(1)
	if !math.IsInf(g, 1) {
		goal = max(marked+(marked+f.stacks)*g, heapMinimum*g)
	}
	if s.Limit > 0 {
		if by := f.limitGoal(s.Limit, marked); by < goal {
			return by, true
		}
	}
	return max(goal, marked+leastSweep+leastRunway), false
}

// cachedFree is what spans that Ps have cached take from the room under a limit, by what the pacer counts of them: their slots
// count as free until they are handed back. Fitted to workloads.
const cachedFree = 1.5

// limitGoal is the heap that a limit leaves, never less than what is marked.
func (f *facts) limitGoal(limit, marked float64) float64 {
	// What is not heap grows with it: h = limit - (overhead + slope·(h - peak)) - headroom.
	room := (limit - f.overhead() + f.slope*f.heapPeak()) / (1 + f.slope)
	room -= cachedFree * f.cached * classes(max(room-marked, 0))
	return max(room-max(limitHeadroom*room, leastHeadroom), marked)
}

func (f *facts) overhead() float64 {
	if f.Overhead >= 0 {
		return f.Overhead
	}
	return fixedOverhead + f.stacks + f.slope*f.heapPeak()
}

// heapPeak is the highest heap that was measured.
func (f *facts) heapPeak() float64 {
	peak := 0.0
	for i := range f.Cycles {
		peak = max(peak, f.Cycles[i].End)
	}
	if f.HeapPeak > peak { // not if it is unknown
		return f.HeapPeak
	}
	return peak
}
