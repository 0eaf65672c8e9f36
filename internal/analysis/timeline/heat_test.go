package timeline

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

const ms = time.Millisecond

// batches gives requests as a store does, three at a time, and perhaps an error at
// the end.
func batches(rs []dyno.Request, err error) iter.Seq2[dyno.Times, error] {
	return func(yield func(dyno.Times, error) bool) {
		row := int64(0)
		for part := range slices.Chunk(rs, 3) {
			t := dyno.Times{Row: row}
			for _, r := range part {
				t.Due, t.Done = append(t.Due, int64(r.Due)), append(t.Done, int64(r.Done))
				t.Failed = append(t.Failed, r.Failed)
			}
			if !slices.Contains(t.Failed, true) {
				t.Failed = nil
			}
			row += int64(len(part))
			if !yield(t, nil) {
				return
			}
		}
		if err != nil {
			yield(dyno.Times{}, err)
		}
	}
}

func heat(s Scale, window time.Duration, rs []dyno.Request) *Heat {
	h := NewHeat(s, window)
	for t := range batches(rs, nil) {
		h.Add(&t)
	}
	return h
}

func sum(h *Heat) (n int64) {
	for _, c := range h.Counts {
		n += int64(c)
	}
	return n
}

// lone fails unless the only cell with a count is this.
func lone(t *testing.T, h *Heat, row, column int) {
	t.Helper()
	for r := range h.Rows {
		for c := range h.Columns {
			if got := h.Count(r, c); (got > 0) != (r == row && c == column) {
				t.Errorf("row %d column %d has %d", r, c, got)
			}
		}
	}
}

// randoms are requests in no order, some of them due at round times.
func randoms(rng *rand.Rand, n int, window time.Duration) (rs []dyno.Request) {
	for range n {
		due := time.Duration(rng.Int64N(int64(window)))
		if rng.IntN(3) == 0 {
			due = due.Round(100 * ms)
		}
		took := time.Duration(rng.ExpFloat64() * 1e7)
		rs = append(rs, dyno.Request{Due: due, Done: min(due+took, window), Failed: rng.IntN(10) == 0})
	}
	return rs
}

// No request is lost or counted twice however a window is parted, and a part whose
// columns are those of the whole has the same counts.
func TestHeatParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		window := time.Duration(2+rng.IntN(100)) * 100 * ms
		rs := randoms(rng, 500, window)
		whole := 0
		for _, r := range rs {
			if !r.Failed {
				whole++
			}
		}
		s := Scale{0, window, ms / 10, 100 * ms, 1 + rng.IntN(50), int(window / (100 * ms))}
		h := heat(s, window, rs)
		if sum(h) != int64(whole) {
			t.Fatalf("%d of %d requests are counted in %+v", sum(h), whole, s)
		}
		cut := 1 + rng.IntN(s.Columns-1)
		left, right := s, s
		left.To, left.Columns = time.Duration(cut)*100*ms, cut
		right.From, right.Columns = left.To, s.Columns-cut
		counts := slices.Concat(heat(left, window, rs).Counts, heat(right, window, rs).Counts)
		if !slices.Equal(counts, h.Counts) {
			t.Fatalf("cut at column %d of %+v, the counts differ", cut, s)
		}
		odd := s
		odd.To, odd.Columns = 1+time.Duration(rng.Int64N(int64(window)-1)), 7
		rest := s
		rest.From, rest.Columns = odd.To, 3
		if a, b := sum(heat(odd, window, rs)), sum(heat(rest, window, rs)); a+b != int64(whole) {
			t.Fatalf("cut at %v, %d and %d of %d requests are counted", odd.To, a, b, whole)
		}
	}
}

// A row is where the logarithm says, at its edges too.
func TestHeatRows(t *testing.T) {
	h := NewHeat(Scale{0, time.Second, 31 * time.Microsecond, 520 * ms, 100, 1}, time.Second)
	for row := range 100 {
		edge := int64(h.Edge(row))
		if got := h.row(edge); got != row {
			t.Errorf("%d ns are in row %d, want %d", edge, got, row)
		}
		if got := h.row(edge - 1); got != max(row-1, 0) {
			t.Errorf("%d ns are in row %d, want %d", edge-1, got, row-1)
		}
	}
	for took, want := range map[int64]int{1: 0, 520e6: 99, 1 << 62: 99} {
		if got := h.row(took); got != want {
			t.Errorf("%d ns are in row %d, want %d", took, got, want)
		}
	}
	lone(t, heat(Scale{0, 10 * time.Second, ms, time.Second, 3, 10}, 10*time.Second,
		[]dyno.Request{{Due: 3500 * ms, Done: 3520 * ms}, {Due: 3999 * ms, Done: 4030 * ms}}), 1, 3)
}

