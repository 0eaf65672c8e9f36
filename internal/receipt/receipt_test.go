package receipt

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/stats"
)

const mib = gcmodel.MiB

// window is of a service with 40 MiB live that allocates 100 MiB a second at GOGC=100, and so is collected 2.5 times a second.
func window() predict.Window {
	w := predict.Window{Window: gcmodel.Window{
		Setting: gcmodel.Setting{GOGC: 100}, Launches: 1, Requests: 40_000, Elapsed: 40, Alloc: 4000 * mib, CPU: 24, GCCPU: 3, Procs: 2,
		RSSPeak: 100 * mib, HeapPeak: 83 * mib, Mapped: 92 * mib, Overhead: 9 * mib, Filling: math.NaN(),
	}}
	for range 100 {
		w.Cycles = append(w.Cycles, gcmodel.Cycle{Trigger: 80 * mib, End: 82 * mib, Marked: 42 * mib, Goal: 84 * mib, Mark: 0.02, Exact: true})
	}
	return w
}

func gogc(value string) answer.Setting {
	return answer.SettingOf(dyno.Setting{{Factor: "GOGC", Value: value}, {Factor: "GOMEMLIMIT", Value: "off"}})
}

// promised is a receipt of predictions from window.
func promised(t *testing.T, settings ...string) *Receipt {
	t.Helper()
	r := &Receipt{ID: "1", From: "predict", Name: "shop", Machine: Machine{CPU: "EPYC", CPUs: 2}, Load: Load{Rate: 1000, Alloc: 100 * mib, Live: 40 * mib, Marked: Number(math.NaN())}}
	r.Model = ModelOf([]predict.Window{window()}, 1)
	r.Made = time.Unix(1e9, 0)
	model := r.Model.fit()
	for _, s := range settings {
		p := model.Predict(told(gogc(s).Levels))
		for _, f := range predict.Figures(predict.Request) {
			e := f.Of(&p)
			r.Promises = append(r.Promises, Promise{Setting: gogc(s), Metric: f.Metric, Interval: Interval{Number(e.Value), Number(e.Lo), Number(e.Hi)}, Level: 0.9})
		}
	}
	text, err := json.Marshal(r) // as it comes from its file
	if err != nil {
		t.Fatal(err)
	}
	var read Receipt
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

// came is a run whose figures at a setting are those that r promises, times by.
func came(r *Receipt, setting string, by float64) *After {
	m := Measured{Levels: gogc(setting).Levels, Load: r.Load, Requests: 40_000, Values: map[string]Value{}}
	for _, p := range r.Promises {
		if p.Name == gogc(setting).Name {
			m.Values[p.Metric] = Value{float64(p.Value) * by, math.NaN(), math.NaN(), 1}
		}
	}
	return &After{ID: "a", Path: "after", Name: "shop", Started: time.Unix(2e9, 0), Machine: r.Machine, Settings: []Measured{m}}
}

func outcomeOf(t *testing.T, c Check, metric string) Outcome {
	t.Helper()
	i := slices.IndexFunc(c.Outcomes, func(o Outcome) bool { return o.Metric == metric })
	if i < 0 {
		t.Fatalf("no outcome of %s among %d", metric, len(c.Outcomes))
	}
	return c.Outcomes[i]
}

func TestJudging(t *testing.T) {
	const gcs, gcCPU, cpu, rss = "gc-cycles/req", "gc-cpu-idle-sec/req", "cpu-sec/req", "rss-peak-B"
	for name, c := range map[string]struct {
		by     float64 // what came by what was promised
		change func(r *Receipt, a *After)
		metric string
		want   Word
		reason Reason
	}{
		"as promised":               {1, nil, rss, Held, ""},
		"within the interval":       {1.04, nil, rss, Held, ""},
		"above the interval":        {1.3, nil, rss, Missed, ""},
		"below the interval":        {0.7, nil, rss, Missed, ""},
		"a planted wrong figure":    {1, func(r *Receipt, _ *After) { wrong(r, gcs, 0.5) }, gcs, Missed, ""},
		"the load is a bit off":     {1, func(_ *Receipt, a *After) { a.Settings[0].Load.Rate *= 1.08; a.Settings[0].Load.Alloc *= 1.08 }, cpu, Held, ""},
		"another load, no model":    {1, func(r *Receipt, a *After) { r.Model = nil; a.Settings[0].Load.Rate *= 1.3 }, cpu, Untold, LoadChanged},
		"too far off for the model": {1, func(_ *Receipt, a *After) { a.Settings[0].Load.Rate *= 3; a.Settings[0].Load.Alloc *= 3 }, gcs, Untold, LoadChanged},
		"other requests, their CPU": {1, func(_ *Receipt, a *After) { a.Settings[0].Load.Alloc *= 1.5 }, cpu, Untold, LoadChanged},
		"another rate of a closed load": {1, func(r *Receipt, a *After) {
			r.Model = nil
			r.Load.Clients, a.Settings[0].Load.Clients = 8, 8
			a.Settings[0].Load.Rate *= 0.5
			a.Settings[0].Load.Alloc *= 0.5
		}, cpu, Held, ""},
		"a closed load, and half the rate": {2, func(r *Receipt, a *After) {
			r.Load.Clients, a.Settings[0].Load.Clients = 8, 8
			a.Settings[0].Load.Rate *= 0.5
			a.Settings[0].Load.Alloc *= 0.5
		}, cpu, Missed, ""},
		"other requests of a closed load": {1, func(r *Receipt, a *After) {
			r.Load.Clients, a.Settings[0].Load.Clients = 8, 8
			a.Settings[0].Load.Rate *= 0.5
		}, cpu, Untold, LoadChanged},
		"more clients": {1, func(r *Receipt, a *After) {
			r.Model = nil
			r.Load.Clients, a.Settings[0].Load.Clients = 8, 16
			a.Settings[0].Load.Rate *= 1.5
		}, cpu, Untold, LoadChanged},
		"other requests":               {1, func(r *Receipt, a *After) { r.Load.Sends, a.Settings[0].Load.Sends = "1", "2" }, rss, Untold, LoadChanged},
		"a larger live heap, no model": {1, func(r *Receipt, a *After) { r.Model = nil; a.Settings[0].Load.Live *= 1.5 }, rss, Untold, LoadChanged},
		"marked where live is not known": {1, func(r *Receipt, a *After) {
			r.Model = nil
			r.Load.Live, r.Load.Marked, a.Settings[0].Load.Marked = Number(math.NaN()), 40*mib, 60*mib
		}, rss, Untold, LoadChanged},
		"another machine, times":    {1, func(_ *Receipt, a *After) { a.Machine.CPU = "Xeon" }, cpu, Untold, MachineChanged},
		"another machine, bytes":    {1, func(_ *Receipt, a *After) { a.Machine.CPU = "Xeon" }, rss, Held, ""},
		"a machine not known":       {1, func(_ *Receipt, a *After) { a.Machine = Machine{} }, cpu, Untold, MachineUnknown},
		"not known, bytes":          {1, func(_ *Receipt, a *After) { a.Machine = Machine{} }, rss, Held, ""},
		"neither is known":          {1, func(r *Receipt, a *After) { r.Machine, a.Machine = Machine{}, Machine{} }, cpu, Untold, MachineUnknown},
		"it is said to be the same": {1, func(_ *Receipt, a *After) { a.Machine, a.SameMachine = Machine{}, true }, cpu, Held, ""},
		"not measured":              {1, func(_ *Receipt, a *After) { delete(a.Settings[0].Values, cpu) }, cpu, Untold, NoSuchMetric},
		"hardly a collection":       {1, func(_ *Receipt, a *After) { a.Settings[0].Requests = 800 }, gcs, Untold, FewCollections},
		"the same of the memory":    {1, func(_ *Receipt, a *After) { a.Settings[0].Requests = 800 }, rss, Untold, FewCollections},
		"hardly one is promised":    {1, func(r *Receipt, a *After) { wrong(r, gcs, 1e-4) }, gcs, Missed, ""},
		"fewer than in the model":   {1.08, func(_ *Receipt, a *After) { a.Settings[0].Requests = 2500 }, gcs, Held, ""},
		"as many as in the model":   {1.08, nil, gcs, Missed, ""},
		"a log without requests": {1, func(_ *Receipt, a *After) {
			m := &a.Settings[0]
			m.Requests, m.Load.Rate = 0.01, Number(math.NaN())
			delete(m.Values, gcs)
		}, "heap-peak-B", Held, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := promised(t, "50", "200")
			a := came(r, "50", c.by)
			if c.change != nil {
				c.change(r, a)
			}
			check := r.Against(a)
			if len(check.Outcomes) != 5 {
				t.Errorf("%d outcomes, want those of one setting", len(check.Outcomes))
			}
			if o := outcomeOf(t, check, c.metric); o.Word != c.want || o.Reason != c.reason {
				t.Errorf("%s %q, want %s %q: %+v", o.Word, o.Reason, c.want, c.reason, o)
			}
		})
	}
	if n := len(promised(t, "50").Against(came(promised(t, "200"), "200", 1)).Outcomes); n != 0 {
		t.Errorf("%d promises are of another setting", n)
	}
}

