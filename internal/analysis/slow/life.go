package slow

import (
	"cmp"
	"math"
	"slices"
)

// A Life is what the goroutine of one request did, and those that it waited for. Times are in seconds since it
// was sent, or since its goroutine woke if no client is known.
type Life struct {
	Trial int
	File  string  // of the trace, where that has not the trial's name
	At    float64 // when that was, since the trace began
	Took  float64 // to the end of its answer
	Lanes []Lane  // that of the request first
	Hands []Hand
}

// A Lane is one goroutine.
type Lane struct {
	Site  Site // the function that it was started with
	Other bool // it serves another request
	Spans []Span
}

// A Span is a stretch of a goroutine in one state, on one line. Short ones are together one, of what most of it is.
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
	eachLives = 3     // of a trial
	mostLives = 10    // of all
	mostLanes = 8     // of a life
	mostHands = 40    // of a life
	leastSpan = 0.005 // of the request's time: shorter cannot be seen
)

// lives are those of the slowest requests, which come last, and of the typical one in the middle.
func (t *Trace) lives(ones []one) (slowest []Life, typical *Life) {
	for i := len(ones) - 1; i >= max(0, len(ones)-eachLives); i-- {
		slowest = append(slowest, t.life(&ones[i]))
	}
	l := t.life(&ones[len(ones)/2])
	return slowest, &l
}

// Lives are those of the slowest requests of all trials, the slowest first, and that of a typical one, nil if none is
// known.
func (w *Why) Lives() (slowest []Life, usual *Life) {
	var typical []Life
	for _, t := range w.Trials {
		of := func(l Life) Life {
			l.Trial, l.File = t.N, t.File
			return l
		}
		for _, l := range t.Slowest {
			slowest = append(slowest, of(l))
		}
		if t.Usual != nil {
			typical = append(typical, of(*t.Usual))
		}
	}
	byTime := func(a, b Life) int { return cmp.Compare(b.Took, a.Took) }
	slices.SortStableFunc(slowest, byTime)
	slices.SortStableFunc(typical, byTime)
	if typical != nil {
		usual = &typical[len(typical)/2]
	}
	return slowest[:min(len(slowest), mostLives)], usual
}

// window is the time in which a goroutine is shown.
type window struct {
	goroutine int32
	from, to  int64
}

// A biography is a life while it is written.
type biography struct {
	*Trace
	*one
	shown []window
	hands []struct {
		from, to int32
		at       int64
	}
}

func (t *Trace) life(o *one) Life {
	end := o.to
	if o.ended != 0 {
		end = max(o.arrived(), min(o.ended, o.to))
	}
	b := biography{Trace: t, one: o, shown: []window{{o.goroutine, o.arrived(), end}}}
	b.follow(end)
	slices.SortStableFunc(b.shown[1:], func(a, b window) int { return cmp.Compare(a.from, b.from) })
	if o.ended != 0 && end < o.to { // another goroutine writes the answer
		b.shown = append(b.shown, window{o.writer, end, o.to})
		b.went(o.goroutine, o.writer, end)
	}
	l := Life{At: float64(o.from-t.Begin) / 1e9, Took: float64(o.to-o.from) / 1e9}
	for n, w := range b.shown {
		g := t.goroutines[w.goroutine]
		x := Lane{Site: t.sites[g.root], Other: n > 0 && (g.serves || g.handles)}
		if n == 0 && o.arrived() > o.from {
			x.Spans = append(x.Spans, Span{0, b.since(o.arrived()), Arriving, Site{}})
		}
		x.Spans = append(x.Spans, b.spans(g, w)...)
		l.Lanes = append(l.Lanes, x)
	}
	for _, h := range b.hands {
		if x, y := b.lane(h.from), b.lane(h.to); x >= 0 && y >= 0 && len(l.Hands) < mostHands {
			l.Hands = append(l.Hands, Hand{b.since(h.at), x, y})
		}
	}
	return l
}

func (b *biography) since(at int64) float64 { return float64(at-b.from) / 1e9 }

// least is the shortest time that can be seen.
func (b *biography) least() float64 { return leastSpan * float64(b.to-b.from) / 1e9 }

func (b *biography) lane(g int32) int {
	return slices.IndexFunc(b.shown, func(w window) bool { return w.goroutine == g })
}

// follow finds who is to be shown, and when: those that the request's goroutine waited for before it ended.
func (b *biography) follow(ended int64) {
	g := b.goroutines[b.goroutine]
	for i := range g.life {
		from, to := max(g.from(i), b.arrived()), min(g.life[i].end, ended)
		if from >= to || !g.life[i].part.Waits() {
			continue
		}
		b.back(b.goroutine, from, to, func(x step) {
			switch n := b.lane(x.goroutine); {
			case n == 0, x.stretch == none:
			case n > 0:
				b.shown[n].from, b.shown[n].to = min(b.shown[n].from, x.from), max(b.shown[n].to, x.to)
			case len(b.shown) < mostLanes && float64(x.to-x.from)/1e9 >= b.least():
				b.shown = append(b.shown, window{x.goroutine, x.from, x.to})
			}
		}, b.went)
	}
}

// went notes that one goroutine let another go on, unless it did so just before.
func (b *biography) went(waker, woken int32, at int64) {
	for _, h := range b.hands {
		if h.from == waker && h.to == woken && math.Abs(b.since(h.at)-b.since(at)) < b.least() {
			return
		}
	}
	if len(b.hands) < 10*mostHands { // some of which are not shown
		b.hands = append(b.hands, struct {
			from, to int32
			at       int64
		}{waker, woken, at})
	}
}

// spans are what a goroutine did in a window.
func (b *biography) spans(g *goroutine, w window) (out []Span) {
	var short []Span // of a time that is not yet long enough
	flush := func() {
		if len(short) == 0 {
			return
		}
		times := map[Span]float64{}
		var most Span
		longest := 0.0
		for _, s := range short {
			k := Span{Part: s.Part, Site: s.Site}
			if times[k] += s.To - s.From; times[k] > longest {
				most, longest = k, times[k]
			}
		}
		most.From, most.To = short[0].From, short[len(short)-1].To
		out, short = append(out, most), nil
	}
	for i := range g.life {
		s := &g.life[i]
		from, to := max(g.from(i), w.from), min(s.end, w.to)
		if from >= to {
			continue
		}
		x := Span{b.since(from), b.since(to), s.part, b.at(s.stack, s.part)}
		if n := len(out) - 1; n >= 0 && len(short) == 0 && out[n].Part == x.Part && out[n].Site == x.Site {
			out[n].To = x.To
			continue
		}
		if x.To-x.From >= b.least() {
			flush()
			out = append(out, x)
			continue
		}
		if short = append(short, x); x.To-short[0].From >= b.least() {
			flush()
		}
	}
	flush()
	return out
}
