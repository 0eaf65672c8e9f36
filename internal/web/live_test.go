package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/store"
)

// growing makes a run directory of two settings and two blocks that this process
// has open for writing.
func growing(t *testing.T) *store.Dir {
	t.Helper()
	e := &dyno.Experiment{
		Name: "search", Repeats: 2,
		Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		Load:    dyno.Load{Duration: dyno.Duration(8 * time.Second), Warmup: dyno.Duration(2 * time.Second)},
	}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// A listener collects the events of a page that follows a run.
type listener struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ResponseRecorder.Write(b)
}

// An event is one that was sent, with what came in it.
type event struct {
	name string
	data map[string]any
}

// take returns the events since the last call.
func (l *listener) take(t *testing.T) (events []event) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for block := range strings.SplitSeq(l.Body.String(), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(block, "event: "), "\ndata: ")
		if !ok {
			if block != "" {
				events = append(events, event{name: block})
			}
			continue
		}
		e := event{name: name}
		if err := json.Unmarshal([]byte(data), &e.data); err != nil {
			t.Errorf("%s: %v in %q", name, err, data)
		}
		events = append(events, e)
	}
	l.Body.Reset()
	return events
}

func named(events []event, name string) []event {
	return slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.name != name })
}

// follow starts to follow a run; done is closed when the answer has ended.
func follow(ctx context.Context, s *Site, dir *store.Dir) (l *listener, done chan struct{}) {
	l, done = &listener{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
	r := httptest.NewRequest(http.MethodGet, "/runs/a/live", nil).WithContext(ctx)
	go func() {
		defer close(done)
		orText(func(w http.ResponseWriter, r *http.Request) error { return s.live(w, r, dir) })(l, r)
	}()
	synctest.Wait()
	return l, done
}

func second1() {
	time.Sleep(lookEvery)
	synctest.Wait()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// begin begins a trial. The times of files, whose clock is coarse, are as if that
// was an hour after the last result.
func begin(t *testing.T, dir *store.Dir, n int) {
	t.Helper()
	trial, err := dir.TrialDir(n)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(trial)
	if err != nil {
		t.Fatal(err)
	}
	for path, at := range map[string]time.Time{
		filepath.Join(dir.Path, "results.jsonl"): info.ModTime().Add(-time.Hour),
		trial:                                    info.ModTime().Add(time.Duration(n) * time.Second),
	} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, dir *store.Dir, n int, err string) {
	t.Helper()
	r := &dyno.Result{
		Trial: dir.Run.Plan.Trials()[n-1], Start: time.Unix(1700000000, 0).Add(time.Duration(n) * 20 * time.Second), Elapsed: 8 * time.Second,
		Values: dyno.Values{{Metric: "p99-sec", Value: 0.01 * float64(n)}, {Metric: "threads", Value: 9}}, Err: err,
	}
	if err := dir.Add(r); err != nil {
		t.Fatal(err)
	}
	addedLast(t, dir)
}

// addedLast gives the results a time after that of all trials so far.
func addedLast(t *testing.T, dir *store.Dir) {
	t.Helper()
	at := time.Now().AddDate(100, 0, 0)
	if err := os.Chtimes(filepath.Join(dir.Path, "results.jsonl"), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := growing(t)
		l, done := follow(t.Context(), &Site{}, dir)
		events := l.take(t)
		if p := named(events, "progress"); len(p) != 1 || p[0].data["phase"] != "preparing" || p[0].data["planned"] != 4.0 || p[0].data["left-sec"] != -1.0 {
			t.Errorf("before the first trial: %v", events)
		}
		if got := l.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Error(got)
		}

		begin(t, dir, 1)
		second1()
		p := named(l.take(t), "progress")
		if len(p) != 1 || p[0].data["phase"] != "starting" || p[0].data["trial"] != 1.0 || p[0].data["setting"] != dir.Run.Plan.Trials()[0].Setting.String() || p[0].data["left-sec"] != 40.0 {
			t.Errorf("as trial 1 starts: %v", p)
		}

		finish(t, dir, 1, "")
		second1()
		events = l.take(t)
		result := named(events, "result")
		if len(result) != 1 || fmt.Sprint(result[0].data["values"]) != "map[p99-sec:0.01]" {
			t.Errorf("result: %v", result)
		}
		if p := named(events, "progress"); len(p) != 1 || p[0].data["done"] != 1.0 || p[0].data["trial"] != nil || p[0].data["phase"] != "preparing" {
			t.Errorf("after trial 1: %v", p)
		}

		for n := 2; n <= 4; n++ {
			begin(t, dir, n)
			second1()
			finish(t, dir, n, map[int]string{3: "</script><b>it died</b>"}[n])
		}
		second1()
		events = l.take(t)
		if p := named(events, "progress"); p[len(p)-1].data["done"] != 4.0 || p[len(p)-1].data["failed"] != 1.0 || p[len(p)-1].data["left-sec"] != 0.0 {
			t.Errorf("at the end: %v", p[len(p)-1])
		}
		select {
		case <-done:
			t.Error("it has ended while the run is still open")
		default:
		}
		// A report may take long: the connection is kept.
		for range int(beatEvery/lookEvery) + 1 {
			second1()
		}
		if events := l.take(t); len(events) == 0 || len(events) > 2 || events[0].name != ": still here" {
			t.Errorf("while nothing happens: %v", events)
		}
		dir.Close()
		for range endLooks {
			second1()
		}
		<-done
		if e := named(l.take(t), "end"); len(e) != 1 || e[0].data["state"] != "done" {
			t.Errorf("the end: %v", e)
		}
	})
}