// wrong plants a wrong promise.
func wrong(r *Receipt, metric string, by Number) {
	for i := range r.Promises {
		if p := &r.Promises[i]; p.Metric == metric {
			p.Value, p.Lo, p.Hi = by*p.Value, by*p.Lo, by*p.Hi
		}
	}
}

// At another load the model says what the promise would have been: more live heap is more memory, and more that is allocated for each
// request is more collections.
func TestCorrected(t *testing.T) {
	r := promised(t, "200")
	a := came(r, "200", 1)
	m := &a.Settings[0]
	m.Load.Rate, m.Load.Alloc, m.Load.Live = 1300, 1.2*1.3*100*mib, 1.25*40*mib
	c := r.Against(a)
	for metric, want := range map[string][2]float64{"gc-cycles/req": {0.85, 1.1}, "heap-peak-B": {1.2, 1.3}, "rss-peak-B": {1.15, 1.3}} {
		o := outcomeOf(t, c, metric)
		by := float64(o.Judged.Value / o.Promised.Value)
		if !o.Corrected || o.Change == nil || math.Abs(float64(o.Change.Live)-1.25) > 1e-9 || by < want[0] || by > want[1] {
			t.Errorf("%s is corrected by %.3f, want %v: %+v", metric, by, want, o)
		}
		if was, is := o.Promised.Hi/o.Promised.Lo, o.Judged.Hi/o.Judged.Lo; is <= was {
			t.Errorf("%s: the interval is not wider: %g, was %g", metric, is, was)
		}
	}
	m.Values["heap-peak-B"] = Value{Value: 1.25 * m.Values["heap-peak-B"].Value}
	if o := outcomeOf(t, r.Against(a), "heap-peak-B"); o.Word != Held {
		t.Errorf("a heap that grew as the live heap: %+v", o)
	}
	if o := outcomeOf(t, c, "heap-peak-B"); o.Word != Missed {
		t.Errorf("a heap that did not grow with the live heap: %+v", o)
	}
}

