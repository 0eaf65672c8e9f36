package upgrade

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

// A world is what the new version changes, in all and by candidate, and the noise of a machine.
type world struct {
	rand   *rand.Rand
	base   float64            // that no candidate explains, logarithm, of the CPU time
	effect map[string]float64 // by candidate, likewise
	noise  float64            // of a trial
	broken map[string]bool    // candidates that do not build when they are turned back
	most   int                // blocks of a run
	modes  bool               // half of the trials take four times the noise more
	runs   int
	blocks int
}

const metric = "cpu-sec/req"

func allow(texts ...string) (all []Allowance) {
	for _, text := range texts {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			panic(err)
		}
		all = append(all, Allowance{Threshold: th})
	}
	return all
}

func experiments(names ...string) (all []Candidate) {
	for _, name := range names {
		all = append(all, Candidate{Source: Experiment, Name: name})
	}
	return all
}

func (w *world) upgrade(candidates []Candidate, allowed ...string) *Upgrade {
	u := &Upgrade{Problem: Problem{
		Plan: &dyno.Experiment{Name: "x"}, Candidates: candidates, Allow: allow(allowed...),
		Old: dyno.Setting{{Factor: "go", Value: "1.26.8"}, {Factor: "dep:go", Value: "."}},
		New: dyno.Setting{{Factor: "go", Value: "1.27.4"}, {Factor: "dep:go", Value: "1.27.4"}},
	}}
	u.Build = func(_ context.Context, s dyno.Setting) (string, error) {
		for name, broken := range w.broken {
			if broken && w.turned(s, name) {
				return "", errors.New(name + " does not compile\nat all")
			}
		}
		text := s.String()
		if i := strings.Index(text, " GODEBUG="); i >= 0 {
			text = text[:i]
		}
		return text, nil
	}
	return u
}

// turned reports whether a setting has a candidate turned back.
func (w *world) turned(s dyno.Setting, name string) bool {
	if line, _ := s.Get("dep:go"); line == "." && (name == "go line" || strings.HasPrefix(name, "tls")) {
		return true
	}
	out, _ := s.Get("GOEXPERIMENT")
	debug, _ := s.Get("GODEBUG")
	return strings.Contains(","+out+",", ",no"+name+",") || strings.Contains(","+debug, ","+name+"=")
}

func (w *world) value(s dyno.Setting) float64 {
	if v, _ := s.Get("go"); v == "1.26.8" {
		return 0
	}
	x := w.base
	for name, size := range w.effect {
		if !w.turned(s, name) {
			x += size
		}
	}
	return x
}

// measure is a run: blocks with a level of their own, heavy-tailed noise, and as many of them as there is time for.
func (w *world) measure(_ context.Context, _ string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
	w.runs++
	var rs []*dyno.Result
	tabulate := func() *compare.Table {
		primary := plan.Primary
		if primary == nil {
			primary = []string{metric}
		}
		return compare.Tabulate(rs, compare.Options{Settings: plan.Settings, Primary: primary, Sequential: true, Thresholds: plan.Thresholds})
	}
	start := time.Unix(1, 0)
	for block := 1; block <= w.most; block++ {
		w.blocks++
		level := 0.2 * w.rand.NormFloat64()
		for _, setting := range plan.Settings {
			x := level + w.value(setting) + w.noise*w.rand.NormFloat64()
			if w.modes && w.rand.IntN(2) == 0 {
				x += 4 * w.noise
			}
			if w.rand.IntN(20) == 0 {
				x += 5 * w.noise * math.Abs(w.rand.NormFloat64())
			}
			r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block, Setting: setting}, Start: start, Elapsed: time.Second}
			start = start.Add(time.Second)
			r.Values = dyno.Values{{Metric: metric, Value: math.Exp(x)}}
			rs = append(rs, r)
		}
		if enough(tabulate(), rs) {
			break
		}
	}
	return tabulate(), rs, nil
}

var full = flag.Bool("full", false, "simulate all changes, in runs of 40 blocks, at three sizes of noise")