// Readings and latencies are told as they are added, in whole lines.
func TestLiveTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := growing(t)
		begin(t, dir, 1)
		ctx, cancel := context.WithCancel(t.Context())
		l, done := follow(ctx, &Site{}, dir)
		l.take(t)
		series := dir.TrialFile(1, "series.csv")
		appendTo(t, series, "metric,sec,value\nrss-B,0.000000,4096\nvsz-B,0,1\n\"expvar/a,b\",0,1\nrss-B,1.000000,NaN\nrss-B,1.0")
		file, err := os.Create(dir.TrialFile(1, "latency.hlog"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		log, err := hist.NewLog(file, time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		interval := func(sec int, latency time.Duration) {
			h := hist.New()
			for range 100 {
				h.Add(latency)
			}
			if err := log.Add(h, time.Duration(sec)*time.Second, time.Duration(sec+1)*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		interval(0, time.Millisecond)
		interval(1, 2*time.Millisecond)
		second1()
		events := l.take(t)
		if p := named(events, "points"); len(p) != 1 || fmt.Sprint(p[0].data["points"]) != "map[rss-B:[[0 4096]]]" {
			t.Errorf("points: %v", p)
		}
		latency := named(events, "latency")
		if len(latency) != 1 || len(latency[0].data["seconds"].([]any)) != 2 {
			t.Fatalf("latency: %v", latency)
		}
		last := latency[0].data["seconds"].([]any)[1].(map[string]any)
		if last["sec"] != 2.0 || last["requests"] != 100.0 || math.Abs(last["p99"].(float64)-0.002) > 2e-6 {
			t.Errorf("the second second: %v", last)
		}
		if p := named(events, "progress"); len(p) != 1 || p[0].data["phase"] != "measuring" {
			t.Errorf("progress: %v", p)
		}

		appendTo(t, series, "00000,8192\n") // the rest of the torn line
		interval(2, time.Millisecond)
		second1()
		events = l.take(t)
		if p := named(events, "points"); len(p) != 1 || fmt.Sprint(p[0].data["points"]) != "map[rss-B:[[1 8192]]]" {
			t.Errorf("what was added: %v", p)
		}
		if p := named(events, "latency"); len(p) != 1 || len(p[0].data["seconds"].([]any)) != 1 {
			t.Errorf("what was added: %v", p)
		}
		cancel()
		<-done
	})
}

// A run that was stopped is told as such, at once to who asks afterwards; and when
// it is gone on with, a trial that failed before is under way again.
func TestLiveStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := growing(t)
		begin(t, dir, 1)
		finish(t, dir, 1, "it died")
		begin(t, dir, 2)
		finish(t, dir, 2, "")
		begin(t, dir, 3)
		dir.Close()
		l, done := follow(t.Context(), &Site{}, dir)
		<-done
		events := l.take(t)
		if e := named(events, "end"); len(e) != 1 || e[0].data["state"] != "stopped" || len(named(events, "result")) != 2 {
			t.Errorf("of a stopped run: %v", events)
		}

		again, err := store.Resume(dir.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		addedLast(t, again) // as Resume does by the system's clock
		first, stop := context.WithCancel(t.Context())
		l, done = follow(first, &Site{}, again)
		if p := named(l.take(t), "progress"); len(p) != 1 || p[0].data["trial"] != nil || p[0].data["phase"] != "preparing" {
			t.Errorf("what is left of the trial that was under way when it was stopped: %v", p)
		}
		stop()
		<-done
		begin(t, again, 1)
		addedLast(t, again) // trials 2 and 3 are of before
		now := time.Now().AddDate(100, 0, 1)
		if err := os.Chtimes(again.TrialFile(1, ""), now, now); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		l, done = follow(ctx, &Site{}, again)
		if p := named(l.take(t), "progress"); len(p) != 1 || p[0].data["trial"] != 1.0 || p[0].data["done"] != 1.0 || p[0].data["failed"] != 0.0 {
			t.Errorf("gone on with: %v", p)
		}
		cancel()
		<-done
	})
}

