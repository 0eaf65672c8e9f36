package slow

import (
	"cmp"
	"slices"
)

// A Life is what the goroutine of one request did, and those that it waited for. Times are in seconds since it
// was sent, or since its goroutine woke if no client is known.
type Life struct {
	Trial   int
	At      float64 // when that was, since the trace began
	Took    float64 // in the service
	Latency float64 // the client's, from when it was due; 0 if not known
	Lanes   []Lane  // that of the request first
	Hands   []Hand
}

// A Lane is one goroutine.
type Lane struct {
	Site  Site // the function that it was started with
	Other bool // it serves another request
	Spans []Span
}

// A Span is a stretch of a goroutine in one state, on one line.
type Span struct {
	From, To float64
	Part     Part
	Site     Site
}

// A Hand is when one goroutine let another go on.
type Hand struct {
	At       float64
	From, To int // lanes
}

const (
	mostLives = 3     // of a trial
	mostLanes = 8     // of a life
	leastSpan = 0.002 // of the request's time, that a span has to be kept
)

// lives are those of the slowest requests, which come last, and of one typical.
func (t *Trace) lives(ones []one) (slowest []Life, typical *Life) {
	for i := len(ones) - 1; i >= max(0, len(ones)-mostLives); i-- {
		slowest = append(slowest, t.life(&ones[i]))
	}
	l := t.life(&ones[len(ones)/2])
	return slowest, &l
}

// Lives are those of the slowest requests of all trials, the slowest first, and then that of a typical one.
func (w *Why) Lives() (out []Life) {
	var usual []Life
	for _, t := range w.Trials {
		for _, l := range t.Slowest {
			l.Trial = t.N
			out = append(out, l)
		}
		if t.Usual != nil {
			l := *t.Usual
			l.Trial = t.N
			usual = append(usual, l)
		}
	}
	byTime := func(a, b Life) int { return cmp.Compare(b.Took, a.Took) }
	slices.SortStableFunc(out, byTime)
	slices.SortStableFunc(usual, byTime)
	out = out[:min(len(out), mostLives)]
	if usual != nil {
		out = append(out, usual[len(usual)/2])
	}
	return out
}

// window is the time in which a goroutine is shown.
type window struct {
	goroutine int32
	from, to  int64
}

func (t *Trace) life(o *one) Life {
	l := Life{At: float64(o.from-t.Begin) / 1e9, Took: float64(o.took()) / 1e9, Latency: float64(o.Done-o.Due) / 1e9}
	shown := []window{{o.goroutine, o.arrived(), o.to}}
	lane := func(g int32) int { return slices.IndexFunc(shown, func(w window) bool { return w.goroutine == g }) }
	type hand struct {
		from, to int32
		at       int64
	}
	var hands []hand
	g := t.goroutines[o.goroutine]
	for i := range g.life {
		from, to := max(g.from(i), o.arrived()), min(g.life[i].end, o.to)
		if from >= to || !g.life[i].part.Waits() {
			continue
		}
		t.back(o.goroutine, from, to, func(x step) {
			switch n := lane(x.goroutine); {
			case n == 0:
			case n > 0:
				shown[n].from, shown[n].to = min(shown[n].from, x.from), max(shown[n].to, x.to)
			case len(shown) < mostLanes && float64(x.to-x.from) >= leastSpan*float64(o.took()):
				shown = append(shown, window{x.goroutine, x.from, x.to})
			}
		}, func(waker, woken int32, at int64) { hands = append(hands, hand{waker, woken, at}) })
	}
	slices.SortStableFunc(shown[1:], func(a, b window) int { return cmp.Compare(a.from, b.from) })
	since := func(at int64) float64 { return float64(at-o.from) / 1e9 }
	for n, w := range shown {
		g := t.goroutines[w.goroutine]
		x := Lane{Site: t.sites[g.root], Other: n > 0 && (g.serves || g.handles)}
		if n == 0 && o.arrived() > o.from {
			x.Spans = append(x.Spans, Span{0, since(o.arrived()), Arriving, Site{}})
		}
		x.Spans = append(x.Spans, t.spans(g, w, since, leastSpan*float64(o.took())/1e9)...)
		l.Lanes = append(l.Lanes, x)
	}
	for _, h := range hands {
		if a, b := lane(h.from), lane(h.to); a >= 0 && b >= 0 {
			l.Hands = append(l.Hands, Hand{since(h.at), a, b})
		}
	}
	return l
}

// spans are what a goroutine did in a window: neighbours that are alike, or too short to see, are one.
func (t *Trace) spans(g *goroutine, w window, since func(int64) float64, least float64) (out []Span) {
	for i := range g.life {
		s := &g.life[i]
		from, to := max(g.from(i), w.from), min(s.end, w.to)
		if from >= to {
			continue
		}
		x := Span{since(from), since(to), s.part, t.sites[t.stacks[s.stack].own]}
		if n := len(out) - 1; n >= 0 && (out[n].Part == x.Part && out[n].Site == x.Site || x.To-x.From < least) {
			out[n].To = x.To
			continue
		}
		out = append(out, x)
	}
	return out
}
