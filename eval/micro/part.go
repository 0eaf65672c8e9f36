//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// usual is what benchstat calls a change.
const usual = 0.05

// falseAlarms compares equal programs, with noise beside.
func (l *lab) falseAlarms(ctx context.Context) error {
	if l.noise {
		stop, err := startNoise(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	var dyno, plain, compared, plainCompared int
	for i := range cmp.Or(l.runs, 10) {
		began := time.Now()
		t, err := l.bench(ctx, fmt.Sprintf("aa-%d", i+1), "--aa", "--bench", benchmarks, "--profile", "none")
		if err != nil {
			return err
		}
		found := t.changed()
		dyno += len(found)
		compared += len(t.Benchmarks)
		fmt.Printf("run %2d: dyno %v, %d blocks, %d benchmarks, false alarms: %d %v\n", i+1, time.Since(began).Round(time.Second), t.Blocks, len(t.Benchmarks), len(found), found)
		if !l.plain {
			continue
		}
		began = time.Now()
		names, n, err := l.protocol(ctx, 10, "base", "base", benchmarks)
		if err != nil {
			return err
		}
		plain += len(names)
		plainCompared += n
		fmt.Printf("        go test -count=10 -benchtime=%s twice, benchstat: %v, false alarms: %d of %d %v\n", l.time, time.Since(began).Round(time.Second), len(names), n, names)
	}
	fmt.Printf("\nfalse alarms in sec/op: dyno %d of %d comparisons; go test -count=10 twice and benchstat %d of %d\n\n", dyno, compared, plain, plainCompared)
	return nil
}

// power slows one benchmark down in each run, one after the other.
func (l *lab) power(ctx context.Context) error {
	in := strings.Split(l.in, ",")
	for _, name := range in {
		n, err := l.turns(ctx, name)
		if err != nil {
			return err
		}
		if err := slow(l.module, name, n); err != nil {
			return err
		}
	}
	match := "^Benchmark(" + strings.Join(append(in, strings.Split(l.beside, ",")...), "|") + ")$"
	var usualTime time.Duration
	if l.plain {
		began := time.Now()
		names, _, err := l.protocol(ctx, 20, "base", "slow-"+in[0], match)
		if err != nil {
			return err
		}
		usualTime = time.Since(began)
		fmt.Printf("go test -count=20 -benchtime=%s before and after, %s slower: %v; benchstat calls changed: %v\n", l.time, in[0], usualTime.Round(time.Second), names)
	}
	found, others := 0, 0
	var times []time.Duration
	for i := range cmp.Or(l.runs, 20) {
		name := in[i%len(in)]
		began := time.Now()
		t, err := l.bench(ctx, fmt.Sprintf("power-%d", i+1), "--vary", "rev=base,slow-"+name, "--bench", match, "--profile", "none")
		if err != nil {
			return err
		}
		took := time.Since(began)
		times = append(times, took)
		names := t.changed()
		if slices.Contains(names, name+" worse") {
			found++
			names = slices.DeleteFunc(names, func(s string) bool { return s == name+" worse" })
		}
		others += len(names)
		fmt.Printf("run %2d: %v, %d blocks: %s; others changed: %v\n", i+1, took.Round(100*time.Millisecond), t.Blocks, t.line(name), names)
	}
	slices.Sort(times)
	fmt.Printf("\nfound %d of %d, others called changed: %d; time: median %v, longest %v", found, len(times), others, times[len(times)/2].Round(100*time.Millisecond), times[len(times)-1].Round(100*time.Millisecond))
	if l.plain {
		fmt.Printf("; of the usual protocol: %.2f, at most %.2f", float64(times[len(times)/2])/float64(usualTime), float64(times[len(times)-1])/float64(usualTime))
	}
	fmt.Println()
	return nil
}

// turns is how often spin has to turn for the slowdown of a benchmark: the median of
// readings side by side, as the speed of a machine may double in between.
func (l *lab) turns(ctx context.Context, name string) (int, error) {
	var ns []float64
	for range 15 {
		out, err := l.tool(ctx, l.module, "go", "test", "-vet=off", "-run=^$", "-bench=^Benchmark(Spin|"+name+")$", "-benchtime=30ms", "-cpu=1", ".")
		if err != nil {
			return 0, err
		}
		sec := samples(out)
		ns = append(ns, l.slower*median(sec[name])/(median(sec["Spin"])/1000))
	}
	n := int(math.Round(median(ns)))
	if n < 1 {
		return 0, fmt.Errorf("%.1f %% of %s are less than one turn of spin", 100*l.slower, name)
	}
	fmt.Printf("%.1f %% of %s are %.2f turns of spin, so it gets %d\n", 100*l.slower, name, median(ns), n)
	return n, nil
}

// protocol is the usual one: all of a revision, then all of the other. It returns
// the benchmarks that benchstat calls changed, and how many there are.
func (l *lab) protocol(ctx context.Context, count int, before, after, match string) (changed []string, n int, err error) {
	var sides []map[string][]float64
	for _, rev := range []string{before, after} {
		if err := git(l.module, "checkout", "-q", rev); err != nil {
			return nil, 0, err
		}
		out, err := l.tool(ctx, l.module, "go", "test", "-vet=off", "-run=^$", "-bench="+match, "-benchmem", "-count="+strconv.Itoa(count), "-benchtime="+l.time, "-timeout=1h", ".")
		if err != nil {
			return nil, 0, err
		}
		sides = append(sides, samples(out))
	}
	for name, a := range sides[0] {
		th := benchmath.DefaultThresholds
		x, y := benchmath.NewSample(a, &th), benchmath.NewSample(sides[1][name], &th)
		if c := benchmath.AssumeNothing.Compare(x, y); c.P < usual {
			word := "better"
			if median(sides[1][name]) > median(a) {
				word = "worse"
			}
			changed = append(changed, name+" "+word)
		}
		n++
	}
	slices.Sort(changed)
	return changed, n, git(l.module, "checkout", "-q", "base")
}

// samples reads sec/op by name.
func samples(out string) map[string][]float64 {
	m := map[string][]float64{}
	for r := benchfmt.NewReader(strings.NewReader(out), "out"); r.Scan(); {
		if res, ok := r.Result().(*benchfmt.Result); ok {
			v, _ := res.Value("sec/op")
			base, parts := res.Name.Parts()
			name := string(base)
			for _, p := range parts {
				if p[0] == '/' {
					name += string(p)
				}
			}
			m[name] = append(m[name], v)
		}
	}
	return m
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	if len(s) == 0 {
		return math.NaN()
	}
	return s[len(s)/2]
}

// bench runs dyno bench and reads what it found.
func (l *lab) bench(ctx context.Context, name string, args ...string) (*table, error) {
	out := filepath.Join(l.dir, name)
	if l.keep != "" {
		out = filepath.Join(l.keep, name)
	}
	args = append([]string{"bench", ".", "--all", "--out", out, "-d", l.length.String()}, args...) // also what did not change, to see that nothing is said of it
	if l.blocks > 0 {
		args = append(args, "--blocks", strconv.Itoa(l.blocks))
	}
	if _, err := l.tool(ctx, l.module, l.dyno, args...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err != nil {
		return nil, err
	}
	return readTable(data)
}
