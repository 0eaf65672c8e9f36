package tail

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/dynolab/dyno"
)

// A span is a part of the measured window, its ends included.
type span struct{ From, To time.Duration }

// spans are parts of the window that do not touch, in order.
type spans struct {
	window time.Duration
	list   []span
	total  time.Duration   // of the list
	gaps   []time.Duration // before each span, around the window's ends; the shortest first
	sums   []time.Duration // of so many of the shortest gaps
}

// Join joins those that touch and cuts what is outside of the window.
func Join(list []span, window time.Duration) (joined []span) {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	for _, x := range list {
		x.From, x.To = max(x.From, 0), min(x.To, window)
		last := len(joined) - 1
		switch {
		case x.From > x.To:
		case last >= 0 && x.From <= joined[last].To:
			joined[last].To = max(joined[last].To, x.To)
		default:
			joined = append(joined, x)
		}
	}
	return joined
}

func newSpans(list []span, window time.Duration) *spans {
	s := &spans{window: window, list: Join(list, window)}
	for i, x := range s.list {
		s.total += x.To - x.From
		if i > 0 {
			s.gaps = append(s.gaps, x.From-s.list[i-1].To)
		}
	}
	if n := len(s.list); n > 0 {
		s.gaps = append(s.gaps, s.list[0].From+window-s.list[n-1].To)
	}
	slices.Sort(s.gaps)
	s.sums = make([]time.Duration, len(s.gaps)+1)
	for i, g := range s.gaps {
		s.sums[i+1] = s.sums[i] + g
	}
	return s
}

// UnderWay are the times in which a collection was.
func UnderWay(cs []dyno.Collection) []span {
	list := make([]span, len(cs))
	for i, c := range cs {
		list[i] = span{c.Start, c.End}
	}
	return list
}

// Stops are the times in which collections had stopped the world.
func Stops(cs []dyno.Collection) []span {
	list := make([]span, 0, 2*len(cs))
	for _, c := range cs {
		list = append(list, span{c.Start, c.Start + c.SweepTerm}, span{c.End - c.MarkTerm, c.End})
	}
	return list
}

func (s *spans) share() float64 {
	if s.window == 0 {
		return 0
	}
	return float64(s.total) / float64(s.window)
}

func (s *spans) meets(began, ended time.Duration) bool {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].To >= began })
	return i < len(s.list) && s.list[i].From <= ended
}

// chance is how likely something that takes so long meets a span, if all spans are shifted
// together by a random time around the window: it begins in a span, or so long before one.
func (s *spans) chance(took time.Duration) float64 {
	if len(s.list) == 0 || s.window == 0 {
		return 0
	}
	short := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i] > took })
	long := len(s.gaps) - short
	near := float64(s.total) + float64(s.sums[short]) + float64(took)*float64(long)
	return min(near/float64(s.window), 1)
}
