package compare

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// A run that was extended is judged by its ends, its gate too; while the blocks are to come, as before.
func TestExtended(t *testing.T) {
	rs := experiment(10)
	for _, o := range []Options{options(), sequential()} {
		was := Tabulate(rs, o)
		o.Ends = []int{10}
		if now := Tabulate(rs, o); now.Extended || !reflect.DeepEqual(now.Looks, was.Looks) {
			t.Errorf("before it has more blocks: extended %v, looks %v", now.Extended, now.Looks)
		}
		o.Ends = []int{7}
		now := Tabulate(rs, o)
		if want := stats.MoreLooks(was.Looks, o.Ends, 10, dyno.MostMore); !now.Extended || !reflect.DeepEqual(now.Looks, want) {
			t.Errorf("extended %v, looks %v, want %v", now.Extended, now.Looks, want)
		}
		if a, b := was.FewestGateBlocks(), now.FewestGateBlocks(); a >= b {
			t.Errorf("a gate takes %d blocks, and %d when extended", a, b)
		}
		for metric, v := range now.Settings[1].Versus {
			if before := was.Settings[1].Versus[metric]; v.P < before.P || v.Gate.Single() < before.Gate.Single() {
				t.Errorf("%s: p %v, and %v without the look", metric, v.P, before.P)
			}
		}
	}
}

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

// A given number of blocks is judged as ever; else all looks are allowed for.
func TestSequential(t *testing.T) {
	rs := experiment(10)
	fixed, looked := Tabulate(rs, options()), Tabulate(rs, sequential())
	if fixed.Looks != nil || !reflect.DeepEqual(looked.Looks, stats.RunLooks) {
		t.Errorf("looks are %v and %v", fixed.Looks, looked.Looks)
	}
	for metric, v := range looked.Settings[1].Versus {
		was := fixed.Settings[1].Versus[metric]
		if v.Ratio != was.Ratio && !math.IsNaN(v.Ratio) || v.Lo != was.Lo && !math.IsNaN(v.Lo) || v.Comparison.P != was.Comparison.P {
			t.Errorf("%s: %+v, without looks %+v", metric, v, was)
		}
		if v.P < was.P {
			t.Errorf("%s: p %v is less than %v without looks", metric, v.P, was.P)
		}
	}
	two := looked.Settings[1].Versus["p50-sec"]
	if c := two.Comparison; two.P != c.Single()*2 && two.P != c.Single() || c.Single() <= c.P {
		t.Errorf("p %v of %+v", two.P, c)
	}
}

// Blocks are counted as they were run: one that failed is one.
func TestSequentialFailed(t *testing.T) {
	rs := experiment(10)
	for _, r := range rs {
		if r.Trial.Block == 3 {
			r.Err = "no"
		}
	}
	tb := Tabulate(rs, sequential())
	v := tb.Settings[1].Versus["p50-sec"].Comparison
	six := Tabulate(slices.DeleteFunc(slices.Clone(rs), func(r *dyno.Result) bool { return r.Trial.Block > 6 }), sequential())
	if first := six.Settings[1].Versus["p50-sec"].Comparison; tb.Blocks != 9 || v.N != 9 || first.N != 5 || v.Single() != 5*min(first.P, v.P) {
		t.Errorf("%d blocks, p %v of %v and %v", v.N, v.Single(), first.P, v.P)
	}
	if !six.Decided(Demands{}) {
		t.Error("the first look has not come after six blocks, as one of them failed")
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
		{"a change", map[string]func(int) float64{"p50-sec": clear}, nil, Demands{}, map[int]bool{5: false, 6: true, 7: false, 10: true, 39: false, 40: true}},
		{"the same", map[string]func(int) float64{"p50-sec": about(0, 0.1)}, nil, Demands{}, map[int]bool{6: true}},
		{"narrow about no change", map[string]func(int) float64{"p50-sec": about(0.5, 0.9)}, nil, Demands{}, map[int]bool{6: true, 11: false}},
		{"unclear", map[string]func(int) float64{"p50-sec": clear, "p99-sec": loose}, nil, Demands{}, map[int]bool{6: false, 10: false, 40: true}},
		{"others do not count", map[string]func(int) float64{"p50-sec": clear, "p90-sec": loose}, nil, Demands{}, map[int]bool{6: true}},
		{"not there yet", map[string]func(int) float64{"p50-sec": clear, "p99-sec": late}, nil, Demands{}, map[int]bool{6: true}},
		{"a threshold is unclear", map[string]func(int) float64{"p50-sec": clear, "p90-sec": loose}, []string{"change(p90) < 2%"}, Demands{}, map[int]bool{6: false, 40: true}},
		{"a threshold has failed", map[string]func(int) float64{"p50-sec": clear}, []string{"change(p50) < 2%"}, Demands{}, map[int]bool{6: true}},
		{"a threshold of values", map[string]func(int) float64{"p50-sec": clear}, []string{"p50 < 105s"}, Demands{}, map[int]bool{6: true}},
		{"a gate is not sure yet", map[string]func(int) float64{"p50-sec": clear}, nil, Demands{NotWorse: true}, map[int]bool{6: false, 10: false, 16: true}},
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
		{"fixed, too few", 10, options(), worse, "0 worse, 1 spared, refused false"},
		{"fixed", 11, options(), worse, "1 worse, 0 spared, refused true"},
		{"looks, too few", 12, sequential(), worse, "0 worse, 1 spared, refused false"},
		{"looks", 13, sequential(), worse, "1 worse, 0 spared, refused true"},
		{"looks, more", 20, sequential(), worse, "1 worse, 0 spared, refused true"},
		{"equals", 40, sequential(), map[string]func(int) float64{"p50-sec": about(0, 1)}, "0 worse, 0 spared, refused false"},
		{"negligible", 40, sequential(), map[string]func(int) float64{"p50-sec": about(0.5, 0.01)}, "0 worse, 0 spared, refused false"},
		{"of zeros", 16, sequential(), map[string]func(int) float64{"p50-sec": func(b int) float64 { return -100 - float64(b%3) }}, "0 worse, 0 spared, refused false"},
	} {
		if got := count(x.blocks, x.o, x.by); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	if a, b := FewestGateBlocks(), fewestGateBlocks(len(stats.GateLooks)); a != 11 || b != 13 {
		t.Errorf("a gate takes %d and %d blocks", a, b)
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

// The first look at which a limit is kept may end the run, so passing allows for looks.
func TestChangeOfLooks(t *testing.T) {
	rs := runOf(6, map[string]func(int) float64{"p50-sec": about(1.3, 1)})
	for limit, want := range map[string]Outcome{"change(p50) < 2.5%": Unclear, "change(p50) < 6%": Passed} {
		o := sequential(limit)
		j := Tabulate(rs, o).Thresholds[0]
		if j.Outcome != want {
			t.Errorf("%s: %s, %v to %v", limit, j.Outcome, j.Lo, j.Hi)
		}
		o.Sequential = false
		if plain := Tabulate(rs, o).Thresholds[0]; plain.Outcome != Passed || j.Lo != plain.Lo || j.Hi != plain.Hi {
			t.Errorf("%s without looks: %s, %v to %v", limit, plain.Outcome, plain.Lo, plain.Hi)
		}
		if told := slices.ContainsFunc(j.Reasons, func(r Reason) bool { return r.Kind == ReasonLooks && r.N == 5 }); told != (want == Unclear) || j.Close {
			t.Errorf("%s: reasons %+v, close %v", limit, j.Reasons, j.Close)
		}
	}
}
