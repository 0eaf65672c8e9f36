package certify

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

var full = flag.Bool("full", false, "simulate as much as doc/method/verdicts.md's figures are of")

// A world is how runs of a service come out.
type world struct {
	name        string
	sd          float64 // of the log of a trial
	heavy       bool    // Student's t with 3 degrees of freedom, in place of the normal
	restless    float64 // deviation of the log of sd from run to run
	least, most int     // blocks after which the time of a run is up
}

func (w world) noise(r *rand.Rand) float64 {
	x := r.NormFloat64()
	if !w.heavy {
		return x
	}
	sum := 0.0
	for range 3 {
		y := r.NormFloat64()
		sum += y * y
	}
	return x / math.Sqrt(sum) // of variance 1
}

// cpuFirst lists the primary metrics; tests change the first.
var cpuFirst = []string{"cpu-sec/req", "p50-sec", "p99-sec", "req/s", "rss-peak-B"}

// runs are judged with looks, and end early as those of dyno run. All have the same noise, and each a
// log ratio of CPU time.
func (w world) runs(r *rand.Rand, effects ...float64) (js []Judged) {
	sd := w.sd * math.Exp(w.restless*r.NormFloat64())
	most := w.least + r.IntN(w.most-w.least+1)
	values := make([][][]float64, len(cpuFirst)) // by metric and block
	for m := range values {
		for range most {
			values[m] = append(values[m], []float64{math.Exp(sd * w.noise(r)), math.Exp(sd * w.noise(r))})
		}
	}
	changed := make([][]float64, most)
	for _, effect := range effects {
		for b, block := range values[0] {
			changed[b] = []float64{block[0], block[1] * math.Exp(effect)}
		}
		metrics := append([][][]float64{changed}, values[1:]...)
		for blocks := min(stats.FewestBlocks, most); ; blocks++ {
			t, over := tableOf(metrics, blocks)
			if blocks == most || over {
				j := Judge(t, "b2")
				j.Early = blocks < most
				js = append(js, j)
				break
			}
		}
	}
	return js
}

// tableOf is the comparison of the first blocks, and whether a run is over with it.
func tableOf(metrics [][][]float64, blocks int) (t *compare.Table, over bool) {
	var family []*stats.Comparison
	for _, m := range metrics {
		family = append(family, &stats.Compare(m[:blocks])[0])
	}
	stats.Adjust(family)
	margin := float64(dyno.DefaultNegligible)
	t = &compare.Table{Settings: []compare.Setting{{}, {Versus: map[string]compare.Versus{}}}, Blocks: blocks, Negligible: margin}
	over = true
	for i, c := range family {
		name := cpuFirst[i]
		v := compare.Versus{Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, Verdict: c.Verdict(stats.Rule{Negligible: margin}), Comparison: *c}
		over = over && (v.Verdict != stats.Unclear || math.Log(v.Hi/v.Lo)/2 <= math.Log1p(margin) && v.Lo <= 1 && 1 <= v.Hi)
		t.Rows = append(t.Rows, compare.Row{Metric: dyno.Metric{Name: name, Primary: true}, Key: name})
		t.Settings[1].Versus[name] = v
	}
	return t, over
}

// A pool has runs of a world: each with equal settings, and with its noise and each of the effects.
type pool struct {
	effects []float64
	runs    [][]Judged // the first of equal settings
	r       *rand.Rand
}

// newPool has so many runs. The effects are found in these shares of the runs, roughly.
func (w world) newPool(n int, seed uint64, found ...float64) *pool {
	p := &pool{r: rand.New(rand.NewPCG(seed, 1))}
	var sizes []float64
	for range 400 {
		s, _ := w.runs(p.r, 0)[0].of("cpu-sec/req")
		sizes = append(sizes, math.Log1p(float64(s.Visible))+math.Log(float64(s.Ratio)))
	}
	slices.Sort(sizes)
	for _, f := range found {
		p.effects = append(p.effects, sizes[int(f*float64(len(sizes)))])
	}
	for range n {
		p.runs = append(p.runs, w.runs(p.r, append([]float64{0}, p.effects...)...))
	}
	return p
}

// power is how often the judge finds an effect.
func (p *pool) power(effect int) float64 {
	found := 0
	for _, js := range p.runs {
		if s, _ := js[1+effect].of("cpu-sec/req"); s.Verdict == stats.Worse {
			found++
		}
	}
	return float64(found) / float64(len(p.runs))
}

// campaign has runs of equal settings, and half as many of each effect.
func (p *pool) campaign(equal int) (c Certificate) {
	draw := func(i int) Judged { return p.runs[p.r.IntN(len(p.runs))][i] }
	for range equal {
		c.Outcomes = append(c.Outcomes, Outcome{Judged: draw(0), Change: Change{Kind: Equal}})
	}
	for i, e := range p.effects {
		for range equal / 2 {
			c.Outcomes = append(c.Outcomes, Outcome{Judged: draw(1 + i), Change: Change{CPU, math.Expm1(e)}})
		}
	}
	return c
}

