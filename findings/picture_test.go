package findings

import (
	"errors"
	"fmt"
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
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/store"
)

// A drawn is a run that was never made: an open load of so many requests a second
// for so long, in each trial.
type drawn struct {
	settings, blocks int
	window           time.Duration
	rate             int
	keep             int // of so many requests one is kept; 0 is none
}

func (x drawn) plan() *dyno.Experiment {
	levels := []string{"100", "50", "150", "200", "400"}
	return &dyno.Experiment{
		Name: "drawn", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: levels[:x.settings]}}, Repeats: x.blocks,
	}
}

// requests are due one after another, and done in another order; each second there
// is a pause of 20 ms. One request in each window, of the step "spike", takes 1 s.
func (x drawn) requests(seed uint64) iter.Seq[dyno.Request] {
	return func(yield func(dyno.Request) bool) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := int(x.window.Seconds() * float64(x.rate))
		for i := range n {
			due := time.Duration(i) * time.Second / time.Duration(x.rate)
			took := time.Duration(math.Exp(rng.NormFloat64()*0.5 + 13))
			if into := due % time.Second; into < 20*time.Millisecond {
				took += 20*time.Millisecond - into
			}
			q := dyno.Request{Client: i % 64, Step: "patch", Due: due, Sent: due, Status: 200, Bytes: 512}
			if i == n/2 {
				q.Step, took = "spike", time.Second
			}
			q.Done = min(due+took, x.window)
			if !yield(q) {
				return
			}
		}
	}
}