// endless is a run that decides itself how many blocks of two settings it takes, and takes a
// profile of each at its end.
func endless(t *testing.T) *store.Dir {
	t.Helper()
	e := &dyno.Experiment{
		Name: "search", Subject: dyno.Subject{Package: ".", Dir: "/"}, Profile: []string{"cpu"}, ProfileRepeats: 1,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		Load:    dyno.Load{Duration: dyno.Duration(8 * time.Second), Warmup: dyno.Duration(2 * time.Second)},
	}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// Trials side by side are told together, each with its own readings; how many there will be
// is not known until the run has decided that they suffice. Then nothing is missing.
func TestLiveBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := endless(t)
		l, done := follow(t.Context(), &Site{}, dir)
		check := func(what string, want map[string]any) []event {
			t.Helper()
			second1()
			events := l.take(t)
			p := named(events, "progress")
			if len(p) == 0 {
				t.Errorf("%s: nothing is told: %v", what, events)
				return events
			}
			for k, v := range want {
				if got := p[len(p)-1].data[k]; got != v {
					t.Errorf("%s: %s is %v, want %v", what, k, got, v)
				}
			}
			return events
		}
		begin(t, dir, 2)
		begin(t, dir, 1)
		appendTo(t, dir.TrialFile(1, "series.csv"), "rss-B,1.000000,4096\n")
		events := check("the first block", map[string]any{
			"done": 0.0, "planned": 0.0, "block": 1.0, "trial": nil, "setting": "GOGC=100, GOGC=50", "beside": true,
			"phase": "starting", "left-sec": -1.0, "within-sec": 120.0,
		})
		appendTo(t, dir.TrialFile(2, "series.csv"), "rss-B,1.000000,8192\n")
		events = append(events, check("as both measure", map[string]any{"phase": "measuring"})...)
		told := map[any]string{}
		for _, p := range named(events, "points") {
			told[p.data["setting"]] = fmt.Sprintf("%v %v %v", p.data["trial"], p.data["beside"], p.data["points"])
		}
		in := dir.Run.Plan.Trials() // in which the settings of a block are shuffled
		both := map[string]string{in[0].Setting.String(): "[[1 4096]]", in[1].Setting.String(): "[[1 8192]]"}
		beside := map[bool]string{true: "[1 2]", false: "[2 1]"}[in[0].Setting.String() == "GOGC=100"]
		for i := range 2 {
			s := in[i].Setting.String()
			if want := fmt.Sprintf("%d %s map[rss-B:%s]", i+1, beside, both[s]); told[s] != want {
				t.Errorf("%s: told %q, want %q", s, told[s], want)
			}
		}

		finish(t, dir, 1, "")
		finish(t, dir, 2, "")
		check("between blocks", map[string]any{"done": 2.0, "planned": 0.0, "block": nil, "beside": nil, "phase": "preparing"})
		begin(t, dir, 3) // alone, since something went wrong
		check("alone", map[string]any{"block": 2.0, "trial": nil, "setting": in[2].Setting.String(), "beside": nil})
		finish(t, dir, 3, "")
		finish(t, dir, 4, "it died")
		if err := dir.SetEnded(dyno.EndedDecided); err != nil {
			t.Fatal(err)
		}
		begin(t, dir, 81)
		check("a profile", map[string]any{"done": 4.0, "failed": 1.0, "planned": 6.0, "trial": 81.0, "block": nil, "for": "profile", "within-sec": nil})
		finish(t, dir, 81, "")
		finish(t, dir, 82, "")
		check("all is done", map[string]any{"done": 6.0, "planned": 6.0})
		dir.Close()
		for range endLooks {
			second1()
		}
		<-done
		if e := named(l.take(t), "end"); len(e) != 1 || e[0].data["state"] != "done" {
			t.Errorf("the end: %v", e)
		}
	})
}