// A bound that is null excludes nothing, and so does one that is absent: without both nothing was promised.
func TestNoInterval(t *testing.T) {
	for text, want := range map[string]Reason{
		`{"metric":"rss-peak-B","value":1e8,"lo":null,"hi":null}`: NoInterval,
		`{"metric":"rss-peak-B","value":1e8}`:                     NoInterval,
		`{"metric":"rss-peak-B","lo":1,"hi":2}`:                   NoInterval,
		`{"metric":"rss-peak-B","value":1e8,"lo":9e7}`:            "",
	} {
		r := &Receipt{}
		if err := json.Unmarshal([]byte(`{"load":{},"promises":[`+text+`]}`), r); err != nil {
			t.Fatal(err)
		}
		if !math.IsNaN(float64(r.Load.Rate)) {
			t.Errorf("a rate that is absent: %v", r.Load.Rate)
		}
		a := &After{Settings: []Measured{{Load: Unknown(), Values: map[string]Value{"rss-peak-B": {Value: 1e8}}}}}
		if o := r.Against(a).Outcomes[0]; o.Reason != want || (o.Word == Untold) != (want != "") {
			t.Errorf("%s: %+v, want %q", text, o, want)
		}
	}
}

// A ratio needs both settings, and gets the noise of the later measurement.
func TestRatio(t *testing.T) {
	best, today := gogc("200"), gogc("100")
	r := &Receipt{From: "tune", Load: Unknown(), Promises: []Promise{{Setting: best, Against: &today, Metric: "cpu-sec/req", Interval: Interval{0.9, 0.88, 0.92}, Level: 0.95, Truth: true}}}
	a := &After{SameMachine: true, Settings: []Measured{{Levels: best.Levels, Load: Unknown()}}}
	if o := r.Against(a).Outcomes[0]; o.Reason != NoBaseline {
		t.Errorf("with one setting: %+v", o)
	}
	a.Settings = append(a.Settings, Measured{Levels: today.Levels, Load: Unknown()})
	for _, c := range []struct {
		ratio, half float64
		want        Word
	}{{0.9, 0.02, Held}, {0.925, 0.02, Held}, {0.95, 0.02, Missed}, {0.95, 0.06, Held}, {0.85, 0.02, Missed}} {
		a.Ratio = func(of, to int, metric string) (Value, bool) {
			return Value{c.ratio, c.ratio - c.half, c.ratio + c.half, 8}, of == 0 && to == 1 && metric == "cpu-sec/req"
		}
		if o := r.Against(a).Outcomes[0]; o.Word != c.want {
			t.Errorf("%g ±%g: %+v, want %s", c.ratio, c.half, o, c.want)
		}
	}
}