// logged makes the lines of a log, which last a second.
func logged(rs []dyno.Request, window time.Duration) (lines []*hist.Line) {
	for from := time.Duration(0); from < window; from += time.Second {
		l := &hist.Line{From: from - ms/2, To: min(from+time.Second, window) - ms/2, Histogram: hist.New()} // the log's start is cut to a millisecond
		for _, r := range rs {
			if r.Done > l.From && r.Done <= l.To && !r.Failed || r.Done > l.To && l.To+ms > window {
				l.Add(r.Done - r.Due)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// Lines keep their total whatever columns they fall into, and in parts of a window.
func TestHeatLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(s Scale, window time.Duration, lines []*hist.Line) *Heat {
		h := NewHeat(s, window)
		for _, l := range lines {
			h.AddLine(l)
		}
		return h
	}
	for range 50 {
		window := time.Duration(2+rng.IntN(20))*time.Second + time.Duration(rng.IntN(900))*ms
		lines := logged(randoms(rng, 1000, window), window)
		want := int64(0)
		for _, l := range lines {
			want += l.Count()
		}
		s := Scale{0, window, ms / 10, 100 * ms, 20, 1 + rng.IntN(200)}
		if got := sum(fill(s, window, lines)); got != want {
			t.Fatalf("%d of %d requests are counted in %d columns of %v", got, want, s.Columns, window)
		}
		left, right := s, s
		left.To = 1 + time.Duration(rng.Int64N(int64(window)-1))
		right.From = left.To
		if a, b := sum(fill(left, window, lines)), sum(fill(right, window, lines)); a+b != want {
			t.Fatalf("cut at %v, %d and %d of %d requests are counted", left.To, a, b, want)
		}
		longer := s
		longer.To += 10 * time.Second // as another trial of the block
		if got := sum(fill(longer, window, lines)); got != want {
			t.Fatalf("%d of %d requests are counted where the window ends early", got, want)
		}
	}

	one := &hist.Line{From: 3 * time.Second, To: 4 * time.Second, Histogram: hist.New()}
	for range 1000 {
		one.Add(20 * ms)
	}
	lone(t, fill(Scale{0, 10 * time.Second, ms, time.Second, 3, 5}, 10*time.Second, []*hist.Line{one}), 1, 1)
	even := fill(Scale{0, 10 * time.Second, ms, time.Second, 3, 100}, 10*time.Second, []*hist.Line{one})
	for c := range 100 {
		if got := even.Count(1, c); (c/10 == 3) != (got >= 99 && got <= 101) || c/10 != 3 && got > 0 {
			t.Errorf("column %d of a second's ten has %d of 1000", c, got)
		}
	}
}

// A collection fills the columns that it overlaps; after the window nobody knows.
func TestHeatCollections(t *testing.T) {
	cs := []dyno.Collection{
		{Start: -5 * ms, End: 5 * ms}, {Start: 10 * ms, End: 30 * ms, SweepTerm: ms, MarkTerm: 3 * ms}, {Start: 70 * ms, End: 80 * ms},
	}
	h := NewHeat(Scale{From: 20 * ms, To: 120 * ms, Rows: 1, Columns: 5}, 95*ms)
	h.AddCollections(cs, 95*ms)
	got := fmt.Sprintf("%.2f %v %v", h.Collecting, h.Stops, h.Longest)
	if want := "[0.50 0.00 0.50 0.00 NaN] [1 0 1 1 0] [3ms 0s 0s 0s 0s]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	none := NewHeat(Scale{To: time.Second, Rows: 1, Columns: 2}, time.Second)
	if none.AddCollections(nil, time.Second); !reflect.DeepEqual(none.Collecting, []float64{0, 0}) || none.Counts != nil {
		t.Errorf("without collections: %+v", none)
	}
}

func BenchmarkHeat(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	t := dyno.Times{}
	for _, r := range randoms(rng, 1_000_000, time.Hour) {
		t.Due, t.Done = append(t.Due, int64(r.Due)), append(t.Done, int64(r.Done))
	}
	slices.Sort(t.Due)
	for i := range t.Done {
		t.Done[i] = t.Due[i] + int64(rng.ExpFloat64()*1e7)
	}
	h := NewHeat(Scale{0, time.Hour, 31 * time.Microsecond, 520 * ms, 100, 1200}, time.Hour)
	for b.Loop() {
		h.Add(&t)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/request")
}