// A tally counts what campaigns say of a truth.
type tally struct{ n, sum, square, covered, width float64 }

func (t *tally) add(truth float64, p Power) {
	t.n++
	t.sum += p.Share - truth
	t.square += (p.Share - truth) * (p.Share - truth)
	t.width += p.Hi - p.Lo
	if p.Lo <= truth && truth <= p.Hi {
		t.covered++
	}
}

func (t *tally) bias() float64  { return t.sum / t.n }
func (t *tally) error() float64 { return math.Sqrt(t.square / t.n) }
func (t *tally) cover() float64 { return t.covered / t.n }

func (t *tally) String() string {
	return fmt.Sprintf("bias %+.3f, error %.3f, interval ±%.3f covers %.3f", t.bias(), t.error(), t.width/t.n/2, t.cover())
}

// A method is one way to work out a share, and what came of it.
type method struct {
	name string
	tally
	of func(c Curve, d float64) float64
}

// methods are what the curve was chosen from: without smoothing, and with one of its two scales.
func methods() []*method {
	byScale := func(scale func(c Curve) func(n noise) float64) func(Curve, float64) float64 {
		return func(c Curve, d float64) (sum float64) {
			of := scale(c)
			for _, n := range c.noise {
				sum += distuv.UnitNormal.CDF((d-n.v)/of(n)) / float64(c.Runs)
			}
			return sum
		}
	}
	return []*method{
		{name: "yes and no", of: func(c Curve, d float64) (sum float64) {
			for _, n := range c.noise {
				for _, e := range []float64{n.e, -n.e} {
					if d+e > n.v {
						sum += 0.5 / float64(c.Runs)
					}
				}
			}
			return sum
		}},
		{name: "RMS of e", of: byScale(func(c Curve) func(noise) float64 {
			s := c.scatter()
			return func(noise) float64 { return s }
		})},
		{name: "RMS of e/v times v", of: byScale(func(c Curve) func(noise) float64 {
			u := rms(c.noise, func(n noise) float64 { return n.e / n.v })
			return func(n noise) float64 { return u * n.v }
		})},
	}
}

// The curve says how often the judge finds a change, by runs without one: at a size that is known, and at
// the one that planted runs measured. Its intervals hold that share, and the size that so many find.
func TestCurve(t *testing.T) {
	worlds := []world{
		{"normal, 6 to 9 blocks", 0.1, false, 0, 6, 9},
		{"t, 3 df, 8 blocks", 0.02, true, 0, 8, 8},
		{"normal, noisy and calm runs, 6 blocks", 0.02, false, 0.4, 6, 6},
	}
	found, equals, runs, campaigns := []float64{0.2, 0.5, 0.9}, []int{40}, 300, 40
	if *full {
		found, equals, runs, campaigns = []float64{0.05, 0.2, 0.5, 0.8, 0.95}, []int{10, 20, 40}, 4000, 300
		worlds = append(worlds,
			world{"normal, 6 blocks", 0.02, false, 0, 6, 6},
			world{"normal, 10 blocks", 0.02, false, 0, 10, 10},
			world{"normal, 20 blocks", 0.02, false, 0, 20, 20},
			world{"t, 3 df, 16 blocks", 0.02, true, 0, 16, 16},
			world{"t, 3 df, noisy and calm runs, 7 to 9 blocks", 0.02, true, 0.4, 7, 9})
	}
	for i, w := range worlds {
		p := w.newPool(runs, uint64(i), found...)
		for _, n := range equals {
			for k := range p.effects {
				t.Run(fmt.Sprintf("%s, %d equal, %v", w.name, n, found[k]), func(t *testing.T) { p.check(t, n, k, campaigns) })
			}
		}
	}
}