// Where the model knows the metric, a load that differs by less than what makes it another one is no reason for a miss.
func TestCorrectedByLittle(t *testing.T) {
	r := promised(t, "200")
	a := came(r, "200", 1)
	m := &a.Settings[0]
	m.Load.Live *= 1.09
	m.Values["heap-peak-B"] = Value{Value: 1.09 * m.Values["heap-peak-B"].Value}
	for i := range r.Promises {
		p := &r.Promises[i]
		p.Lo, p.Hi = 0.97*p.Value, 1.03*p.Value
	}
	o := outcomeOf(t, r.Against(a), "heap-peak-B")
	if by := o.Judged.Hi / o.Promised.Hi; o.Word != Held || o.Corrected || o.Change != nil || by < 1.07 || by > 1.1 {
		t.Errorf("a heap that grew by 9 %% as the live heap: %+v", o)
	}
	m.Values["heap-peak-B"] = Value{Value: m.Values["heap-peak-B"].Value / 1.09}
	if o := outcomeOf(t, r.Against(a), "heap-peak-B"); o.Word != Held || o.Judged.Lo != o.Promised.Lo {
		t.Errorf("a heap that did not grow, as if that was noise: %+v", o)
	}
	m.Values["heap-peak-B"] = Value{Value: m.Values["heap-peak-B"].Value * 1.2}
	if o := outcomeOf(t, r.Against(a), "heap-peak-B"); o.Word != Missed {
		t.Errorf("a heap that grew by 20 %%: %+v", o)
	}
}

// A receipt that was made after what came has promised nothing.
func TestBefore(t *testing.T) {
	r := promised(t, "50")
	if a := came(r, "50", 1); !r.Before(a) || !r.Before(&After{}) {
		t.Error("a receipt of before")
	}
	if !r.Before(&After{Ended: time.Unix(2e9, 0)}) || r.Before(&After{Ended: time.Unix(1e8, 0)}) {
		t.Error("a log counts if it was written to after the promise")
	}
	if r.Made = time.Unix(3e9, 0); r.Before(came(r, "50", 1)) {
		t.Error("a receipt of after")
	}
}