// The time left of blocks side by side is by blocks, however many trials each has.
func TestLiveLeft(t *testing.T) {
	e := &dyno.Experiment{
		Repeats: 10, Subject: dyno.Subject{Package: "."},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		Load:    dyno.Load{Duration: dyno.Duration(8 * time.Second), Warmup: dyno.Duration(2 * time.Second)},
	}
	began := time.Unix(1700000000, 0)
	for _, c := range []struct {
		name   string
		within time.Duration
		starts []float64 // of trials, in seconds; those side by side begin together
		turns  int
		want   float64
	}{
		{"by the plan", 0, nil, 0, -1},
		{"one block", 0, []float64{0, 0.01}, 5, 180},
		{"side by side", 0, []float64{0, 0.01, 30, 30.2, 60, 60}, 5, 210},
		{"one after the other", 0, []float64{0, 12, 24, 36}, 0, 192},
		{"its time", time.Minute, []float64{0, 0.01, 30, 30.2}, 5, 60},
	} {
		plan := *e
		plan.Within = dyno.Duration(c.within)
		f := newFollower(&store.Dir{Run: store.Run{Plan: &plan}})
		for i, at := range c.starts {
			r := &dyno.Result{Trial: f.trials[i], Turns: c.turns, Start: began.Add(time.Duration(at * float64(time.Second)))}
			f.of[r.Trial.N], f.order = r, append(f.order, r)
		}
		if got := f.progress(); got.Left != c.want || got.Planned != 20 || got.Done != len(c.starts) {
			t.Errorf("%s: %+v, want %v left", c.name, got, c.want)
		}
	}
}

// A page that comes late is told of the end of long files only.
func TestLiveLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := growing(t)
		begin(t, dir, 1)
		var text strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&text, "rss-B,%d.000000,%d\n", i, i)
		}
		appendTo(t, dir.TrialFile(1, "series.csv"), "metric,sec,value\n"+text.String())
		ctx, cancel := context.WithCancel(t.Context())
		l, done := follow(ctx, &Site{}, dir)
		p := named(l.take(t), "points")
		points := p[0].data["points"].(map[string]any)["rss-B"].([]any)
		first, last := points[0].([]any), points[len(points)-1].([]any)
		if first[0] != first[1] || first[0].(float64) < 70_000 || last[1] != 99_999.0 || len(points) != int(last[0].(float64)-first[0].(float64))+1 {
			t.Errorf("%d points, from %v to %v", len(points), first, last)
		}
		cancel()
		<-done
	})
}

func TestLiveFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := growing(t)
		s := &Site{}
		ctx, cancel := context.WithCancel(t.Context())
		var all []chan struct{}
		for range mostFollowers {
			_, done := follow(ctx, s, dir)
			all = append(all, done)
		}
		l, done := follow(ctx, s, dir)
		<-done
		if l.Code != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", l.Code)
		}
		cancel()
		for _, done := range all {
			<-done
		}
		ctx, cancel = context.WithCancel(t.Context())
		l, done = follow(ctx, s, dir)
		if l.Code != http.StatusOK {
			t.Errorf("after the others have gone: %d", l.Code)
		}
		cancel()
		<-done
	})
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	tl := tail{path: path}
	var got []string
	look := func() []string {
		got = nil
		tl.lines(func(line []byte) { got = append(got, string(line)) })
		return got
	}
	check := func(want ...string) {
		t.Helper()
		if look(); !slices.Equal(got, want) {
			t.Errorf("got %.100q, want %q", got, want)
		}
	}
	check()
	appendTo(t, path, "a\nb")
	check("a")
	check()
	appendTo(t, path, "c\n\nd\n")
	check("bc", "", "d")
	if err := os.WriteFile(path+"2", []byte("new\n"+strings.Repeat("x", 20)+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	check("new", strings.Repeat("x", 20))
	if err := os.Truncate(path, 4); err != nil { // as Resume does with a torn line
		t.Fatal(err)
	}
	appendTo(t, path, "e\n")
	check("new", "e")
	appendTo(t, path, strings.Repeat("y", mostLine+10))
	check()
	appendTo(t, path, "y\nz\n")
	check("z")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	check()
}