// check makes campaigns and compares what they say of an effect with what the judge does.
func (p *pool) check(t *testing.T, equal, effect, campaigns int) {
	var known, measured, size tally
	others := methods()
	d, truth := p.effects[effect], p.power(effect)
	for range campaigns {
		c := p.campaign(equal)
		curve, ok := c.Curve("cpu-sec/req")
		if !ok {
			t.Fatal("there is no curve")
		}
		if curve.AtLeast { // a lower bound, which TestCurveAtLeast checks
			continue
		}
		known.add(truth, curve.At(math.Expm1(d), 0))
		x, _, ok := c.Expected(Change{CPU, math.Expm1(d)})
		if !ok {
			t.Fatal("nothing is expected")
		}
		measured.add(truth, x)
		if x, lo, hi, ok := curve.Size(truth); ok {
			size.add(d, Power{Share: math.Log1p(x), Lo: math.Log1p(lo), Hi: math.Log1p(hi)})
		}
		for _, m := range others {
			m.add(truth, Power{Share: m.of(curve, d)})
		}
	}
	say := fmt.Sprintf("found in %.3f. At its size: %v. At the size measured: %v. Size: bias %+.1f %%, covers %.3f.", truth, &known, &measured, 100*size.bias()/d, size.cover())
	for _, m := range others {
		say += fmt.Sprintf(" %s: bias %+.3f, error %.3f.", m.name, m.bias(), m.error())
	}
	t.Logf("%s Of %d with it: error %.3f.", say, equal/2, math.Sqrt(truth*(1-truth)/float64(equal/2)))
	// The judge's own share is known to 3 points only, in an ordinary test.
	if math.Abs(known.bias()) > 0.1 || known.cover() < 0.75 || measured.cover() < 0.75 {
		t.Errorf("found in %.3f; at its size: %v; at the size measured: %v", truth, &known, &measured)
	}
}

// Runs that end early, as nothing differs, would have gone on with a change: then the curve says at
// least how often it is found.
func TestCurveAtLeast(t *testing.T) {
	p := world{"quiet", 0.006, false, 0, 25, 25}.newPool(100, 1, 0.5)
	c := p.campaign(20)
	x, _, ok := c.Expected(Change{CPU, math.Expm1(p.effects[0])})
	if !ok || !x.AtLeast || x.Share > p.power(0) {
		t.Errorf("%+v, %t; found in %.2f", x, ok, p.power(0))
	}
	if s := (Share{Lo: 0.9, Hi: 1}); x.Contradicts(s) || !(Power{Share: 0.5, Lo: 0.4, Hi: 0.6}).Contradicts(s) {
		t.Errorf("%+v beside %+v", x, s)
	}
}

// seen is a run of which the CPU time per request is known.
func seen(c Change, logRatio, visible float64) Outcome {
	return Outcome{Change: c, Judged: Judged{Seen: []Seen{{
		Metric: Shown(c.Kind), Ratio: dyno.Number(math.Exp(logRatio)), Visible: dyno.Number(math.Expm1(visible)),
	}}}}
}

// Only runs of equal settings make the curve, eight at least; one that knows nothing finds nothing.
func TestCurveOf(t *testing.T) {
	var c Certificate
	for i := range FewestEqual {
		if _, ok := c.Curve("cpu-sec/req"); ok {
			t.Fatalf("a curve of %d runs", i)
		}
		failed := seen(Change{Kind: Equal}, 9, 9)
		failed.Err = "it failed"
		c.Outcomes = append(c.Outcomes, seen(Change{Kind: Equal}, 0.01*float64(1-i%2*2), 0.1), failed, seen(Change{CPU, 0.2}, math.Log(1.1), 7), seen(Change{CPU, 0.4}, math.Log(1.2), 7))
	}
	curve, ok := c.Curve("cpu-sec/req")
	if half := curve.At(math.Expm1(0.1), 0); !ok || !near(half.Share, 0.5, 1e-9) || half.Lo > 0.4 || half.Hi < 0.6 {
		t.Errorf("at the size that all call a change: %+v", half)
	}
	if none, all := curve.At(0, 0), curve.At(9, 0); none.Share > 1e-9 || none.Lo != 0 || none.Hi < 0.05 || none.Hi > 0.2 || all.Share < 1-1e-9 || all.Hi != 1 || all.Lo > 0.95 || all.Lo < 0.8 {
		t.Errorf("of nothing %+v, of 10 times as much %+v", none, all)
	}
	if size, lo, hi, ok := curve.Size(0.5); !ok || !near(size, math.Expm1(0.1), 1e-4) || lo > size || hi < size {
		t.Errorf("half find %v (%v to %v), %t", size, lo, hi, ok)
	}
	// What is planted is measured as half of it, whatever its size.
	for size, want := range map[float64]float64{0.2: 0.1, 0.4: 0.2} {
		if _, got, ok := c.Expected(Change{CPU, size}); !ok || !near(got, want, 1e-6) {
			t.Errorf("planted %v: measured %v, %t", size, got, ok)
		}
	}
	for _, k := range []Kind{Equal, Lock, Memory} {
		if p, _, ok := c.Expected(Change{k, 0.2}); ok {
			t.Errorf("%s: %+v", k, p)
		}
	}
	for range FewestEqual {
		c.Outcomes = append(c.Outcomes, seen(Change{Kind: Equal}, 0.01, math.NaN()))
	}
	curve, _ = c.Curve("cpu-sec/req")
	if p := curve.At(9, 0); !near(p.Share, 0.5, 1e-9) {
		t.Errorf("half of the runs know nothing: %+v", p)
	}
	if size, _, _, ok := curve.Size(Mostly); ok {
		t.Errorf("found in most runs: %v", size)
	}
}
