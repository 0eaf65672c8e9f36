// Package leak says what grows without an end in a trial: memory, goroutines,
// threads and descriptors, how fast, and where it was allocated.
//
// It owns the evidence and the verdict. Series, snapshots and profiles are handed
// to it; the arithmetic of trends is package stats'.
package leak

import (
	"math"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// A Verdict says whether something grows without an end.
type Verdict string

const (
	Leaking Verdict = "leaking"
	NoLeak  Verdict = "level"   // it does not grow, or has stopped: a step, a cache that is full, a saw
	Unclear Verdict = "unclear" // Reason says why
)

// A Grown is how one quantity grew: memory in bytes, or how many goroutines,
// threads or descriptors there are. Rates are per hour; what is not known is NaN.
type Grown struct {
	Verdict Verdict
	By      string // the series that it rests on, such as "heap-live-B"
	N       int    // readings

	Slope, Lo, Hi float64 // growth, and its 95 % interval
	Detectable    float64 // the least growth that would have been called a leak in 99 of 100 such trials, or, beside a step or a growth that stopped, not have been called level
	Forced        float64 // growth from one moment without requests to another, before the window and after it: of memory, after forced collections

	Per, DetectablePer float64 // Slope and Detectable per 1,000 requests

	Shape     stats.Shape
	Shift, At float64 // as those of stats.Trend
	Reason    Reason  // of Unclear
}

// A Growth is what grew in one trial: the evidence for a leak, or against it.
type Growth struct {
	Trial    int
	Window   time.Duration
	Requests int64             // 0 if not counted
	Memory   *Grown            // nil if no series tells
	Outside  *Grown            // of resident memory, what the Go runtime has not mapped; nil if no series tells
	Others   map[string]*Grown // of leakCounts; those that no series tells are missing

	heap, goroutines []tally
	rose             bool    // the load came at a rate that rose in the window
	connections      float64 // that the load keeps open and has not under way: more than before; 0 if not known
}

// Profiles say where a leak is. They were taken before the window and after it, without a
// request under way, of the heap after forced collections. Missing ones are nil.
type Profiles struct {
	HeapBefore, HeapAfter           *profile.Profile
	GoroutineBefore, GoroutineAfter *profile.Profile
	GoroutineLeak                   *profile.Profile // after the window: goroutines that nothing can wake, since Go 1.27
}

const (
	// leastCollections is of how many collections a live heap tells of leaks.
	leastCollections = 8
	// lowsKept is how many lows of a saw make a trend: more add only noise.
	lowsKept = 60
	// residentWindow is the least window in which resident memory tells of leaks.
	// The runtime collects at least every two minutes (forcegcperiod in
	// runtime/proc.go); until it has done so twice, resident memory grows with
	// garbage, and a leak may lie in memory that is resident already.
	residentWindow = 5 * time.Minute
	// connectionSize is what a connection takes of net/http's heap: two buffers of
	// 4 KiB, and what is around them.
	connectionSize = 16 << 10
	// fewest goroutines, threads or descriptors more do not matter, however few there are.
	fewest = 10
	// leastHeap is the least size that a heap counts as: the runtime lets any grow to so much
	// before it collects (heapMinimum in runtime/mgcpacer.go).
	leastHeap = 4 << 20
)

// liveSeries are what collections found live, with and without what was allocated meanwhile.
var liveSeries = []string{"heap-live-B", "heap-true-B"}

// leakCounts are the series of what is counted, in the order of reports.
var leakCounts = []string{"goroutines", "threads", "fds"}

// Grows reports whether a trial was long enough to see growth: dyno.LeakWindow, rounded.
func Grows(r *dyno.Result) bool {
	return r.Elapsed.Round(time.Second) >= time.Duration(dyno.LeakWindow)
}

// NewGrowth judges what grew in a trial; nil unless the trial [Grows] and something was
// watched. series returns the readings of a metric by seconds of the window; rate is that
// of the trial's plan, which a result that was read back lacks.
func NewGrowth(r *dyno.Result, rate dyno.Rate, series func(metric string) (at, value []float64), p Profiles) *Growth {
	if !Grows(r) {
		return nil
	}
	g := &Growth{Trial: r.Trial.N, Window: r.Elapsed, Requests: r.Sent.Requests, Others: map[string]*Grown{}}
	g.rose = rises(rate)
	g.heap = heapTallies(p.HeapBefore, p.HeapAfter)
	g.goroutines = goroutineTallies(p.GoroutineBefore, p.GoroutineAfter, p.GoroutineLeak)
	g.connections = connections(g.goroutines)
	g.Memory = g.memory(r, series)
	g.Outside = g.outside(r, series)
	before, after := snapshot(r, dyno.StageBefore), snapshot(r, dyno.StageAfter)
	for _, name := range leakCounts {
		at, value := g.within(series(name))
		if len(at) == 0 {
			continue
		}
		e := ends{}
		if name == "goroutines" && before != nil && after != nil {
			e.before, e.after = before.Goroutines, after.Goroutines
		}
		if name != "threads" {
			e.load = g.connections
		}
		g.Others[name] = g.judge(name, at, value, e)
	}
	if g.Memory == nil && g.Outside == nil && len(g.Others) == 0 {
		return nil
	}
	return g
}

func rises(r dyno.Rate) bool { return len(r) > 0 && r[len(r)-1].To > r[0].From }

func snapshot(r *dyno.Result, stage string) *dyno.Snapshot {
	i := slices.IndexFunc(r.Memory, func(s dyno.Snapshot) bool { return s.Stage == stage })
	if i < 0 {
		return nil
	}
	return &r.Memory[i]
}

func (g *Growth) within(at, value []float64) (a, v []float64) {
	end := g.Window.Seconds()
	for i, sec := range at {
		if sec >= 0 && sec <= end {
			a, v = append(a, sec), append(v, value[i])
		}
	}
	return a, v
}

// ends are a quantity before the window and after it, without requests; 0 if not known.
// load is how much of it the load's own connections make.
type ends struct{ before, after, load float64 }

func (e ends) known() bool { return e.before > 0 && e.after > 0 }

// memory judges by the best evidence: what collections found live, with few of them beside
// what was live before and after, else the heap's lows between them, else resident memory. With few collections resident memory says nothing:
// it grows with garbage, and not with a leak that fills what garbage has left.
func (g *Growth) memory(r *dyno.Result, series func(metric string) (at, value []float64)) *Grown {
	e := ends{load: connectionSize * g.connections}
	if before, after := snapshot(r, dyno.StageBefore), snapshot(r, dyno.StageAfter); before != nil && after != nil {
		e.before, e.after = before.Live, after.Live
	}
	by, at, value := "", []float64(nil), []float64(nil)
	for _, name := range liveSeries {
		a, v := g.within(series(name))
		if len(a) >= leastCollections && (by == "" || jitter(v) < jitter(value)) {
			by, at, value = name, a, v
		} else if by == "" {
			at = a
		}
	}
	rested := func(m *Grown) *Grown { return g.rested(m, e, snapshot(r, dyno.StageIdle)) }
	if by != "" {
		m := g.judge(by, at, value, e)
		if m.Verdict == Unclear && (m.Reason.Kind == ByTrend || m.Reason.Kind == Noisy) {
			if fast := g.few(by, at, value, e); fast != nil && fast.Verdict == Leaking {
				return fast
			}
		}
		return rested(m)
	}
	collections, counted := r.Values.Get("gc-cycles")
	collections = max(collections, float64(len(at)))
	counted = counted || collections > 0
	for _, name := range liveSeries {
		a, v := g.within(series(name))
		if m := g.few(name, a, v, e); m != nil && counted {
			return rested(m)
		}
	}
	a, v := g.within(series("heap-B"))
	lowAt, low := lows(a, v)
	if len(low) >= leastCollections {
		return g.judge("heap-B", lowAt, low, e)
	}
	if len(a) > 0 {
		counted = true
		collections = max(collections, float64(len(low)))
	}
	if collections >= leastCollections {
		return g.untold("heap-live-B", e, Reason{
			Kind: FewLows, N: int(collections), Lows: len(low), Of: leastCollections, Window: g.Window, Longer: g.longer(leastCollections / max(float64(len(low)), 1))})
	}
	if counted {
		return g.untold("heap-live-B", e, Reason{
			Kind: FewCollections, N: int(collections), Of: leastCollections, Window: g.Window, Longer: g.longer(leastCollections / max(collections, 1)),
			Bytes: g.risen(series, e)})
	}
	at, value = g.within(series("rss-B"))
	switch {
	case len(at) == 0:
		return nil
	case g.Window < residentWindow:
		return g.untold("rss-B", e, Reason{Kind: ResidentOnly, N: int(residentWindow.Minutes())})
	}
	return g.judge("rss-B", at, value, e)
}

// restGrowth is how much more may be live after the rest than after the window: a
// collection that was not forced also finds what pools hold and what was allocated meanwhile.
const restGrowth = 1 << 20

// rested takes back that a heap is level if it grew when the load was over.
func (g *Growth) rested(m *Grown, e ends, idle *dyno.Snapshot) *Grown {
	if m.Verdict == NoLeak && e.known() && idle != nil {
		if grew := idle.Live - e.after; grew > max(restGrowth, e.after/10) {
			m.Verdict, m.Reason = Unclear, Reason{Kind: GrewAtRest, Bytes: grew}
		}
	}
	return m
}

// longer is a window that is so many times as long, and a little more.
func (g *Growth) longer(times float64) time.Duration {
	return time.Duration(1.2 * times * float64(g.Window))
}

// jitter is the mean square of first differences: noise without trend.
func jitter(vs []float64) float64 {
	sum := 0.0
	for i := 1; i < len(vs); i++ {
		sum += (vs[i] - vs[i-1]) * (vs[i] - vs[i-1])
	}
	return sum / float64(len(vs)-1)
}

// lows are the lowest points between the teeth of a saw, where a collection has just been:
// between two slopes of at least half the largest fall. Many are thinned to the minima of
// equal parts of the time.
func lows(at, value []float64) (a, v []float64) {
	fall, high := 0.0, math.Inf(-1)
	for _, x := range value {
		if x > high {
			high = x
		}
		if high-x > fall {
			fall = high - x
		}
	}
	if len(value) == 0 || fall == 0 {
		return nil, nil
	}
	high, low, where, falling := value[0], 0.0, 0.0, false
	for i, x := range value {
		switch {
		case !falling && x > high:
			high = x
		case !falling && x < high-fall/2:
			falling, low, where = true, x, at[i]
		case falling && x < low:
			low, where = x, at[i]
		case falling && x > low+fall/2:
			a, v = append(a, where), append(v, low)
			falling, high = false, x
		}
	}
	if len(a) <= 2*lowsKept {
		return a, v
	}
	var ka, kv []float64
	part := (at[len(at)-1] - at[0]) / lowsKept
	end := at[0]
	for i := range a {
		if a[i] >= end || len(kv) == 0 {
			ka, kv = append(ka, a[i]), append(kv, v[i])
			end += part * (math.Floor((a[i]-end)/part) + 1)
		} else if v[i] < kv[len(kv)-1] {
			ka[len(ka)-1], kv[len(kv)-1] = a[i], v[i]
		}
	}
	return ka, kv
}

func (g *Growth) judge(by string, at, value []float64, e ends) *Grown {
	least, counted := float64(leastHeap), slices.Contains(leakCounts, by)
	if counted {
		least = fewest
	}
	t := stats.TrendOf(at, value)
	sorted := slices.Sorted(slices.Values(value))
	grown := g.grown(by, t, e)
	usual := max(sorted[len(sorted)/2], least)
	grown.Verdict, grown.Reason = g.verdict(t, usual, e)
	if spread := sorted[len(sorted)-1] - sorted[0]; grown.Verdict == Unclear && counted && spread < least {
		grown.Verdict, grown.Reason = NoLeak, Reason{} // whatever its course
	}
	return grown
}

func (g *Growth) untold(by string, e ends, reason Reason) *Grown {
	grown := g.grown(by, stats.TrendOf(nil, nil), e)
	grown.Verdict, grown.Reason = Unclear, reason
	return grown
}

// grown has a trend's figures by the hour and per request.
func (g *Growth) grown(by string, t stats.Trend, e ends) *Grown {
	hour := time.Hour.Seconds()
	per := math.NaN()
	if g.Requests > 0 {
		per = g.Window.Seconds() / float64(g.Requests) * 1000
	}
	forced := math.NaN()
	if e.known() {
		forced = (e.after - e.before) / g.Window.Hours()
	}
	return &Grown{
		By: by, N: t.N, Slope: t.Slope * hour, Lo: t.Lo * hour, Hi: t.Hi * hour, Detectable: t.Detectable * hour, Forced: forced,
		Per: t.Slope * per, DetectablePer: t.Detectable * per, Shape: t.Shape, Shift: t.Shift, At: t.At,
	}
}

// verdict judges a trend of what is usually so much. A leak stays when no request is under
// way: what a queue of requests holds grows, too.
func (g *Growth) verdict(t stats.Trend, usual float64, e ends) (Verdict, Reason) {
	sec, opened := g.Window.Seconds(), int(math.Round(g.connections))
	switch {
	case t.Shape == stats.Untold && t.Slope > 0 && e.load > t.Slope*sec/4:
		return Unclear, Reason{Kind: LoadOpened, Trend: t.Reason, N: opened}
	case t.Shape == stats.Untold:
		return Unclear, Reason{Kind: ByTrend, Trend: t.Reason}
	case t.Shape == stats.Growing && e.known() && e.after-e.before < t.Lo*sec/2:
		return Unclear, Reason{Kind: Queued}
	case t.Shape == stats.Growing && e.load >= t.Lo*sec/2:
		return Unclear, Reason{Kind: LoadAll, N: opened}
	case t.Shape == stats.Growing && g.rose && !e.known():
		return Unclear, Reason{Kind: RateRose}
	case t.Shape == stats.Growing && g.rose && g.connections > 0:
		return Unclear, Reason{Kind: RateConnected, N: opened}
	case t.Shape == stats.Growing:
		return Leaking, Reason{}
	case !(t.Detectable*sec <= usual):
		return Unclear, Reason{Kind: Noisy, Longer: g.longer(2)}
	case t.Shape == stats.Level && e.known() && e.after-e.before > 2*t.Detectable*sec && e.after-e.before > usual/10:
		return Unclear, Reason{Kind: GrewAfter}
	}
	return NoLeak, Reason{}
}

// outside judges resident memory less what the runtime has mapped, and less pages of files, which the
// kernel can take back. The rest is memory of mmap and cgo. The live heap does not contain it. The
// rest is below 0 while mapped memory is not touched. To touch it is growth, too, so a leak has to end above 0.
func (g *Growth) outside(r *dyno.Result, series func(metric string) (at, value []float64)) *Grown {
	at, rss := g.within(series("rss-B"))
	mappedAt, mapped := g.mapped(series)
	if len(at) == 0 || len(mappedAt) == 0 {
		return nil
	}
	fileAt, file := g.within(series("rss-file-B"))
	files := 0.0                  // of the snapshots: 1 if the series are without them, too
	if slices.Equal(at, fileAt) { // of one sample they are of one time
		rss, files = slices.Clone(rss), 1
		for i := range rss {
			rss[i] -= file[i]
		}
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
		end = after.RSS - files*after.File - after.Mapped()
		e = ends{before: rss[0], after: rss[0] + end - (before.RSS - files*before.File - before.Mapped())}
	}
	sorted := slices.Sorted(slices.Values(rss))
	t := stats.TrendOf(at, beyond)
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
