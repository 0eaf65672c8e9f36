package prediction

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const mib = gcmodel.MiB

// A guide predicts as the GC guide does, from 60 MiB live and 40 KiB a request, or 12 GiB a minute.
type guide struct{ log bool }

func (guide) Cliff(_, live float64) float64 { return 80 * mib * live }

func (g guide) Predict(s gcmodel.Setting) gcmodel.Prediction {
	within := func(x, share float64) gcmodel.Estimate {
		return gcmodel.Estimate{Value: x, Lo: x * (1 - share), Hi: x * (1 + share)}
	}
	unknown := within(math.NaN(), 0)
	live := 60 * mib * max(s.Live, 1)
	p := gcmodel.Prediction{Setting: s}
	room := live * s.GOGC / 100
	if limit := s.Limit - 12*mib - live; s.Limit > 0 && limit < room {
		room, p.Limited = limit, true
	}
	if room <= 0 {
		p.Spiral, room = true, mib
	}
	if math.IsInf(room, 1) {
		p.Cycles, p.GCCPU, p.CPU, p.HeapPeak, p.RSSPeak, p.Marking = unknown, unknown, unknown, unknown, unknown, unknown
		return p
	}
	n := (40 << 10) / room
	if g.log {
		n = (12 << 30) / room
	}
	p.Cycles, p.GCCPU, p.CPU, p.Marking = within(n, 0.06), within(n*0.008, 0.12), within(n*0.012+4e-5, 0.05), within(min(1, n*200), 0.12)
	p.HeapPeak, p.RSSPeak = within(live+room, 0.03), within(live+room+12*mib, 0.03)
	if g.log {
		p.CPU, p.RSSPeak = unknown, unknown
	}
	if s.GOGC < 25 {
		p.Doubts = append(p.Doubts, gcmodel.MuchGC)
	}
	if s.Limit > 0 && room < 12*mib {
		p.Doubts = append(p.Doubts, gcmodel.NearCliff)
	}
	return p
}

// source is what would have been measured at some settings, of n cycles each.
func source(g guide, n int, settings ...gcmodel.Setting) *predict.Source {
	s := &predict.Source{Name: "shop", Per: predict.Request, About: []string{"./cmd/shop", "closed load: 8 clients, for 3s"}}
	for i, told := range settings {
		p := g.Predict(told)
		w := predict.Window{Trials: []int{2*i + 1, 2*i + 2}, Window: gcmodel.Window{
			Setting: told, Requests: float64(n) / p.Cycles.Value, Elapsed: 18, Procs: 2, HeapPeak: p.HeapPeak.Value * 1.01, RSSPeak: p.RSSPeak.Value * 0.99, Mapped: p.RSSPeak.Value, Overhead: 12 * mib,
		}}
		w.Alloc, w.CPU, w.GCCPU = map[bool]float64{false: 40 << 10, true: 12 << 30}[g.log]*w.Requests, 1.01*p.CPU.Value*w.Requests, 0.95*p.GCCPU.Value*w.Requests
		for range n {
			w.Cycles = append(w.Cycles, gcmodel.Cycle{Trigger: 110 * mib, End: 120 * mib, Marked: 70 * mib, Goal: 121 * mib, Mark: 0.01, Assist: 0.001, Idle: 0.003, Exact: true})
		}
		s.Pooled, s.Elapsed = append(s.Pooled, w), s.Elapsed+w.Elapsed
	}
	return s
}

