package compare

import (
	"fmt"
	"math"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// runOf makes the results of blocks of GOGC=100 and GOGC=200; by says by how much a
// metric of the latter is greater in a block, in per cent, and NaN leaves it out.
func runOf(blocks int, by map[string]func(block int) float64) (rs []*dyno.Result) {
	for b := 1; b <= blocks; b++ {
		for i, level := range []string{"100", "200"} {
			r := &dyno.Result{Trial: dyno.Trial{N: 2*b - 1 + i, Block: b, Setting: gogc(level)}}
			for metric, percent := range by {
				x := percent(b)
				if math.IsNaN(x) {
					continue
				}
				if i == 0 {
					x = 0
				}
				r.Values = append(r.Values, dyno.Value{Metric: metric, Value: 100 + float64(b%3) + x})
			}
			rs = append(rs, r)
		}
	}
	return rs
}

// about swings about a level.
func about(percent, swing float64) func(int) float64 {
	return func(block int) float64 { return percent + swing*math.Sin(2.4*float64(block)) }
}

func sequential(ths ...string) Options {
	o := options()
	o.Sequential = true
	for _, text := range ths {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			panic(err)
		}
		o.Thresholds = append(o.Thresholds, th)
	}
	return o
}

// However a run comes to its blocks, what it says of them is the same.
func TestOneJudge(t *testing.T) {
	rs := experiment(10)
	said := func(o Options) string {
		v := Tabulate(rs, o).Settings[1].Versus["p50-sec"]
		return fmt.Sprint(v.Ratio, v.Lo, v.Hi, v.P, v.Verdict, v.Gate.Single())
	}
	if fixed, open := said(options()), said(sequential()); fixed != open {
		t.Errorf("%s, and %s in a run that decides itself when it ends", fixed, open)
	}
}

// Below six blocks nothing is said of a change, whatever the numbers: they may agree by chance.
func TestFewBlocks(t *testing.T) {
	for blocks := 1; blocks <= 6; blocks++ {
		v := Tabulate(runOf(blocks, map[string]func(int) float64{"p50-sec": about(50, 0.001)}), options()).Settings[1].Versus["p50-sec"]
		if few := blocks < 6; (v.Verdict == stats.Unclear) != few || math.IsNaN(v.Lo) != few {
			t.Errorf("%d blocks: %+v", blocks, v)
		}
	}
}

// A verdict does not outlive its evidence: six blocks that were disturbed, then many that were not.
func TestVerdictFollows(t *testing.T) {
	by := func(b int) float64 {
		if b <= 6 {
			return about(5, 0.4)(b)
		}
		return about(-2.5, 3)(b)
	}
	want := map[int]stats.Verdict{6: stats.Worse, 16: stats.Unclear, 25: stats.Unclear}
	for blocks, want := range want {
		if v := Tabulate(runOf(blocks, map[string]func(int) float64{"p50-sec": by}), sequential()).Settings[1].Versus["p50-sec"]; v.Verdict != want {
			t.Errorf("%d blocks: %+v, want %s", blocks, v, want)
		}
	}
}

// The metrics that the user names decide, and no others.
func TestPrimary(t *testing.T) {
	o := sequential()
	o.Primary = []string{"p90-sec"}
	tb := Tabulate(runOf(16, map[string]func(int) float64{"p50-sec": about(1, 6), "p90-sec": about(10, 1)}), o)
	v := tb.Settings[1].Versus["p90-sec"]
	if !tb.Decided(Demands{}) || tb.Worse() != 1 || v.Comparison.Tests != 1 || tb.Rows[0].Primary || !tb.Rows[1].Primary {
		t.Errorf("decided %v, %d worse, %+v, rows %+v", tb.Decided(Demands{}), tb.Worse(), v, tb.Rows)
	}
}

