package store_test

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/store"
)

// Times are those of the requests, over several row groups, and a part of the window
// takes only the groups that may hold it.
func TestTimes(t *testing.T) {
	d := create(t)
	const n = 300_000
	if err := d.WriteRequests(1, requests(n)); err != nil {
		t.Fatal(err)
	}
	want := collect(t, requests(n))
	row := 0
	for part, err := range d.Times(1, 0, math.MaxInt64) {
		if err != nil || part.Row != int64(row) {
			t.Fatalf("row %d: %d, %v", row, part.Row, err)
		}
		for i, due := range part.Due {
			q := want[row]
			if due != int64(q.Due) || part.Done[i] != int64(q.Done) || (part.Failed != nil && part.Failed[i]) != q.Failed {
				t.Fatalf("row %d is due %d, done %d, want %+v", row, due, part.Done[i], q)
			}
			row++
		}
	}
	if kept, err := d.Kept(1); row != n || kept != n || err != nil {
		t.Errorf("%d rows, %d kept, %v", row, kept, err)
	}
	from, to, rows, found := 3*time.Second, 3100*time.Millisecond, 0, 0
	for part, err := range d.Times(1, from, to) {
		if err != nil {
			t.Fatal(err)
		}
		rows += len(part.Due)
		for _, due := range part.Due {
			if due >= int64(from) && due <= int64(to) {
				found++
			}
		}
	}
	for _, q := range want {
		if q.Due >= from && q.Due <= to {
			found--
		}
	}
	if found != 0 || rows > 2*131072 || rows == 0 {
		t.Errorf("%d more requests of a part than there are; %d rows were read", found, rows)
	}
	for range d.Times(1, 0, math.MaxInt64) {
		break
	}
}

func TestRequestsAt(t *testing.T) {
	d := create(t)
	const n = 300_000
	if err := d.WriteRequests(1, requests(n)); err != nil {
		t.Fatal(err)
	}
	all := collect(t, requests(n))
	rows := []int64{299_999, 0, 131_071, 131_072, 8_191, 8_192, 200_000, 200_001}
	got, err := d.RequestsAt(1, rows)
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d requests, %v", len(got), err)
	}
	for i, row := range []int64{0, 8_191, 8_192, 131_071, 131_072, 200_000, 200_001, 299_999} {
		if got[i] != all[row] {
			t.Errorf("row %d: %+v, want %+v", row, got[i], all[row])
		}
	}
	if _, err := d.RequestsAt(1, []int64{n}); err == nil {
		t.Error("a row beyond the last: no error")
	}
}

func TestTimesNone(t *testing.T) {
	d := create(t)
	for _, err := range d.Times(1, 0, math.MaxInt64) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing kept: %v", err)
		}
	}
	if _, err := d.Kept(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing kept: %v", err)
	}
	if _, err := d.RequestsAt(1, []int64{0}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing kept: %v", err)
	}
}

// A file that is cut off or has other bytes than were written is an error or holds
// other times; it is no panic.
func TestTimesBroken(t *testing.T) {
	d := create(t)
	if err := d.WriteRequests(1, requests(5000)); err != nil {
		t.Fatal(err)
	}
	path := d.TrialFile(1, "requests.parquet")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (last error) {
		for _, err := range d.Times(1, 0, math.MaxInt64) {
			last = err
		}
		d.RequestsAt(1, []int64{0, 4999})
		return last
	}
	for _, cut := range []int{0, 3, 100, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if err := read(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		bad := append([]byte(nil), whole...)
		at := rng.IntN(len(bad))
		if rng.IntN(2) == 0 { // what tells of the columns
			at = len(bad) - 1 - rng.IntN(3000)
		}
		bad[at] ^= byte(1 + rng.IntN(255))
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		read()
	}
}

// Of a log, the lines of a part of the window are those that the whole has there.
func TestLatencyPart(t *testing.T) {
	d := create(t)
	r := result(1)
	if _, err := d.TrialDir(1); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(d.TrialFile(1, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := hist.NewLog(f, r.Start)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		h := hist.New()
		for range 1 + i*50 { // later lines are longer than what is read at once
			h.Add(time.Duration(math.Exp(rng.NormFloat64()*3+15)) + 1)
		}
		if err := log.Add(h, time.Duration(i)*time.Second, time.Duration(i+1)*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range [][3]int{{0, 100, 100}, {10, 11, 1}, {50, 60, 10}, {99, 200, 1}, {200, 300, 0}} {
		n := 0
		for l, err := range d.Latency(r, time.Duration(part[0])*time.Second+1e6, time.Duration(part[1])*time.Second-1e6) {
			i := part[0] + n
			if err != nil || l.From != time.Duration(i)*time.Second || l.Count() != int64(1+i*50) {
				t.Fatalf("line %d of %v: from %v, %d, %v", n, part, l.From, l.Count(), err)
			}
			n++
		}
		if n != part[2] {
			t.Errorf("%d lines of %v", n, part)
		}
	}
	for _, err := range d.Latency(result(2), 0, time.Hour) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without a log: %v", err)
		}
	}
}

// Ten million rows, or with -short two.
func BenchmarkTimes(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 2_000_000
	}
	d := create(b)
	if err := d.WriteRequests(1, requests(n)); err != nil {
		b.Fatal(err)
	}
	all := time.Duration(n) * 20 * time.Microsecond
	for name, from := range map[string]time.Duration{"all": 0, "hundredth": all - all/100} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				rows += countRows(b, d, from, all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
		})
	}
}

func countRows(b *testing.B, d *store.Dir, from, to time.Duration) (rows int) {
	for t, err := range d.Times(1, from, to) {
		if err != nil {
			b.Fatal(err)
		}
		rows += len(t.Due)
	}
	return rows
}
