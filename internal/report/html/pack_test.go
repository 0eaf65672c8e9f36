package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/timeline"
)

// unpack does what report/html/page/data.js does.
func unpack(t testing.TB, p string) []uint32 {
	t.Helper()
	zipped, err := base64.StdEncoding.DecodeString(p)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil || len(data)%4 != 0 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	n := len(data) / 4
	ns := make([]uint32, n)
	for i := range ns {
		ns[i] = uint32(data[i]) | uint32(data[n+i])<<8 | uint32(data[2*n+i])<<16 | uint32(data[3*n+i])<<24
	}
	return ns
}

func unpackFloats(t testing.TB, p string) (xs []float64) {
	for _, n := range unpack(t, p) {
		xs = append(xs, float64(math.Float32frombits(n)))
	}
	return xs
}

// What is packed is what is unpacked, numbers of any size.
func FuzzPack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3, 4, 255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := newPacker()
		var ns []uint32
		var xs []float64
		for len(data) >= 4 {
			n := binary.LittleEndian.Uint32(data)
			ns, xs, data = append(ns, n), append(xs, float64(math.Float32frombits(n))), data[4:]
		}
		if got := unpack(t, string(*p.pack(ns))); !slices.Equal(got, ns) {
			t.Errorf("%v, want %v", got, ns)
		}
		for i, x := range unpackFloats(t, string(*p.floats(xs))) {
			near := math.Abs(x-xs[i]) <= 1.3e-4*math.Abs(xs[i])+1e-40 || x == xs[i] || math.IsNaN(x) && math.IsNaN(xs[i])
			if over := math.IsInf(x, 0) && math.Abs(xs[i]) > 3.4e38; !near && !over {
				t.Errorf("%v, want %v", x, xs[i])
			}
		}
		for _, n := range ns {
			if a := about(n); math.Abs(float64(a)-float64(n)) > float64(n)/31 || n < 32 && a != n {
				t.Errorf("about %d is %d", n, a)
			}
		}
	})
}

// filmedPicture is of two settings and two blocks, in one of which nothing is known
// of the second setting.
func filmedPicture() *timeline.Picture {
	axis := []timeline.Stretch{{Block: 1, To: 2 * time.Second, Columns: 3}, {Block: 2, From: time.Second / 2, To: time.Second, Columns: 2}}
	low, high := 31*time.Microsecond, 520*time.Millisecond
	p := &timeline.Picture{Axis: axis, Rows: 4, Low: low, High: high}
	for i, name := range []string{"100", "</script><b>"} {
		s := timeline.PictureOf{
			Setting: dyno.Setting{{Factor: "GOGC", Value: name}}, Trials: []int{1 + i, 4 - i}, Heats: make([]*timeline.Heat, 2), Whole: true,
			Slowest: []timeline.Slow{{Trial: 1 + i, Request: dyno.Request{Step: "</script>", Due: time.Second, Done: 3 * time.Second / 2, Status: 200}, Met: true, Known: true}},
			Tracks:  []timeline.Track{{Metric: "rss-B", Min: []float64{1, math.NaN(), 3, 4, 5}, Max: []float64{1e12, 2, 3, 4, 5}, Last: make([]float64, 5)}},
		}
		for j, at := range axis {
			if i == 1 && j == 1 {
				s.Trials[j] = 0
				continue
			}
			h := timeline.NewHeat(timeline.Scale{From: at.From, To: at.To, Low: low, High: high, Rows: 4, Columns: at.Columns}, at.To)
			if i == 0 {
				h.Add(&dyno.Times{Due: []int64{7e8, 7e8, 9e8}, Done: []int64{7e8 + 1, 7e8 + 1, 14e8}})
			}
			h.AddCollections([]dyno.Collection{{Start: at.From, End: at.To}}, at.To)
			s.Heats[j] = h
		}
		p.Settings = append(p.Settings, s)
	}
	return p
}

// The scripts of a page find in the JSON what the picture has, and nothing that ends
// the script that it is in.
func TestPictureJSON(t *testing.T) {
	var b bytes.Buffer
	if err := PictureJSON(&b, filmedPicture()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<") {
		t.Errorf("a tag in %s", &b)
	}
	var j struct {
		Axis      []struct{ Block, From, To, Columns float64 }
		Rows      int
		Low, High float64
		Settings  []struct {
			Name                    string
			Trials                  []int
			Heat, Collecting, Stops *string
			Slowest                 []map[string]any
			Tracks                  []struct{ Metric, Label, Unit, Min, Max, Last string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if len(j.Axis) != 2 || j.Axis[1].From != 0.5 || j.Axis[1].Columns != 2 || j.Rows != 4 || j.Low != 31e-6 || j.High != 0.52 {
		t.Errorf("%+v", j)
	}
	one, two := j.Settings[0], j.Settings[1]
	if got := unpack(t, *one.Heat); !slices.Equal(got, []uint32{0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1}) {
		t.Errorf("counts %v", got)
	}
	if two.Heat != nil || two.Name != `GOGC="</script><b>"` && two.Name != "GOGC=</script><b>" || !slices.Equal(two.Trials, []int{2, 0}) {
		t.Errorf("%+v", two)
	}
	if c := unpackFloats(t, *two.Collecting); len(c) != 5 || c[0] != 1 || !math.IsNaN(c[4]) || len(unpack(t, *two.Stops)) != 5 {
		t.Errorf("collecting %v", c)
	}
	if s := one.Slowest[0]; s["trial"] != 1.0 || s["step"] != "</script>" || s["at"] != 1.0 || s["latency"] != 0.5 || s["status"] != 200.0 || s["met"] != true {
		t.Errorf("slowest %v", s)
	}
	track := one.Tracks[0]
	if track.Label != "resident memory" || track.Unit != "B" {
		t.Errorf("%+v", track)
	}
	if xs := unpackFloats(t, track.Max); math.Abs(xs[0]-1e12) > 1e8 || xs[4] != 5 || !math.IsNaN(unpackFloats(t, track.Min)[1]) {
		t.Errorf("most %v", xs)
	}
	for metric, want := range map[string]string{"rss-B": "rss B", "cpu-frac": "cpu frac", "goroutines": "goroutines ", "p99-sec": "p99 sec"} {
		if label, unit := baseUnit(metric); label+" "+unit != want {
			t.Errorf("%s is %q in %q", metric, label, unit)
		}
	}
}

// Whether a request met a collection is null where that is not known; and counts are
// not rounded up more often than down, so that sums are not too high.
func TestPictureJSONTrue(t *testing.T) {
	p := filmedPicture()
	p.Settings[0].Slowest[0].Known = false
	var b bytes.Buffer
	if err := PictureJSON(&b, p); err != nil || !strings.Contains(b.String(), `"met":null`) {
		t.Errorf("%v: %s", err, &b)
	}
	sum, want := 0, 0
	for n := range uint32(64) {
		sum, want = sum+int(about(64+n)), want+int(64+n)
	}
	if sum-want > 8 || want-sum > 8 {
		t.Errorf("a sum of %d is %d", want, sum)
	}
}

// The heat map of 30 million requests that are spread over all rows.
func TestPackSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	counts := make([]uint32, 1200*100)
	for i := range counts {
		mean := 25_000 * math.Exp(-math.Pow(float64(i%100-50)/22, 2)/2) / 55
		counts[i] = about(uint32(max(mean+math.Sqrt(mean)*rng.NormFloat64(), 0)))
	}
	if n := len(*newPacker().pack(counts)); n > 150<<10 {
		t.Errorf("%d KiB", n>>10)
	}
}
