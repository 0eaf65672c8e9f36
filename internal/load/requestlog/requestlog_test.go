package requestlog

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

func scratch(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func readKept(t *testing.T, k *Log) (rs []dyno.Request) {
	t.Helper()
	for r, err := range k.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

// Every request is read back as it was, in the order of done, twice if need be.
func TestKeeperReadsBack(t *testing.T) {
	labels := []string{"login", "patch"}
	k := New(scratch(t), 1<<40, labels)
	rng := rand.New(rand.NewPCG(1, 2))
	const buffers, each = 5, 5000 // no multiple of a block, and the last buffer stays empty
	var want []dyno.Request
	for i := range buffers {
		b := k.Buffer()
		done := time.Duration(0)
		for n := range each {
			if i == buffers-1 {
				break
			}
			done += time.Duration(rng.Int64N(int64(time.Hour)))
			service, wait := time.Duration(rng.Int64N(int64(time.Minute))), time.Duration(rng.Int64N(1000))
			r := dyno.Request{
				Client: i*1000 + n%7, Step: labels[n%2], Due: max(done-service-wait, 0), Sent: max(done-service, 0), Done: done,
				Status: []int{0, 200, 204, 404, 599}[n%5], Bytes: rng.Int64N(1 << 30), Failed: n%5 == 0,
			}
			b.Add(r.Client, n%2, r.Due, r.Sent, r.Done, r.Status, r.Bytes, r.Failed)
			want = append(want, r)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(want, func(a, b dyno.Request) int { return int(a.Done - b.Done) })
	for range 2 {
		if got := readKept(t, k); !slices.Equal(got, want) {
			t.Fatalf("%d requests, want %d, or not the same", len(got), len(want))
		}
	}
	if n, seen := k.Kept(); n != int64(len(want)) || seen != n {
		t.Errorf("kept %d of %d", n, seen)
	}
}

// What does not fit is the most that fits, and disturbs no other field.
func TestKeeperSaturates(t *testing.T) {
	k := New(scratch(t), 10, []string{"x"})
	b := k.Buffer()
	const year = 365 * 24 * time.Hour
	b.Add(-1, 0, -5, -7, -9, -1, -1, false)
	b.Add(1<<40, 99, 20*year, 40*year, 60*year, 1<<20, 1<<50, true)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	d := time.Duration(1<<56 - 1)
	want := []dyno.Request{
		{Step: "x"},
		{Client: 1<<32 - 1, Due: d, Sent: d + 1<<48 - 1, Done: d + 2<<48 - 2, Status: 1<<16 - 1, Bytes: 1<<32 - 1, Failed: true},
	}
	if got := readKept(t, k); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// Of too many requests a sample is kept that favours none: not early or late
// ones, no client, not the fast or the slow. The file grows little.
func TestKeeperSamplesUniformly(t *testing.T) {
	const most, seen, runs = 20_000, 1_500_000, 2
	var early, client, slow [10]float64
	total := 0.0
	for run := range uint64(runs) {
		k := New(scratch(t), most, []string{"x"})
		var buffers []*Buffer
		for i := range uint64(10) {
			buffers = append(buffers, k.Buffer())
			buffers[i].rng = run<<32 | i // the same in every test
		}
		for i := range seen {
			at := time.Duration(i) * time.Microsecond
			buffers[i%10].Add(i%10, 0, at, at, at+time.Duration(i/10%10), 200, 0, false)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		if n, all := k.Kept(); n > most || n < most*2/5 || all != seen {
			t.Errorf("kept %d of %d", n, all)
		}
		// 1 + log2(75)/2 = 4.1 times as much as is kept, and a block for each of 7 levels.
		if limit := int64(4.2*most*recordSize + 7*blockSize); k.end > limit {
			t.Errorf("the file has %d bytes", k.end)
		}
		rs := readKept(t, k)
		if n, _ := k.Kept(); int64(len(rs)) != n {
			t.Errorf("read %d of %d", len(rs), n)
		}
		for _, r := range rs {
			early[int(r.Due/time.Microsecond)*10/seen]++
			client[r.Client]++
			slow[r.Done-r.Sent]++
			total++
		}
	}
	for name, counts := range map[string][10]float64{"time": early, "client": client, "service time": slow} {
		chi2 := 0.0
		for _, c := range counts {
			chi2 += (c - total/10) * (c - total/10) / (total / 10)
		}
		if chi2 > 27.9 { // p = 0.001 with 9 degrees of freedom
			t.Errorf("%s: chi-square %.1f of %v", name, chi2, counts)
		}
	}
}

func TestKeeperKeepsNone(t *testing.T) {
	k := New(scratch(t), 0, nil)
	b := k.Buffer()
	for range 10_000 {
		b.Add(0, 0, 0, 0, 0, 200, 0, false)
	}
	if err := k.Close(); err != nil || len(readKept(t, k)) != 0 {
		t.Error(err, len(readKept(t, k)))
	}
}

// gated is a disk that takes nothing until the gate opens, and breaks after so
// many bytes.
type gated struct {
	*os.File
	gate  chan struct{}
	space int64
}

var errFull = errors.New("no space left on device")

func (g *gated) WriteAt(b []byte, at int64) (int, error) {
	<-g.gate
	if at+int64(len(b)) > g.space {
		return 0, errFull
	}
	return g.File.WriteAt(b, at)
}

// A disk that stalls holds up nobody while there are spare blocks, and nothing
// is lost.
func TestKeeperSlowDisk(t *testing.T) {
	g := &gated{scratch(t), make(chan struct{}), 1 << 40}
	k := New(g, 1<<40, []string{"x"})
	b := k.Buffer()
	const n = maxSpares * blockSize / recordSize
	for i := range n {
		b.Add(i, 0, 0, 0, time.Duration(i), 200, 0, false)
	}
	close(g.gate)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for i, r := range readKept(t, k) {
		if r.Client != i {
			t.Fatalf("request %d is %d", i, r.Client)
		}
	}
	if got, _ := k.Kept(); got != n {
		t.Errorf("kept %d", got)
	}
}

// With a full disk the run goes on, and no part of it passes for the whole.
func TestKeeperFullDisk(t *testing.T) {
	g := &gated{scratch(t), make(chan struct{}), 3 * blockSize}
	close(g.gate)
	k := New(g, 1<<40, []string{"x"})
	b := k.Buffer()
	for range 100 * blockSize / recordSize {
		b.Add(0, 0, 0, 0, 0, 200, 0, false)
	}
	if err := k.Close(); !errors.Is(err, errFull) {
		t.Errorf("close: %v", err)
	}
	if n, seen := k.Kept(); n != 0 || seen != 100*blockSize/recordSize {
		t.Errorf("kept %d of %d", n, seen)
	}
	for r, err := range k.Requests() {
		if !errors.Is(err, errFull) {
			t.Errorf("read %+v, %v", r, err)
		}
	}
}

func TestKeeperDoesNotAllocate(t *testing.T) {
	k := New(scratch(t), 100_000, []string{"x"})
	defer k.Close()
	b := k.Buffer()
	add := func() {
		for range 50 * blockSize / recordSize {
			b.Add(1, 0, 1, 2, 3, 200, 5, false)
		}
	}
	add()
	if n := testing.AllocsPerRun(5, add); n > maxSpares {
		t.Errorf("%v allocations in 50 blocks", n)
	}
}

// nowhere is a disk that costs nothing.
type nowhere struct{ *os.File }

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

func BenchmarkKeeper(b *testing.B) {
	for _, c := range []struct {
		name string
		max  int64
		f    File
	}{
		{"nowhere", 1 << 40, nowhere{}},
		{"file", 1 << 40, scratch(b)},
		{"sampled", 100_000, scratch(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			k := New(c.f, c.max, []string{"x"})
			buf := k.Buffer()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := time.Duration(i) * 1000
				buf.Add(i&63, 0, at, at+100, at+100_000, 200, 5, false)
			}
			if err := k.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkKeeperRead(b *testing.B) {
	k := New(scratch(b), 1<<40, []string{"x"})
	var bufs []*Buffer
	for range 16 {
		bufs = append(bufs, k.Buffer())
	}
	for i := range 1_000_000 {
		at := time.Duration(i) * 1000
		bufs[i&15].Add(i&63, 0, at, at+100, at+100_000, 200, 5, false)
	}
	if err := k.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		for range k.Requests() {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/request")
}
