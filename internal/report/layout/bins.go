package layout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/hist"
)

const MostBins = 12

// A Bin counts requests of at least from and less than to nanoseconds.
type Bin struct{ From, To, Count int64 }

// BinsOf parts h at round durations, as finely as MostBins allows; empty neighbours are
// one bin. Sturges limits the bins that have something in them ("The Choice of a Class
// Interval", JASA 21, 1926).
func BinsOf(h *hist.Histogram) []Bin {
	bars := Spikes(h)
	sturges := 1 + int(math.Ceil(math.Log2(float64(h.Count()))))
	var bins []Bin
	for edges := range scales(h.Min().Nanoseconds(), h.Max().Nanoseconds()) {
		filled := 0
		bins = bins[:0]
		for _, b := range Fill(bars, edges) {
			if b.Count > 0 {
				filled++
			} else if n := len(bins); n > 0 && bins[n-1].Count == 0 {
				bins[n-1].To = b.To
				continue
			}
			bins = append(bins, b)
		}
		if len(bins) <= MostBins && filled <= sturges {
			break
		}
	}
	return bins
}

// Finest is the place of a bin over its least width: a histogram has 3 digits.
const Finest = 500

// Linear reports whether edges from lo to hi (nanoseconds) are evenly spaced: within a factor of 4.
func Linear(lo, hi int64) bool { return float64(hi)/float64(max(lo, 1)) <= 4 }

// scales yields edges, the finest first.
func scales(lo, hi int64) func(yield func([]int64) bool) {
	lo, hi = max(lo, 1), max(hi, 1)
	return func(yield func([]int64) bool) {
		if Linear(lo, hi) {
			for step := range Ladder([]int64{1, 2, 5}, 1) {
				if step < hi/Finest {
					continue
				}
				var edges []int64
				for n := lo / step; n <= hi/step+1; n++ {
					edges = append(edges, n*step)
				}
				if !yield(edges) {
					return
				}
			}
			return
		}
		for _, mantissas := range mantissas {
			if !yield(around(lo, hi, mantissas)) {
				return
			}
		}
	}
}

// mantissas are edges in a decade, in hundredths: many with a constant ratio, then round ones.
var mantissas = func() (all [][]int64) {
	for _, n := range []int{80, 40, 20, 10} {
		var ms []int64
		for i := range n {
			ms = append(ms, int64(math.Round(100*math.Pow(10, float64(i)/float64(n)))))
		}
		all = append(all, ms)
	}
	return append(all, []int64{100, 150, 200, 300, 500, 700}, []int64{100, 200, 500}, []int64{100, 300}, []int64{100})
}()

func around(lo, hi int64, mantissas []int64) (edges []int64) {
	for edge := range Ladder(mantissas, mantissas[0]) {
		if edge <= lo {
			edges = edges[:0]
		}
		edges = append(edges, edge)
		if edge > hi {
			break
		}
	}
	return edges
}

// Ladder yields m/unit, 10 m/unit, 100 m/unit … for all m, where whole, up to some 10^13.
func Ladder(mantissas []int64, unit int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for power := int64(1); power <= math.MaxInt64/100_000; power *= 10 {
			for _, m := range mantissas {
				if m*power%unit == 0 && !yield(m*power/unit) {
					return
				}
			}
		}
	}
}

type spike struct{ ns, count int64 }

// Spikes has the fastest and the slowest exactly.
func Spikes(h *hist.Histogram) (ss []spike) {
	for _, b := range h.Counts().Distribution() {
		ns := (b.From + b.To) / 2
		if least, most := h.Min().Nanoseconds(), h.Max().Nanoseconds(); b.From <= least {
			ns = least
		} else if b.To >= most {
			ns = most
		}
		if b.Count > 0 {
			ss = append(ss, spike{ns, b.Count})
		}
	}
	return ss
}

// Fill counts spikes into the bins between edges.
func Fill(ss []spike, edges []int64) []Bin {
	bins := make([]Bin, len(edges)-1)
	for i := range bins {
		bins[i].From, bins[i].To = edges[i], edges[i+1]
	}
	at := 0
	for _, s := range ss {
		for at < len(bins)-1 && s.ns >= bins[at].To {
			at++
		}
		bins[at].Count += s.count
	}
	return bins
}

// EdgeLabels gives each edge the unit that suits it, and edges of one unit the same decimals.
func EdgeLabels(bins []Bin) []string {
	edges := []int64{bins[0].From}
	for _, b := range bins {
		edges = append(edges, b.To)
	}
	texts := make([]string, len(edges))
	decimals := map[string]int{}
	unit := func(ns int64) step {
		for _, st := range TimeSteps {
			if float64(ns) >= st.Factor*1e9*(1-1e-9) {
				return st
			}
		}
		return TimeSteps[len(TimeSteps)-1]
	}
	number := func(ns int64, decimals int) string {
		return strconv.FormatFloat(float64(ns)/math.Round(unit(ns).Factor*1e9), 'f', decimals, 64)
	}
	for _, ns := range edges {
		_, frac, _ := strings.Cut(number(ns, -1), ".")
		u := unit(ns).Unit
		decimals[u] = max(decimals[u], len(frac))
	}
	for i, ns := range edges {
		u := unit(ns).Unit
		texts[i] = fmt.Sprintf("%s %-2s", number(ns, decimals[u]), u)
	}
	return texts
}

// Bar draws at least an eighth of a character for what is there.
func Bar(n, most int64, width int) string {
	if n == 0 || most == 0 {
		return ""
	}
	eighths := max(1, int(math.Round(8*float64(width)*float64(n)/float64(most))))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		const parts = "▏▎▍▌▋▊▉"
		size := utf8.RuneLen('▏')
		s += parts[(rest-1)*size : rest*size]
	}
	return s
}
