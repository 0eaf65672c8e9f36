package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/hist"
)

const mostBins = 12

// A bin counts requests of at least from and less than to nanoseconds.
type bin struct{ from, to, count int64 }

// binsOf parts h at round durations, as finely as mostBins allows; empty neighbours are
// one bin. Sturges limits the bins that have something in them ("The Choice of a Class
// Interval", JASA 21, 1926).
func binsOf(h *hist.Histogram) []bin {
	bars := spikes(h)
	sturges := 1 + int(math.Ceil(math.Log2(float64(h.Count()))))
	var bins []bin
	for edges := range scales(h.Min().Nanoseconds(), h.Max().Nanoseconds()) {
		filled := 0
		bins = bins[:0]
		for _, b := range fill(bars, edges) {
			if b.count > 0 {
				filled++
			} else if n := len(bins); n > 0 && bins[n-1].count == 0 {
				bins[n-1].to = b.to
				continue
			}
			bins = append(bins, b)
		}
		if len(bins) <= mostBins && filled <= sturges {
			break
		}
	}
	return bins
}

// finest is the least width of a bin as a share of its place: a histogram has 3 digits.
const finest = 500

func linear(lo, hi int64) bool { return float64(hi)/float64(max(lo, 1)) <= 4 }

// scales yields edges, the finest first.
func scales(lo, hi int64) func(yield func([]int64) bool) {
	lo, hi = max(lo, 1), max(hi, 1)
	return func(yield func([]int64) bool) {
		if linear(lo, hi) {
			for step := range ladder([]int64{1, 2, 5}, 1) {
				if step < hi/finest {
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
		for _, n := range []int{80, 40, 20, 10} {
			if !yield(around(lo, hi, preferred(n))) {
				return
			}
		}
		for _, mantissas := range [][]int64{{100, 150, 200, 300, 500, 700}, {100, 200, 500}, {100, 300}, {100}} {
			if !yield(around(lo, hi, mantissas)) {
				return
			}
		}
	}
}

// preferred are n numbers a decade with a constant ratio, in hundredths.
func preferred(n int) []int64 {
	var ms []int64
	for i := range n {
		ms = append(ms, int64(math.Round(100*math.Pow(10, float64(i)/float64(n)))))
	}
	return ms
}

func around(lo, hi int64, mantissas []int64) (edges []int64) {
	for edge := range ladder(mantissas, mantissas[0]) {
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

// ladder yields m/unit, 10 m/unit, 100 m/unit … for all m, where whole, up to some 10^13.
func ladder(mantissas []int64, unit int64) func(yield func(int64) bool) {
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

// spikes has the fastest and the slowest exactly.
func spikes(h *hist.Histogram) (ss []spike) {
	for _, b := range h.Counts().Distribution() {
		if b.Count == 0 {
			continue
		}
		ns := (b.From + b.To) / 2
		if least := h.Min().Nanoseconds(); b.From <= least {
			ns = least
		} else if most := h.Max().Nanoseconds(); b.To >= most {
			ns = most
		}
		ss = append(ss, spike{ns: ns, count: b.Count})
	}
	return ss
}

func fill(ss []spike, edges []int64) []bin {
	bins := make([]bin, len(edges)-1)
	for i := range bins {
		bins[i].from, bins[i].to = edges[i], edges[i+1]
	}
	at := 0
	for _, s := range ss {
		for at < len(bins)-1 && s.ns >= bins[at].to {
			at++
		}
		bins[at].count += s.count
	}
	return bins
}

// edgeLabels gives each edge the unit that suits it, and edges of one unit the same decimals.
func edgeLabels(bins []bin) []string {
	edges := []int64{bins[0].from}
	for _, b := range bins {
		edges = append(edges, b.to)
	}
	texts := make([]string, len(edges))
	decimals := map[string]int{}
	unit := func(ns int64) step {
		for _, st := range timeSteps {
			if float64(ns) >= st.factor*1e9*(1-1e-9) {
				return st
			}
		}
		return timeSteps[len(timeSteps)-1]
	}
	number := func(ns int64, decimals int) string {
		return strconv.FormatFloat(float64(ns)/math.Round(unit(ns).factor*1e9), 'f', decimals, 64)
	}
	for _, ns := range edges {
		_, frac, _ := strings.Cut(number(ns, -1), ".")
		u := unit(ns).unit
		decimals[u] = max(decimals[u], len(frac))
	}
	for i, ns := range edges {
		u := unit(ns).unit
		texts[i] = fmt.Sprintf("%s %-2s", number(ns, decimals[u]), u)
	}
	return texts
}

// bar draws at least an eighth of a character for what is there.
func bar(n, most int64, width int) string {
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
