package findings

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/store"
)

// heapProfile has so many samples of objects of 1 KiB that one line allocated.
func heapProfile(samples float64) *profile.Profile {
	const rate, size = 512 << 10, 1 << 10
	objects := int64(samples / -math.Expm1(-size/float64(rate)))
	f := &profile.Function{ID: 1, Name: "main.(*store).add", Filename: "/src/store.go", StartLine: 20}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 31}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: rate,
		Sample:   []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{objects, objects * size, objects, objects * size}}},
		Location: []*profile.Location{l}, Function: []*profile.Function{f},
	}
}

// From the files of a run directory to the verdict: a minute that leaks, one that
// does not and whose profile is torn, a short trial, and one that was no measurement.
func TestGrowths(t *testing.T) {
	e := &dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Args: []string{"{{.arg.leak}}"}, Dir: "/"}, Repeats: 1, Seed: new(uint64(1)),
		Factors: dyno.Factors{{Name: "arg.leak", Levels: []string{"yes", "no", "short", "profiled"}}},
	}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, trial := range e.Trials() {
		r := &dyno.Result{Trial: trial, Start: time.Unix(1700000000, 0), Elapsed: time.Minute, Sent: dyno.Sent{Requests: 60_000}}
		kind := trial.Setting[0].Value
		each := 0.0
		switch kind {
		case "yes":
			each = 512 << 10
		case "short":
			r.Elapsed = 20 * time.Second
		case "profiled":
			r.Trial.For = dyno.ForProfile
		}
		r.Memory = []dyno.Snapshot{{Stage: dyno.StageBefore, Live: 10 << 20}, {Stage: dyno.StageAfter, Live: 10<<20 + 60*each}}
		path, err := dir.TrialDir(trial.N)
		check(err)
		text := "metric,sec,value\n"
		for i := range 120 {
			sec := float64(i) / 2
			text += fmt.Sprintf("heap-live-B,%g,%g\nthreads,%g,%d\n", sec, 10<<20+each*sec+1e4*math.Sin(float64(i*i)), sec, 7+i*i%2)
		}
		check(os.WriteFile(filepath.Join(path, "series.csv"), []byte(text), 0o666))
		for name, samples := range map[string]float64{"heap-before": 4, "heap-after": 64} {
			var b bytes.Buffer
			check(heapProfile(samples).Write(&b))
			if kind == "no" && name == "heap-after" {
				b.Truncate(b.Len() / 2)
			}
			check(os.WriteFile(filepath.Join(path, name+".pb.gz"), b.Bytes(), 0o666))
		}
		check(dir.Add(r))
	}
	f, err := Read(dir, Options{})
	check(err)
	if len(f.Notes) != 1 || f.Notes[0].Kind != dyno.WarnGrowth || !strings.Contains(f.Notes[0].Err.Error(), "heap-after.pb.gz") {
		t.Errorf("notes %+v", f.Notes)
	}
	for _, s := range f.Table.Settings {
		kind, l := s.Setting[0].Value, s.Leak
		switch kind {
		case "yes":
			if l == nil || l.Memory.Verdict != leak.Leaking || math.Abs(l.Memory.Slope/(1800<<20)-1) > 0.02 || math.Abs(l.Memory.Per/(512<<10)-1) > 0.02 ||
				len(l.Sites) != 1 || l.Sites[0].Func != "main.(*store).add" || l.Sites[0].Line != 31 || math.Abs(l.Sites[0].PerHour/(1800<<20)-1) > 0.02 {
				t.Errorf("%+v", l)
			}
		case "no":
			if l == nil || l.Memory.Verdict != leak.NoLeak || len(l.Others) != 1 || l.Others[0].Name != "threads" {
				t.Errorf("%+v", l)
			}
		default:
			if l != nil {
				t.Errorf("%s: %+v", kind, l)
			}
		}
	}
}