// make writes the run below a folder.
func (x drawn) make(t testing.TB, path string) *store.Dir {
	t.Helper()
	plan := x.plan()
	dir, err := store.Create(path, store.Run{Dyno: "test", Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range plan.Trials() {
		if trial.For == "" {
			if err := x.trial(dir, trial); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir.Close()
	if dir, err = store.Read(path); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (x drawn) trial(dir *store.Dir, trial dyno.Trial) error {
	path, err := dir.TrialDir(trial.N)
	if err != nil {
		return err
	}
	r := &dyno.Result{Trial: trial, Start: time.Unix(1_700_000_000, 0), Elapsed: x.window, Latency: hist.New()}
	f, err := os.Create(filepath.Join(path, "latency.hlog"))
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := hist.NewLog(f, r.Start)
	if err != nil {
		return err
	}
	seconds, written := [4]*hist.Histogram{hist.New(), hist.New(), hist.New(), hist.New()}, 0
	write := func() {
		h, from := seconds[written%4], time.Duration(written)*time.Second
		err = errors.Join(err, log.Add(h, from, min(from+time.Second, x.window)))
		h.Reset()
		written++
	}
	failed := dir.WriteRequests(trial.N, func(yield func(dyno.Request, error) bool) {
		for q := range x.requests(uint64(trial.N)) {
			for int(q.Due/time.Second)-written >= 2 {
				write()
			}
			seconds[int(min(q.Done, x.window-1)/time.Second)%4].Add(q.Done - q.Due)
			r.Latency.Add(q.Done - q.Due)
			if q.Step == "spike" {
				r.Sent.Slowest = []dyno.Request{q}
			}
			if r.Sent.Requests++; x.keep > 0 && r.Sent.Requests%int64(x.keep) == 0 && !yield(q, nil) {
				return
			}
		}
	})
	for time.Duration(written)*time.Second < x.window {
		write()
	}
	for i := range min(10*int(x.window/time.Second), 262_144) { // ten collections a second, of 5 ms each
		at := time.Duration(i) * 100 * time.Millisecond
		r.Collections = append(r.Collections, dyno.Collection{
			N: i + 1, Start: at, End: at + 5*time.Millisecond, SweepTerm: 10_000, MarkTerm: 20_000, Assist: 1_234_567, Background: 5_000_000,
			HeapStart: 4 << 20, HeapEnd: 5 << 20, Live: 3 << 20, Goal: 6 << 20,
		})
	}
	if x.keep == 0 {
		err = errors.Join(err, os.Remove(dir.TrialFile(trial.N, "requests.parquet")))
	}
	if err = errors.Join(err, failed, x.series(filepath.Join(path, "series.csv"))); err != nil {
		return err
	}
	return dir.Add(r)
}

// series has a reading of each metric each second, and one more of resident memory
// at the window's middle, which is far above the others.
func (x drawn) series(path string) error {
	text := []byte("metric,sec,value\n")
	for at := 0.0; at <= x.window.Seconds(); at++ {
		for i, metric := range []string{"rss-B", "vsz-B", "heap-B", "heap-goal-B", "goroutines", "threads", "cpu-frac", "fds"} {
			text = fmt.Appendf(text, "%s,%.6f,%g\n", metric, at, float64(i+1)*1e6+at)
		}
	}
	text = fmt.Appendf(text, "rss-B,%.6f,1e9\n", x.window.Seconds()/2+0.25)
	return os.WriteFile(path, text, 0o666)
}

func counted(h *timeline.Heat) (n int64) {
	for _, c := range h.Counts {
		n += int64(c)
	}
	return n
}

func look(t *testing.T, dir *store.Dir, from, to float64, columns int) (*timeline.Picture, []timeline.Lost) {
	t.Helper()
	p, err := picture(dir, dir.Results(), from, to, columns)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Lost
}

// A picture of a run has all requests of each trial, by themselves or by the second,
// and a part of it has the same counts where its columns are the same.
func TestPicture(t *testing.T) {
	x := drawn{settings: 2, blocks: 2, window: 8 * time.Second, rate: 2000, keep: 1}
	dir := x.make(t, filepath.Join(t.TempDir(), "run"))
	whole, notes := look(t, dir, 0, 0, 160)
	if len(notes) > 0 || len(whole.Axis) != 2 || len(whole.Settings) != 2 || whole.High != time.Second {
		t.Fatalf("%v, %d settings up to %v, notes %v", whole.Axis, len(whole.Settings), whole.High, notes)
	}
	part, _ := look(t, dir, 10, 13, 30) // of the second block
	for i, s := range whole.Settings {
		for j, h := range s.Heats {
			if n := counted(h); n != 16_000 || !s.Whole || s.Seconds || h.Count(h.Rows-1, 40) == 0 {
				t.Errorf("setting %d block %d: %d requests; whole %v, seconds %v; the slowest one in its cell: %d", i, j+1, n, s.Whole, s.Seconds, h.Count(h.Rows-1, 40))
			}
		}
		h, of := s.Heats[1], part.Settings[i].Heats[0]
		if !slices.Equal(of.Counts, h.Counts[20*h.Rows:50*h.Rows]) {
			t.Errorf("setting %d: the part has %d requests where the whole has others", i, counted(of))
		}
		if q := s.Slowest[0]; q.Step != "spike" || !q.Met || len(part.Settings[i].Slowest) != 10 {
			t.Errorf("setting %d: the slowest %+v, of the part %d", i, q, len(part.Settings[i].Slowest))
		}
		var names []string
		for _, track := range s.Tracks {
			names = append(names, track.Metric)
		}
		if want := []string{"rss-B", "heap-B", "heap-goal-B", "goroutines", "threads", "cpu-frac", "gc-wall-frac", "fds"}; !slices.Equal(names, want) {
			t.Errorf("setting %d: tracks %q, want %q", i, names, want)
		}
		if rss := s.Tracks[0]; rss.Max[42] != 1e9 || rss.Max[122] != 1e9 || rss.Max[30] != 1e6+3 {
			t.Errorf("setting %d: resident memory %v", i, rss.Max)
		}
	}

	if by, _ := look(t, dir, 0, 0, 16); by.Settings[0].Seconds || by.Settings[0].Heats[0].Columns != 20 {
		t.Errorf("few columns: %+v", by.Settings[0])
	}
	for _, bad := range [][2]float64{{16, 20}, {3, 2}, {-5, -1}, {math.NaN(), math.NaN()}, {math.Inf(1), math.Inf(1)}} {
		if _, err := picture(dir, dir.Results(), bad[0], bad[1], 100); err == nil {
			t.Errorf("from %g to %g: no error", bad[0], bad[1])
		}
	}
}

// Where requests were not kept, or only some were and the columns are as long, the
// latency log has all of them; a broken file is told and does not hide the others.
func TestPictureWithout(t *testing.T) {
	x := drawn{settings: 1, blocks: 1, window: 60 * time.Second, rate: 100, keep: 2}
	dir := x.make(t, filepath.Join(t.TempDir(), "run"))
	p, _ := look(t, dir, 0, 0, 60)
	if s := p.Settings[0]; counted(s.Heats[0]) != 6000 || !s.Seconds || !s.Whole {
		t.Errorf("long columns: %d requests, seconds %v, whole %v", counted(s.Heats[0]), s.Seconds, s.Whole)
	}
	p, _ = look(t, dir, 20, 25, 60)
	if s := p.Settings[0]; counted(s.Heats[0]) != 250 || s.Seconds || s.Whole || len(s.Slowest) != 10 {
		t.Errorf("short columns: %d requests, seconds %v, whole %v", counted(s.Heats[0]), s.Seconds, s.Whole)
	}
	file := dir.TrialFile(1, "requests.parquet")
	if err := os.Truncate(file, 3000); err != nil {
		t.Fatal(err)
	}
	p, notes := look(t, dir, 0, 0, 600)
	if s := p.Settings[0]; counted(s.Heats[0]) != 6000 || !s.Seconds || len(notes) != 1 || !strings.Contains(notes[0].Err.Error(), file) {
		t.Errorf("a torn file: %d requests, seconds %v, notes %v", counted(s.Heats[0]), s.Seconds, notes)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p, notes = look(t, dir, 29, 32, 600)
	if s := p.Settings[0]; counted(s.Heats[0]) < 250 || !s.Seconds || s.Slowest[0].Step != "spike" || len(notes) > 0 {
		t.Errorf("none kept: %d requests, notes %v", counted(s.Heats[0]), notes)
	}
}

// Ten million requests, and a part of them: what a look at a run takes. With
// -short it is a tenth of them.
func BenchmarkPicture(b *testing.B) {
	x := drawn{settings: 5, blocks: 1, window: 200 * time.Second, rate: 10_000, keep: 1}
	if testing.Short() {
		x.rate /= 10
	}
	for name, keep := range map[string]int{"requests": 1, "lines": 0} {
		x.keep = keep
		dir := x.make(b, filepath.Join(b.TempDir(), "run"))
		results := dir.Results()
		for part, of := range map[string][2]float64{"whole": {}, "half": {50, 150}, "second": {99.5, 100.5}} {
			b.Run(name+"/"+part, func(b *testing.B) {
				for b.Loop() {
					p, err := picture(dir, results, of[0], of[1], pictureColumns)
					if err != nil || len(p.Lost) > 0 {
						b.Fatal(err)
					}
					if s := p.Settings[0].Slowest; len(s) == 0 || s[0].Step != "spike" {
						b.Fatalf("the slowest are %+v", s)
					}
				}
			})
		}
	}
}