func TestDecided(t *testing.T) {
	clear, loose := about(10, 1), about(1, 6)
	late := func(b int) float64 {
		if b < 12 {
			return math.NaN()
		}
		return 10
	}
	for _, x := range []struct {
		name   string
		by     map[string]func(int) float64
		ths    []string
		demand Demands
		want   map[int]bool // by blocks
	}{
		{"a change", map[string]func(int) float64{"p50-sec": clear}, nil, Demands{}, map[int]bool{5: false, 6: true, 7: true, 40: true}},
		{"the same", map[string]func(int) float64{"p50-sec": about(0, 0.1)}, nil, Demands{}, map[int]bool{6: true}},
		{"narrow about no change", map[string]func(int) float64{"p50-sec": about(0.5, 0.9)}, nil, Demands{}, map[int]bool{5: false, 11: true}},
		{"unclear", map[string]func(int) float64{"p50-sec": clear, "p99-sec": loose}, nil, Demands{}, map[int]bool{6: false, 10: false, 40: true}},
		{"others do not count", map[string]func(int) float64{"p50-sec": clear, "p90-sec": loose}, nil, Demands{}, map[int]bool{6: true}},
		{"not there yet", map[string]func(int) float64{"p50-sec": clear, "p99-sec": late}, nil, Demands{}, map[int]bool{6: true}},
		{"a threshold is unclear", map[string]func(int) float64{"p50-sec": clear, "p90-sec": loose}, []string{"change(p90) < 2%"}, Demands{}, map[int]bool{6: false, 40: true}},
		{"a threshold has failed", map[string]func(int) float64{"p50-sec": clear}, []string{"change(p50) < 2%"}, Demands{}, map[int]bool{6: true}},
		{"a threshold of values", map[string]func(int) float64{"p50-sec": clear}, []string{"p50 < 105s"}, Demands{}, map[int]bool{6: true}},
		{"a gate is not sure yet", map[string]func(int) float64{"p50-sec": clear}, nil, Demands{NotWorse: true}, map[int]bool{6: false, 14: false, 15: true}},
		{"a gate has nothing to find", map[string]func(int) float64{"p50-sec": about(-10, 1)}, nil, Demands{NotWorse: true}, map[int]bool{6: true}},
	} {
		for blocks, want := range x.want {
			tb := Tabulate(runOf(blocks, x.by), sequential(x.ths...))
			if got := tb.Decided(x.demand); got != want {
				t.Errorf("%s, %d blocks: decided is %v, verdicts %+v", x.name, blocks, got, tb.Settings[1].Versus)
			}
			if Tabulate(runOf(blocks, x.by), options()).Decided(x.demand) {
				t.Errorf("%s: a given number of blocks ends by itself", x.name)
			}
		}
	}
}

// A gate takes surer evidence than a verdict, and looks at primary metrics only.
func TestGateOfServices(t *testing.T) {
	count := func(blocks int, o Options, by map[string]func(int) float64) string {
		tb := Tabulate(runOf(blocks, by), o)
		r := tb.Refuse(Demands{NotWorse: true})
		return fmt.Sprintf("%d worse, %d spared, refused %v", tb.Worse(), tb.Spared(), r != nil && r.Kind == RefusedWorse && r.Count == tb.Worse())
	}
	worse := map[string]func(int) float64{"p50-sec": about(10, 1), "p90-sec": about(10, 1), "p99-sec": about(-10, 1)}
	for _, x := range []struct {
		name   string
		blocks int
		o      Options
		by     map[string]func(int) float64
		want   string
	}{
		{"too few", 14, options(), worse, "0 worse, 1 spared, refused false"},
		{"enough", 15, options(), worse, "1 worse, 0 spared, refused true"},
		{"enough, without a given number", 15, sequential(), worse, "1 worse, 0 spared, refused true"},
		{"equals", 40, sequential(), map[string]func(int) float64{"p50-sec": about(0, 1)}, "0 worse, 0 spared, refused false"},
		{"negligible", 40, sequential(), map[string]func(int) float64{"p50-sec": about(0.5, 0.01)}, "0 worse, 0 spared, refused false"},
		{"of zeros", 16, sequential(), map[string]func(int) float64{"p50-sec": func(b int) float64 { return -100 - float64(b%3) }}, "0 worse, 0 spared, refused false"},
	} {
		if got := count(x.blocks, x.o, x.by); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	if n := FewestGateBlocks(); n != 15 {
		t.Errorf("a gate takes %d blocks", n)
	}
}

// Who is launched first may always be the slower: six launches that agree by chance are a
// verdict, and no reason to stop anybody's work.
func TestGateByLot(t *testing.T) {
	tb := Tabulate(runOf(6, map[string]func(int) float64{"p50-sec": about(10, 0.001)}), options())
	if v := tb.Settings[1].Versus["p50-sec"]; v.Verdict != stats.Worse || v.Comparison.P > 1e-9 || v.Gate.P != 0.03125 || tb.Worse() != 0 {
		t.Errorf("p %v, for a gate %v: %d are worse", v.Comparison.P, v.Gate.P, tb.Worse())
	}
}
