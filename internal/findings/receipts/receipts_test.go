package receipts_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/report/prediction"
	"github.com/dynolab/dyno/internal/store"
)

const runs = "../../../findings/testdata/runs/"

func open(t *testing.T, path string) *store.Dir {
	t.Helper()
	dir, err := store.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// copied is a run directory that may be written to.
func copied(t *testing.T, run string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(run))
	if err := os.CopyFS(to, os.DirFS(runs+run)); err != nil {
		t.Fatal(err)
	}
	return to
}

// promised is what would have been predicted from the launches at GOGC=100 alone of a run at GOGC=100 and 50, and before it.
func promised(t *testing.T, path string, gogc ...float64) *receipt.Receipt {
	t.Helper()
	s, err := predict.Read(open(t, path), predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Pooled = s.Pooled[:1]
	r := prediction.Receipt(s.Forecast(s.Fit(), predict.Question{GOGC: gogc}), answer.Head{Dyno: "v1", Made: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if r == nil {
		t.Fatal("nothing is promised")
	}
	return r
}

// A run is held against the receipt that was predicted from it: the figures have the same definition on both sides. A planted wrong
// receipt is called so.
func TestRun(t *testing.T) {
	path := copied(t, "2bb5b5f/vary")
	after, err := receipts.Run(open(t, path), predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after.Name != "vary" || after.Subject != "/src/shop" || after.Open || after.Assumed != "" || after.Machine.CPUs != 2 || len(after.Settings) != 2 {
		t.Errorf("%+v", after)
	}
	if got := after.Settings[1].Levels.String(); got != "GOGC=50 GOMEMLIMIT=off go=1.26.8 GOMAXPROCS=2" {
		t.Errorf("it ran with %s", got)
	}
	if l := after.Settings[1].Load; !(l.Rate > 1000 && l.Alloc > 1e7 && l.Live > 1e5 && l.Marked > 1e5) {
		t.Errorf("load %+v", l)
	}
	r := promised(t, path, 50)
	if _, err := receipts.Keep(path, r); err != nil {
		t.Fatal(err)
	}
	if sends := r.Load.Sends; sends == "" || sends != after.Settings[1].Load.Sends || r.Load.Clients != 4 {
		t.Errorf("load %+v, and after %+v", r.Load, after.Settings[1].Load)
	}
	if r.Machine != after.Machine || !r.Before(after) {
		t.Errorf("of %+v at %v, held against %+v at %v", r.Machine, r.Made, after.Machine, after.Started)
	}
	c := r.Against(after)
	if len(c.Outcomes) != 5 {
		t.Fatalf("%d outcomes", len(c.Outcomes))
	}
	for _, o := range c.Outcomes {
		if o.Word != receipt.Held || o.Trials != 3 || !o.Doubted {
			t.Errorf("%+v", o)
		}
	}
	for i := range r.Promises {
		p := &r.Promises[i]
		p.Value, p.Lo, p.Hi = 20*p.Value, 20*p.Lo, 20*p.Hi
	}
	for _, o := range r.Against(after).Outcomes {
		if o.Word != receipt.Missed {
			t.Errorf("planted: %+v", o)
		}
	}
	if _, err := receipts.Run(open(t, runs+"2bb5b5f/bench"), predict.Options{}); err == nil {
		t.Error("a run of benchmarks")
	}
}

// The ratio of two settings is what the run's own table says, whichever is the baseline.
func TestRatio(t *testing.T) {
	after, err := receipts.Run(open(t, runs+"2bb5b5f/vary"), predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	there, ok := after.Ratio(1, 0, "req/gc")
	back, okBack := after.Ratio(0, 1, "req/gc")
	if !ok || !okBack || there.Trials != 3 || math.Abs(there.Value*back.Value-1) > 1e-9 || !math.IsNaN(there.Lo) {
		t.Errorf("%+v and %+v", there, back)
	}
	if _, ok := after.Ratio(1, 0, "nothing"); ok {
		t.Error("a metric that there is not")
	}
}

// Of a process that runs already its setting is assumed, and said so, unless the user says it.
func TestWatched(t *testing.T) {
	dir := open(t, runs+"2bb5b5f/watch")
	after, err := receipts.Run(dir, predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after.Assumed != "GOGC=100" || len(after.Settings) != 1 {
		t.Errorf("%+v", after)
	}
	gogc, limit := 50.0, 0.0
	if after, err = receipts.Run(dir, predict.Options{GOGC: &gogc, Limit: &limit}); err == nil && after.Settings[0].Levels[0].Value != "50" || after != nil && after.Assumed != "" {
		t.Errorf("%+v, %v", after, err)
	}
}

// A search for a capacity has one figure more.
func TestSearched(t *testing.T) {
	after, err := receipts.Run(open(t, runs+"baa4f2c6/capacity"), predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := after.Settings[0].Values[receipt.CapacityMetric]; !ok || !after.Open || len(after.Settings) < 2 {
		t.Errorf("%+v", v)
	}
	if got := after.Settings[0].Objectives; !slices.Equal(got, []string{"p99 < 50ms"}) {
		t.Errorf("a capacity with %v", got)
	}
	if got := after.Settings[0].Levels.String(); got != "GOGC=100 GOMEMLIMIT=off" {
		t.Errorf("it ran with %s", got)
	}
}

func logOf(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "gc %d @%d.000s 1%%: 0.10+10+0.10 ms clock, 0.20+1.0/5.0/3.0+0.20 ms cpu, 88->92->44 MB, 95 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i, i)
	}
	return b.String()
}

// A log that has grown is the same log.
func TestLog(t *testing.T) {
	read := func(n int, requests float64) *receipt.After {
		s, err := predict.ReadLog(strings.NewReader(logOf(n)), predict.Log{Name: "gc.log", Requests: requests, Told: gcmodel.Setting{GOGC: 100}})
		if err != nil {
			t.Fatal(err)
		}
		return receipts.Log(s, predict.Options{}, time.Unix(1e9, 0))
	}
	short, long := read(21, 0), read(41, 4000)
	if short.ID != long.ID || short.Name != "" || !short.Started.IsZero() || short.Ended.Unix() != 1e9 {
		t.Errorf("%+v, %+v", short, long)
	}
	if short.Assumed != "GOGC=100" || short.Goals != 0 {
		t.Errorf("%+v", short)
	}
	half := strings.ReplaceAll(logOf(21), "95 MB goal", "67 MB goal")
	gogc := 100.0
	s, err := predict.ReadLog(strings.NewReader(half), predict.Log{Name: "gc.log", Told: gcmodel.Setting{GOGC: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if a := receipts.Log(s, predict.Options{GOGC: &gogc}, time.Time{}); a.Assumed != "" || a.Goals != 52 || a.NotGoals != 100 {
		t.Errorf("%+v", a)
	}
	if m := short.Settings[0]; m.Levels.String() != "GOGC=100 GOMEMLIMIT=off GOMAXPROCS=2" || m.Values["gc-cycles/min"].Value != 60 || !math.IsNaN(float64(m.Load.Rate)) {
		t.Errorf("%+v", m)
	}
	if m := long.Settings[0]; m.Values["gc-cycles/req"].Value != 0.01 || m.Load.Rate != 100 {
		t.Errorf("%+v", m)
	}
}

// Each of several receipts that are kept at once is there, and those with the same promises are one.
func TestKeepAtOnce(t *testing.T) {
	dir := t.TempDir()
	var g sync.WaitGroup
	failed := make([]error, 24)
	for i := range failed {
		g.Go(func() {
			r := &receipt.Receipt{Envelope: answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, answer.Head{}, nil, nil), Name: fmt.Sprint(i % 12)}
			_, failed[i] = receipts.Keep(dir, r)
		})
	}
	g.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	found, unread, err := receipts.Find(dir)
	names := map[string]bool{}
	for _, k := range found {
		names[k.Name] = true
	}
	if err != nil || len(unread) > 0 || len(found) != 12 || len(names) != 12 {
		t.Errorf("%d receipts of %d names, %v, %v", len(found), len(names), unread, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := receipts.Keep(filepath.Join(dir, "nowhere"), &receipt.Receipt{}); err == nil {
		t.Error("kept nowhere")
	}
}

// A directory of runs that is a link shows its receipts, below the name of the link.
func TestLinked(t *testing.T) {
	root := t.TempDir()
	dir, link := filepath.Join(root, "disk"), filepath.Join(root, "dyno-runs")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "shop"), 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	if _, err := receipts.Keep(filepath.Join(dir, "shop"), &receipt.Receipt{Envelope: answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, answer.Head{}, nil, nil)}); err != nil {
		t.Fatal(err)
	}
	found, _, err := receipts.Find(link)
	if err != nil || len(found) != 1 || found[0].Path != filepath.Join(link, "shop", "receipt.json") {
		t.Errorf("%v, %v", found, err)
	}
	t.Chdir(root)
	if found, _, err = receipts.Find("."); err != nil || len(found) != 1 || found[0].Path != "disk/shop/receipt.json" {
		t.Errorf("below .: %v, %v", found, err)
	}
}

// What was promised stays: the same once, and other promises beside it. Checks are found with their receipt.
func TestKeepAndFind(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "vary")
	if err := os.CopyFS(path, os.DirFS(runs+"2bb5b5f/vary")); err != nil {
		t.Fatal(err)
	}
	first, second := promised(t, path, 50), promised(t, path, 200)
	var files []string
	for _, r := range []*receipt.Receipt{first, second, promised(t, path, 50)} {
		r.Made = r.Made.Add(time.Duration(len(files)) * time.Hour)
		file, err := receipts.Keep(path, r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Base(file))
	}
	if !slices.Equal(files, []string{"receipt.json", "receipt-2.json", "receipt.json"}) {
		t.Errorf("kept in %v", files)
	}
	for name, text := range map[string]string{"receipt-x.json": "{", "receipt-3.json": `{"kind":"receipt","schema":99}`, "trials/receipt.json": "{"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, unread, err := receipts.Find(root)
	if err != nil || len(found) != 2 || len(unread) != 2 || found[0].Source() != path || found[1].Source() != path || found[0].ID != second.ID || found[1].ID != first.ID {
		t.Fatalf("%d found, %d unread, %v", len(found), len(unread), err)
	}
	after, err := receipts.Run(open(t, path), predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := found[1].Against(after)
	if err := os.WriteFile(filepath.Join(path, receipts.ChecksFile), []byte(`{"kind":"receipt-check","schema":99}
{"kind":"receipt-ch`), 0o600); err != nil { // cut off
		t.Fatal(err)
	}
	for range 2 {
		if err := found[1].Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if _, unread, _ = receipts.Find(root); len(unread) != 3 || !strings.HasPrefix(unread[2].Error(), "2 of the lines of ") {
		t.Errorf("unread: %v", unread)
	}
	again, err := receipts.Read(found[1].Path)
	if err != nil || len(again.Checks) != 1 || len(found[1].Checks) != 1 { // the last of two
		t.Fatalf("%d checks, %v", len(again.Checks), err)
	}
	if doubted, _ := receipt.Rates(again.Checks, true); doubted.Held != 5 {
		t.Errorf("%+v", doubted)
	}
	other := *after // the same, once it is known that it ran with something else
	other.Settings = []receipt.Measured{{Levels: answer.SettingNamed("GOGC=75 GOMEMLIMIT=off").Levels}}
	for range 2 {
		if err := receipts.Withdraw(found, &other, "v1", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if again, err = receipts.Read(found[1].Path); err != nil {
		t.Fatal(err)
	}
	if doubted, _ := receipt.Rates(again.Checks, true); doubted.Told != 0 {
		t.Errorf("what was withdrawn counts: %+v", doubted)
	}
	if second, err := receipts.Read(found[0].Path); err != nil || len(second.Checks) != 0 {
		t.Errorf("the other receipt has %d checks, %v", len(second.Checks), err)
	}
	if _, _, err := receipts.Find(filepath.Join(root, "nowhere")); err == nil {
		t.Error("below nowhere")
	}
}