// Repeated looks make neither word wrong too often, whatever the noise: "not safe" where nothing changed, and "safe" where the change is more
// than is allowed.
func TestBounds(t *testing.T) {
	const times = 400
	most, noises := 12, []float64{0.02}
	if *full {
		most, noises = 40, []float64{0.005, 0.02, 0.06}
	}
	for _, test := range []struct {
		name   string
		change float64
		modes  bool
		allow  string
		wrong  Kind
		short  bool // not only with -full
	}{
		{"nothing changed", 0, false, "change(cpu_per_req) < 2%", NotSafe, false},
		{"nothing changed, nothing is allowed", 0, false, "change(cpu_per_req) < 0%", NotSafe, true},
		{"nothing changed, in two modes", 0, true, "change(cpu_per_req) < 0%", NotSafe, false},
		{"5 %", 0.05, false, "change(cpu_per_req) < 2%", Safe, true},
		{"5 %, in two modes", 0.05, true, "change(cpu_per_req) < 2%", Safe, false},
		{"as much as is allowed", 0.02, false, "change(cpu_per_req) < 2%", Safe, false},
		{"as much as is allowed, in two modes", 0.02, true, "change(cpu_per_req) < 2%", Safe, false},
	} {
		if !test.short && !*full {
			continue
		}
		for _, noise := range noises {
			kinds := map[Kind]int{}
			blocks := 0
			for i := range times {
				w := &world{rand: rand.New(rand.NewPCG(3, uint64(i))), base: math.Log1p(test.change), noise: noise, modes: test.modes, most: most}
				u := w.upgrade(nil, test.allow)
				if err := u.Ask(t.Context(), w.measure); err != nil {
					t.Fatal(err)
				}
				kinds[u.Answer.Kind]++
				blocks += w.blocks
			}
			t.Logf("%s, noise %g%%: %v, %.1f blocks", test.name, 100*noise, kinds, float64(blocks)/times)
			if kinds[test.wrong]*20 > times {
				t.Errorf("%s, noise %g%%: %q in %d of %d", test.name, 100*noise, test.wrong, kinds[test.wrong], times)
			}
		}
	}
}

func candidates() []Candidate {
	return append(experiments("greenteagc", "jsonv2", "malloc"), Candidate{Source: GoLine, Name: "go line", Was: "1.26.0", Is: "1.27.4", Within: []Candidate{
		{Source: Debug, Name: "tlsmlkem", Was: "0"}, {Source: Debug, Name: "tlssha1", Was: "1"}, {Source: Debug, Name: "tlsx", Was: "1"},
	}})
}

// The candidate that did it is named, and none where none did.
func TestCause(t *testing.T) {
	times := 6
	if *full {
		times = 20
	}
	for _, test := range []struct {
		name   string
		base   float64
		effect map[string]float64
		broken map[string]bool
		want   string
		least  int // of 20
	}{
		{"one", 0, map[string]float64{"jsonv2": 0.08}, nil, "jsonv2", 19},
		{"the first", 0, map[string]float64{"greenteagc": 0.08}, nil, "greenteagc", 19},
		{"for the better", 0, map[string]float64{"malloc": -0.08}, nil, "malloc", 19},
		{"most of it", 0.02, map[string]float64{"malloc": 0.06, "jsonv2": 0.01}, nil, "malloc", 19},
		{"a setting", 0, map[string]float64{"tlssha1": 0.08}, nil, "go line tlssha1", 19},
		{"the go line itself", 0, map[string]float64{"go line": 0.08}, nil, "go line", 19},
		{"the compiler", 0.08, nil, nil, "", 19},
		{"nothing", 0, nil, nil, "", 19},
		{"others do not build", 0, map[string]float64{"malloc": 0.08}, map[string]bool{"jsonv2": true, "greenteagc": true}, "malloc", 19},
		{"it does not build", 0, map[string]float64{"malloc": 0.08}, map[string]bool{"malloc": true}, "", 19},
	} {
		found, runs, blocks := map[string]int{}, 0, 0
		for i := range times {
			w := &world{rand: rand.New(rand.NewPCG(4, uint64(i))), base: test.base, effect: test.effect, noise: 0.015, broken: test.broken, most: 40}
			u := w.upgrade(candidates(), "change(cpu_per_req) < 5%")
			if err := u.Ask(t.Context(), w.measure); err != nil {
				t.Fatal(err)
			}
			path := ""
			if c := u.Answer.Cause; c != nil {
				path = strings.ReplaceAll(names(c.Found), ", ", " ")
				if len(c.Found) > 0 && c.Alone.Name != c.Found[len(c.Found)-1].Name {
					t.Errorf("%s: %s was measured alone, and %s is the answer", test.name, c.Alone.Name, path)
				}
				if len(test.broken) > 0 && len(c.Skipped) == 0 {
					t.Errorf("%s: none is left out", test.name)
				}
			}
			found[path]++
			runs, blocks = runs+w.runs, blocks+w.blocks
		}
		t.Logf("%s: %v; %.1f runs, %.0f blocks", test.name, found, float64(runs)/float64(times), float64(blocks)/float64(times))
		if 20*found[test.want] < test.least*times || test.want != "" && found[""] < times-found[test.want] {
			t.Errorf("%s: found %v, want %q", test.name, found, test.want)
		}
	}
}

