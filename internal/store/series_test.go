package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// written makes the directory of trial 1 with a series.csv.
func written(t testing.TB, d *store.Dir, text string) {
	t.Helper()
	if _, err := d.TrialDir(1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.TrialFile(1, "series.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readSeries(t testing.TB, d *store.Dir, metrics ...string) []dyno.Series {
	t.Helper()
	all, err := d.Series(1, metrics...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// long is a series.csv of so many readings of 30 metrics, ten readings a second.
func long(t testing.TB, d *store.Dir, readings int) {
	t.Helper()
	written(t, d, "")
	f, err := os.Create(d.TrialFile(1, "series.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := []byte("metric,sec,value\n")
	for i := range readings {
		for m := range 30 {
			b = fmt.Appendf(b, "expvar/a name of some length %d,%d.%d00000,%d\n", m, i/10, i%10, i*m)
		}
		if len(b) > 1<<20 || i == readings-1 {
			if _, err := f.Write(b); err != nil {
				t.Fatal(err)
			}
			b = b[:0]
		}
	}
}

// What was written in order of time is read by metric, before and after the result
// is stored, in any selection, whatever the names and values are.
func TestSeries(t *testing.T) {
	d := create(t)
	written(t, d, "metric,sec,value\nrss-B,-0.500000,1\n\"expvar/a, \"\"b\"\"\",0.000000,-0\nrss-B,0.000001,1e+300\n"+
		"µ,36000.123457,0.1\n\"expvar/a, \"\"b\"\"\",1.000000,NaN\nrss-B,1.250000,123456789012\n")
	want := "[{expvar/a, \"b\" [0s 1s] [-0 NaN]} {rss-B [-500ms 1µs 1.25s] [1 1e+300 1.23456789012e+11]} {µ [10h0m0.123457s] [0.1]}]"
	if got := readSeries(t, d); fmt.Sprint(got) != want {
		t.Errorf("of the text: %v, want %s", got, want)
	}
	r := result(1)
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if files := []string{"latency.hlog", "series.parquet"}; !slices.Equal(r.Files, files) || len(r.Warnings) != 1 {
		t.Errorf("files %q, want %q; warnings %q", r.Files, files, r.Warnings)
	}
	if got := readSeries(t, d); fmt.Sprint(got) != want {
		t.Errorf("of the result: %v, want %s", got, want)
	}
	got := readSeries(t, d, "µ", "nothing", "rss-B")
	if len(got) != 2 || got[0].Metric != "rss-B" || got[1].Metric != "µ" {
		t.Errorf("a selection: %v", got)
	}
	if got := readSeries(t, d, "nothing"); len(got) != 0 {
		t.Errorf("none of those asked for: %v", got)
	}
}

// A trial without a point has no file, and neither has one that nobody watched.
func TestSeriesEmpty(t *testing.T) {
	for _, text := range []string{"", "metric,sec", "metric,sec,value\n", "metric,sec,value\nrss-B,0.0"} {
		d := create(t)
		written(t, d, text)
		r := result(1)
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Series(1); !errors.Is(err, fs.ErrNotExist) || !slices.Equal(r.Files, []string{"latency.hlog"}) {
			t.Errorf("%q: %v, files %q", text, err, r.Files)
		}
		if _, err := d.Series(2, "rss-B"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nobody watched: %v", err)
		}
	}
}

// A dyno that is killed at any byte loses the last point, of which a part could
// pass for the whole, and a directory of an older dyno is read as it is.
func TestSeriesKilled(t *testing.T) {
	d := create(t)
	whole := "metric,sec,value\nrss-B,0.000000,11\nheap-B,0.000000,22\nrss-B,1.000000,3333\n"
	for cut := range len(whole) + 1 {
		written(t, d, whole[:cut])
		lines := strings.Count(whole[:cut], "\n")
		points := 0
		for _, s := range readSeries(t, d) {
			points += len(s.Value)
			for _, v := range s.Value {
				if v != 11 && v != 22 && v != 3333 {
					t.Errorf("cut at %d: %v", cut, s)
				}
			}
		}
		if points != max(lines-1, 0) {
			t.Errorf("cut at %d: %d points", cut, points)
		}
	}
	written(t, d, "metric,sec,value\nrss-B,0.000000,1\nrss-B,1.000000,2\nheap-B,0.000000,3\nheap-B,1.000000,4\n")
	sec := []time.Duration{0, time.Second}
	want := []dyno.Series{{Metric: "heap-B", At: sec, Value: []float64{3, 4}}, {Metric: "rss-B", At: sec, Value: []float64{1, 2}}}
	if got := readSeries(t, d); !reflect.DeepEqual(got, want) {
		t.Errorf("metric by metric: %v", got)
	}
}

// What cannot be read is said and stays.
func TestSeriesBroken(t *testing.T) {
	d := create(t)
	text := "metric,sec,value\nrss-B,0.000000,1\nrss-B,1.000000,x\n"
	written(t, d, text)
	if _, err := d.Series(1); err == nil || !strings.Contains(err.Error(), "series.csv: line 3: ") {
		t.Errorf("got %v", err)
	}
	r := result(1)
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1].Text, "the series stay in series.csv: line 3: ") || !slices.Equal(r.Files, []string{"latency.hlog", "series.csv"}) {
		t.Errorf("warnings %q, files %q", r.Warnings, r.Files)
	}
	if data, err := os.ReadFile(d.TrialFile(1, "series.csv")); string(data) != text {
		t.Errorf("%q, %v", data, err)
	}
}

// A long file is put in order part by part, so that its length does not matter for
// memory, and a reader of one metric leaves the others out.
func TestSeriesLong(t *testing.T) {
	d := create(t)
	const readings = 60_000 // 1.8 million points: 29 MB of times and values
	long(t, d, readings)
	grown := liveHeap(t, func() {
		if err := d.Add(&dyno.Result{Trial: plan().Trials()[0]}); err != nil {
			t.Error(err)
		}
	})
	if grown > 16<<20 || grown <= 0 {
		t.Errorf("%d bytes of memory for them", grown)
	}
	const metric = "expvar/a name of some length 7"
	got := readSeries(t, d, metric)
	if len(got) != 1 || len(got[0].At) != readings {
		t.Fatalf("%d series", len(got))
	}
	for i, at := range got[0].At {
		if at != time.Duration(i)*100*time.Millisecond || got[0].Value[i] != float64(7*i) {
			t.Fatalf("point %d is %v at %v", i, got[0].Value[i], at)
		}
	}
	f, err := os.Open(filepath.Join(d.Path, "trials", "0001", "series.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for _, g := range file.RowGroups() {
		first, last, _ := g.ColumnChunks()[0].(*parquet.FileColumnChunk).Bounds()
		if string(first.ByteArray()) <= metric && metric <= string(last.ByteArray()) {
			rows += g.NumRows()
		}
	}
	if rows > 2*readings {
		t.Errorf("%d rows have to be read for %d points", rows, readings)
	}
}

// liveHeap is by how many bytes the live heap grew at most while f ran, as the
// collections in it found it.
func liveHeap(t *testing.T, f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	live := func() int64 {
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	runtime.GC()
	before := live()
	var most atomic.Int64
	var done atomic.Bool
	var each func(*[16]byte) // a finalizer that comes back after each collection
	each = func(p *[16]byte) {
		most.Store(max(most.Load(), live()))
		if !done.Load() {
			runtime.SetFinalizer(p, each)
		}
	}
	runtime.SetFinalizer(new([16]byte), each)
	f()
	done.Store(true)
	return most.Load() - before
}

func BenchmarkSeries(b *testing.B) {
	const readings = 100_000
	d := create(b)
	long(b, d, readings)
	text, err := os.ReadFile(d.TrialFile(1, "series.csv"))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			written(b, d, string(text))
			if err := d.Add(&dyno.Result{Trial: plan().Trials()[0]}); err != nil {
				b.Fatal(err)
			}
		}
		info, err := os.Stat(d.TrialFile(1, "series.parquet"))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/(30*readings), "B/row")
		b.ReportMetric(30*readings*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			readSeries(b, d, "expvar/a name of some length 7")
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			readSeries(b, d)
		}
	})
}
