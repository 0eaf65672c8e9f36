package store_test

import (
	"errors"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// requests are n of 64 clients at 50,000 a second, in the order of done, as far
// as a heap of clients has it.
func requests(n int) iter.Seq2[dyno.Request, error] {
	return func(yield func(dyno.Request, error) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			done := time.Duration(i)*20*time.Microsecond + time.Duration(rng.IntN(20_000))
			service := time.Duration(math.Exp(rng.NormFloat64()*0.5 + 13.5))
			sent := max(done-service, 0)
			r := dyno.Request{
				Client: rng.IntN(64), Step: []string{"GET /", "patch"}[i%2],
				Due: max(sent-time.Duration(rng.IntN(50_000)), 0), Sent: sent, Done: done, Status: 200, Bytes: 500 + rng.Int64N(20),
			}
			if i%1000 == 999 {
				r.Failed, r.Status, r.Bytes = true, i/1000%2*503, 0
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func collect(t *testing.T, seq iter.Seq2[dyno.Request, error]) (rs []dyno.Request) {
	t.Helper()
	for r, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

// What was kept is read back whole and in order, over several row groups; the
// file is one of the result's files, and reading may end early.
func TestRequests(t *testing.T) {
	d := create(t)
	if _, err := d.TrialDir(1); err != nil {
		t.Fatal(err)
	}
	const n = 300_000
	if err := d.WriteRequests(1, requests(n)); err != nil {
		t.Fatal(err)
	}
	if got, want := collect(t, d.Requests(1)), collect(t, requests(n)); !slices.Equal(got, want) {
		t.Fatalf("%d requests, want %d, or not the same", len(got), len(want))
	}
	for range d.Requests(1) {
		break
	}
	r := result(1)
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if want := []string{"latency.hlog", "requests.parquet"}; !slices.Equal(r.Files, want) {
		t.Errorf("files are %q", r.Files)
	}
}

func TestRequestsNone(t *testing.T) {
	d := create(t)
	for r, err := range d.Requests(1) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read %+v, %v", r, err)
		}
	}
	if err := d.WriteRequests(2, requests(0)); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, d.Requests(2)); len(got) != 0 {
		t.Errorf("read %+v", got)
	}
}

// An error half-way leaves no file that could pass for the whole, and a file
// that is cut off is an error.
func TestRequestsBroken(t *testing.T) {
	d := create(t)
	boom := errors.New("boom")
	err := d.WriteRequests(1, func(yield func(dyno.Request, error) bool) {
		for r := range requests(200_000) {
			if !yield(r, nil) {
				return
			}
		}
		yield(dyno.Request{}, boom)
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "trial 1") {
		t.Errorf("got %v", err)
	}
	dir := filepath.Join(d.Path, "trials", "0001")
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v was left", entries)
	}
	if err := d.WriteRequests(1, requests(1000)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "requests.parquet")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 3, 100, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range d.Requests(1) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), path) {
			t.Errorf("cut at %d: %v", cut, last)
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	const n = 2_000_000
	d := create(b)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if err := d.WriteRequests(1, requests(n)); err != nil {
				b.Fatal(err)
			}
		}
		info, err := os.Stat(filepath.Join(d.Path, "trials", "0001", "requests.parquet"))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/n, "B/row")
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for range d.Requests(1) {
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("make", func(b *testing.B) { // what the requests of write cost themselves
		for b.Loop() {
			for range requests(n) {
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