func text(t *testing.T, f *predict.Forecast, o layout.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, f, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// forecasts are of a usual run, of one with many settings and notes, of other questions, and of a log.
func forecasts() map[string]*predict.Forecast {
	plain := source(guide{}, 40, gcmodel.Setting{GOGC: 100}, gcmodel.Setting{GOGC: 200})
	plain.Tail = &predict.Tail{Setting: gcmodel.Setting{GOGC: 100}, Met: 0.14, MetP50: 1.9e-3, MetP99: 6.1e-3, ClearP50: 0.6e-3, ClearP99: 2e-3}
	var many []gcmodel.Setting
	for _, g := range []float64{100, 50, 75, 150, 200, 400} {
		many = append(many, gcmodel.Setting{GOGC: g}, gcmodel.Setting{GOGC: g, Limit: 200 * mib})
	}
	crowd := source(guide{}, 9, many...)
	crowd.Group = "rev=main"
	crowd.Notes = []predict.Note{
		{Kind: predict.Forced, N: 7, Of: 80}, {Kind: predict.Others, Said: []string{"rev=HEAD", "rev=old"}}, {Kind: predict.Unread, Trial: 3, Err: os.ErrPermission},
		{Kind: predict.Implied, N: 400, Of: 100}, {Kind: predict.Uncollected, Said: []string{"GOGC=off"}},
	}
	log := source(guide{log: true}, 60, gcmodel.Setting{GOGC: 100})
	log.Log, log.Per, log.Name, log.About = true, predict.Minute, "gc.log", nil
	w := &log.Pooled[0]
	w.Trials, w.Mapped, w.Overhead = nil, math.NaN(), math.NaN()
	log.Notes = []predict.Note{{Kind: predict.NoMemory}, {Kind: predict.Processes, N: 3}, {Kind: predict.Periodic, N: 2, Of: 62}, {Kind: predict.Missing, N: 1, Of: 63}}
	few := source(guide{}, 40, gcmodel.Setting{GOGC: 100})
	few.Notes = []predict.Note{{Kind: predict.Assumed, Said: []string{"GOGC=100"}}}
	return map[string]*predict.Forecast{
		"run": plain.Forecast(guide{}, predict.Question{}), "many": crowd.Forecast(guide{}, predict.Question{}), "log": log.Forecast(guide{log: true}, predict.Question{}),
		"asked": few.Forecast(guide{}, predict.Question{GOGC: []float64{10, 100, 150}, Limits: []float64{0, 70 * mib, 110 * mib}, Live: 1.25}),
	}
}

// What is printed fits a screen, be it of 80 columns, with all settings that were measured.
func TestText(t *testing.T) {
	for name, f := range forecasts() {
		got := text(t, f, layout.Options{})
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs (go test ./report/prediction -update rewrites it); got:\n%s", file, got)
		}
		for _, width := range []int{100, 80} {
			got := text(t, f, layout.Options{Width: width})
			if n := strings.Count(got, "\n"); n > screen.Lines {
				t.Errorf("%s has %d lines in %d columns", name, n, width)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s in %d columns has a line of %d: %s", name, width, n, line)
				}
			}
		}
		full := text(t, f, layout.Options{Full: true})
		for i := range f.Rows {
			if !strings.Contains(full, "\n"+predict.GOGC(f.Rows[i].Setting)+" ") {
				t.Errorf("%s, in full, is without %s", name, predict.Name(f.Rows[i].Setting))
			}
		}
		if !strings.Contains(full, "└") {
			t.Errorf("%s, in full, has no picture", name)
		}
	}
}

// The JSON has every row, and null for what is not known.
func TestJSON(t *testing.T) {
	for name, f := range forecasts() {
		data, err := json.Marshal(JSON(f, answer.Head{}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var j struct {
			Kind, Per   string
			Cliff       *float64 `json:"cliff-B"`
			Predictions []struct {
				Setting string
				GOGC    *float64
				RSS     struct{ Value *float64 } `json:"rss-peak-B"`
				Heap    struct{ Value *float64 } `json:"heap-peak-B"`
				Doubts  []string
			}
		}
		if err := json.Unmarshal(data, &j); err != nil {
			t.Fatal(err)
		}
		if j.Kind != "prediction" || j.Cliff == nil || len(j.Predictions) != len(f.Rows) {
			t.Errorf("%s: %s", name, data)
		}
		for _, p := range j.Predictions {
			if unlimited := p.Setting == "GOGC=off"; (p.Heap.Value == nil) != unlimited || (p.GOGC == nil) != strings.HasPrefix(p.Setting, "GOGC=off") || p.Doubts == nil {
				t.Errorf("%s: %+v", name, p)
			}
			if p.Heap.Value != nil && (p.RSS.Value == nil) != f.Log {
				t.Errorf("%s: RSS of %s: %v", name, p.Setting, p.RSS.Value)
			}
		}
	}
}

// The page asks nobody for anything, and has the picture and all rows.
func TestHTML(t *testing.T) {
	for name, f := range forecasts() {
		f.Name = "<script>alert(1)</script>"
		var b bytes.Buffer
		if err := HTML(&b, f); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		for _, bad := range []string{"<script", "<link", "src=", "@import", "NaN", "ZgotmplZ"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: the page has %s", name, bad)
			}
		}
		if !strings.Contains(page, `<svg class="wide"`) || !strings.Contains(page, "Content-Security-Policy") || !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("%s: no whole page: %.300s", name, page)
		}
		if n := strings.Count(page, `<th scope="row">`); n < len(f.Rows) {
			t.Errorf("%s: %d rows, want %d", name, n, len(f.Rows))
		}
	}
}

// Every doubt has a sentence of its own.
func TestDoubts(t *testing.T) {
	f := source(guide{}, 40, gcmodel.Setting{GOGC: 100}).Forecast(guide{}, predict.Question{GOGC: []float64{50, 100}})
	all := []gcmodel.Doubt{gcmodel.FewCycles, gcmodel.SmallHeap, gcmodel.Phases, gcmodel.MuchGC, gcmodel.ShortMarks, gcmodel.Clamped, gcmodel.NearCliff, gcmodel.FarAway, gcmodel.NoOverhead}
	f.Rows[0].Doubts = all
	got := text(t, f, layout.Options{})
	for i, d := range all {
		if strings.Contains(got, string(d)) || !strings.Contains(got, "\n"+letter(i)+"  ") {
			t.Errorf("%s is not explained:\n%s", d, got)
		}
	}
	f.Rows[1].Doubts = slices.Clone(all)
	if got := text(t, f, layout.Options{}); !strings.Contains(got, "All rows: fewer than 15 collections were measured; ") {
		t.Errorf("doubts of all rows:\n%s", got)
	}
}