// Which default did it is said wrongly in few of many searches, where none did.
func TestCauseBound(t *testing.T) {
	times := 40
	if *full {
		times = 200
	}
	wrong := 0
	for i := range times {
		w := &world{rand: rand.New(rand.NewPCG(5, uint64(i))), base: 0.05, noise: 0.02, most: 30, modes: i%2 == 0}
		u := w.upgrade(candidates(), "change(cpu_per_req) < 2%")
		if err := u.Ask(t.Context(), w.measure); err != nil {
			t.Fatal(err)
		}
		if c := u.Answer.Cause; c != nil && len(c.Found) > 0 {
			wrong++
		}
	}
	t.Logf("wrong in %d of %d", wrong, times)
	if wrong*20 > times {
		t.Errorf("wrong in %d of %d", wrong, times)
	}
}

// What needs no measurement is answered without.
func TestUnmeasured(t *testing.T) {
	w := &world{}
	u := w.upgrade(nil)
	u.Refused = true
	if err := u.Ask(t.Context(), nil); err != nil || u.Answer.Kind != Refused || len(u.Subjects().Settings) != 1 {
		t.Errorf("got %v, %v", u.Answer.Kind, err)
	}
	u.Refused, u.New = false, u.Old
	if err := u.Ask(t.Context(), nil); err != nil || u.Answer.Kind != OneProgram {
		t.Errorf("got %v, %v", u.Answer.Kind, err)
	}
}

func TestWith(t *testing.T) {
	u := (&world{}).upgrade(nil)
	u.Plan.Subject.Env = map[string]string{"GODEBUG": "madvdontneed=1"}
	c := candidates()
	for want, back := range map[string][]Candidate{
		"go=1.27.4 dep:go=1.27.4":                                     nil,
		"go=1.27.4 dep:go=1.27.4 GOEXPERIMENT=nogreenteagc,nojsonv2":  c[:2],
		"go=1.27.4 dep:go=.":                                          c[3:],
		`go=1.27.4 dep:go=1.27.4 GODEBUG="madvdontneed=1,tlsmlkem=0"`: c[3].Within[:1],
		`go=1.27.4 dep:go=1.27.4 dep:example.org/x=.`:                 {{Source: Module, Name: "example.org/x"}},
	} {
		if got := u.With(back...).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	w := &world{rand: rand.New(rand.NewPCG(6, 1)), base: math.Log1p(0.03), noise: 0.05, most: 10}
	u := w.upgrade(nil, "change(cpu_per_req) < 5%", "change(p99) < 5%")
	if err := u.Ask(t.Context(), w.measure); err != nil {
		t.Fatal(err)
	}
	a := u.Answer
	if a.Kind != NotDecided || len(a.Judged) != 1 || a.More == 0 || a.Blocks != 10 || a.PerBlock != 2*time.Second {
		t.Errorf("a default of what was not measured is judged, or more is not said: %+v", a)
	}
	u.Allow[1].Asked = true
	if err := u.Ask(t.Context(), w.measure); err != nil || u.Answer.Kind != NotSafe {
		t.Errorf("an allowance of what was not measured holds: %v, %v", u.Answer.Kind, err)
	}
	if m, _, ok := u.changed(); ok {
		t.Errorf("%s surely changed", m.Name)
	}
}

func TestAllowed(t *testing.T) {
	texts := func(given ...string) string {
		e := &dyno.Experiment{}
		for _, a := range allow("change(p99) < 20%", "p50 < 3ms", "change(alloc_per_req) < 1%") {
			e.Thresholds = append(e.Thresholds, a.Threshold)
		}
		if len(given) == 1 && given[0] == "" {
			e, given = &dyno.Experiment{}, nil
		}
		all, err := Allowed(e, given)
		if err != nil {
			return err.Error()
		}
		text := ""
		for _, a := range all {
			text += fmt.Sprintf("%s %t; ", a.Threshold, a.Asked)
		}
		return text
	}
	for want, got := range map[string]string{
		"change(p50) < 5% false; change(p99) < 10% false; change(cpu_per_req) < 5% false; change(rss_peak) < 5% false; ": texts(""),
		"change(p99) < 20% true; change(alloc_per_req) < 1% true; ":                                                      texts(),
		"change(p99) < 3% true; change(req_per_s) > -2% true; change(alloc_per_req) < 1% true; ":                         texts("p99 3%", "req/s 2%"),
		`"p99": want a metric and a share, for example 'p99 5%'`:                                                         texts("p99"),
		`"p99 5": want a share, for example 5%`:                                                                          texts("p99 5"),
		`"p99 -5%": want a share, for example 5%`:                                                                        texts("p99 -5%"),
		`"gomaxprocs 5%": want a metric with a direction, such as cpu_per_req (consider: dyno help metrics)`:             texts("gomaxprocs 5%"),
	} {
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