// Of intervals of 90 % that are drawn right, 90 % hold, of launches as of ratios; of those that are too narrow by half, far fewer. The
// interval of the share says so.
func TestHitRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 2000
	launches := func(n int) (trials []float64) {
		for range n {
			trials = append(trials, math.Exp(0.05*rng.NormFloat64()))
		}
		return trials
	}
	checks := func(narrow float64, later int) (all []Check) {
		for range n {
			figure, _ := launch(launches(6))
			figure.Setting, figure.Metric = gogc("50"), "cpu-sec/req"
			figure.Spread *= narrow
			figure.Interval = figure.of(1)
			truth := 1 + 0.02*rng.NormFloat64() // what a ratio of 1 is taken for, and what comes
			seen := 1 + 0.03*rng.NormFloat64()
			today := gogc("100")
			r := &Receipt{From: "tune", Load: Unknown(), Promises: []Promise{
				figure,
				{Setting: gogc("50"), Metric: "rss-peak-B", Against: &today, Level: 0.9, Truth: true,
					Interval: Interval{Number(truth), Number(truth - narrow*1.645*0.02), Number(truth + narrow*1.645*0.02)}},
			}}
			a := &After{SameMachine: true, Settings: []Measured{
				{Levels: gogc("50").Levels, Load: Unknown(), Values: map[string]Value{"cpu-sec/req": {Value: stats.Median(launches(later)), Trials: later}}},
				{Levels: today.Levels, Load: Unknown()}}}
			a.Ratio = func(int, int, string) (Value, bool) {
				return Value{seen, seen - narrow*1.645*0.03, seen + narrow*1.645*0.03, 6}, true
			}
			c := r.Against(a)
			c.Receipt = string(rune(len(all))) // each is another
			c.AfterID = c.Receipt
			all = append(all, c)
		}
		return all
	}
	for _, later := range []int{1, 6} {
		all, each := Rates(checks(1, later), false)
		if all.Told != 2*n || len(each) != 2 || each[0].Metric != "cpu-sec/req" || all.Level < 0.8999 || all.Level > 0.9001 {
			t.Fatalf("%+v, %+v", all, each)
		}
		for _, r := range append(each, all) {
			if bound := 3.3 * math.Sqrt(0.09/float64(r.Told)); math.Abs(r.Share-0.9) > bound || r.Lo > 0.91 || r.Hi < 0.89 {
				t.Errorf("%s after %d launches: %.3f [%.3f, %.3f] held, want 0.9 ±%.3f", r.Metric, later, r.Share, r.Lo, r.Hi, bound)
			}
		}
	}
	if narrow, _ := Rates(checks(0.5, 6), false); narrow.Hi > 0.8 {
		t.Errorf("of intervals that are too narrow %.3f held", narrow.Share)
	}
}

// Many cycles are kept in part, and say the same of another load.
func TestModelIsKept(t *testing.T) {
	w := window()
	long := w
	long.Cycles = nil
	for range 12 {
		long.Cycles = append(long.Cycles, w.Cycles...)
	}
	long.Requests, long.Elapsed, long.Alloc, long.CPU, long.GCCPU = 12*w.Requests, 12*w.Elapsed, 12*w.Alloc, 12*w.CPU, 12*w.GCCPU
	m := ModelOf([]predict.Window{long}, 1)
	if n := len(m.Windows[0].Cycles); n != mostCycles {
		t.Errorf("%d cycles are kept", n)
	}
	for _, s := range []gcmodel.Setting{{GOGC: 50}, {GOGC: 200}} {
		got, want := m.fit().Predict(s), gcmodel.Fit(long.Window).Predict(s)
		if math.Abs(got.Cycles.Value/want.Cycles.Value-1) > 0.01 || math.Abs(got.HeapPeak.Value/want.HeapPeak.Value-1) > 0.01 || math.Abs(got.CPU.Value/want.CPU.Value-1) > 0.01 {
			t.Errorf("%+v: %+v, want %+v", s, got, want)
		}
	}
	if ModelOf(nil, 1) != nil {
		t.Error("a model of nothing")
	}
}

// What was measured is promised with the spread of launches, and changes with their intervals.
func TestCompared(t *testing.T) {
	values := map[string]compare.Summary{
		"p99-sec":     {Center: 0.01, Trials: []float64{0.009, 0.01, 0.011, 0.01}},
		"rss-peak-B":  {Center: 1e8, Trials: []float64{1e8}},
		"req/s":       {Center: 500, Trials: []float64{500, 500, 500}},
		"alloc-B/req": {Center: 1e6, Trials: []float64{1e6}},
		"p50-sec":     {Center: 1, Trials: []float64{1, 1, 1}, Saturated: true},
	}
	ps := Compared(gogc("200"), gogc("100"), values, func(metric string) (compare.Versus, bool) {
		return compare.Versus{Ratio: 1.2, Lo: 1.1, Hi: 1.3}, metric == "rss-peak-B"
	})
	if len(ps) != 2 || ps[0].Metric != "p99-sec" || ps[0].Truth || ps[0].Lo > 0.009 || ps[0].Hi < 0.011 || ps[1].Metric != "rss-peak-B" || ps[1].Against == nil || !ps[1].Truth {
		t.Errorf("%+v", ps)
	}
	if l := LoadOf(&dyno.Load{}, values); l.Rate != 500 || l.Alloc != 5e8 || !math.IsNaN(float64(l.Marked)) {
		t.Errorf("%+v", l)
	}
}
