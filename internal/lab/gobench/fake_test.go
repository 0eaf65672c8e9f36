package gobench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// A fakeBench is a benchmark of the simulated test binary. Seconds are of one
// setting; slower is by what a level of V makes it slower.
type fakeBench struct {
	name     string
	sec      float64 // of an iteration
	once     float64 // timed, in each call
	setUp    float64 // not timed, in each call
	each     float64 // not timed, in each iteration
	load     float64 // what the benchmark around it does before it
	cold     float64 // more, in the process's first call
	init     float64 // not timed, in the process's first call, which collects thrice
	bytes    float64 // of an iteration; 4 MiB make a collection of 1 ms
	leaves   int     // goroutines in each call
	loop     bool    // b.Loop
	timed    string  // what the source says of it
	fails    string  // what it says when it fails
	skips    bool
	panics   bool
	hangs    bool
	only     string // the level of V that has it
	in       string // the level of V that fails, skips, panics and hangs hold for; "" is all
	fromN    int64  // the same from so many iterations on
	slower   map[string]float64
	dies     map[string]int // in which launch of a level
	stuck    map[string]int
	pkg      string
	noValues bool               // its turns have results without values
	drags    map[string]float64 // more in each call when it takes turns, by level
}

// A fakeBinaries simulates test binaries, in the time of a synctest bubble.
type fakeBinaries struct {
	benches  []fakeBench
	packages map[string][]string // by level of V
	broken   map[string]string   // package and level that does not build
	reversed string              // the level whose benchmarks are in the reverse order
	exits    map[string]string   // why every process of a level ends before it runs anything
	log      []string            // turns, as level:name
	launched map[string]int
	running  map[string]int // processes by package
	most     int            // packages with a process at one time
	seeds    []uint32
	args     []string // of all processes
	cpus     []int

	mu                 sync.Mutex // of what links, and processes that start and end side by side, change
	linking, mostLinks int        // at one time
}

func (f *fakeBinaries) link(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.linking += n
	f.mostLinks = max(f.mostLinks, f.linking)
}

func (f *fakeBinaries) bencher() *Bencher {
	f.launched, f.running = map[string]int{}, map[string]int{}
	if f.packages == nil {
		f.packages = map[string][]string{"": {"x"}}
	}
	return &Bencher{
		Tests: func(_ context.Context, s dyno.Subject, _ []string) (found []*subject.TestPackage, err error) {
			ps, ok := f.packages[s.Env["V"]]
			if !ok {
				ps = f.packages[""]
			}
			for _, p := range ps {
				found = append(found, &subject.TestPackage{ImportPath: p, Dir: s.Env["V"], Go: "go1.26", Rev: "abc"})
			}
			return found, nil
		},
		Link: func(_ context.Context, p *subject.TestPackage, seed uint32) (string, error) {
			if text, ok := f.broken[p.ImportPath]; ok && p.Dir == "b" {
				return "", errors.New(text)
			}
			f.link(1)
			time.Sleep(time.Second)
			f.link(-1)
			f.mu.Lock()
			defer f.mu.Unlock()
			if seed != 0 && !slices.Contains(f.seeds, seed) {
				f.seeds = append(f.seeds, seed)
			}
			return p.ImportPath, nil
		},
		Once:  f.once,
		Start: f.start,
		Source: func(context.Context, *subject.TestPackage) (func(string) dyno.BenchSource, error) {
			return func(printed string) (src dyno.BenchSource) {
				for _, b := range f.benches {
					if b.name == printed {
						src.Timed = b.timed
						if b.loop {
							src.Loop = "b.Loop"
						}
					}
				}
				return src
			}, nil
		},
		CPUs: func(n int) []int { return []int{1}[:min(n, 1)] },
	}
}

func arg(args []string, name string) string {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}

// matches is what package testing does with a pattern, without "/" in brackets.
func matches(pattern, name string) (ok, partial bool) {
	elems := strings.Split("Benchmark"+name, "/")
	ps := strings.Split(pattern, "/")
	for i, e := range elems {
		if i < len(ps) && !regexp.MustCompile(ps[i]).MatchString(e) {
			return false, false
		}
	}
	return true, len(elems) < len(ps)
}

// A fakeProcess counts what the driver tells: collections that are not forced.
type fakeProcess struct {
	w                 io.Writer
	level             string
	cycles, gc        float64
	goroutines, calls int
}

// call runs a benchmark's function, and returns what its timer shows.
func (p *fakeProcess) call(b *fakeBench, n int64) float64 {
	p.gc += 100e-6
	cycles := float64(n) * b.bytes / (4 << 20)
	p.cycles += float64(int(cycles))
	p.gc += float64(int(cycles)) * 1e-3
	p.goroutines += b.leaves
	timed := float64(n)*b.sec*(1+b.slower[p.level]) + b.once
	if b.name != "" { // else it is testing's own
		if p.calls++; p.calls == 1 {
			timed += b.cold
			if b.init > 0 {
				p.cycles, p.gc = p.cycles+3, p.gc+0.01
			}
			sleep(b.init)
		}
	}
	sleep(timed + b.setUp + float64(n)*b.each)
	return timed
}

func sleep(sec float64) { time.Sleep(time.Duration(sec * float64(time.Second))) }

func (f *fakeBinaries) here(path, level string) (bs []fakeBench) {
	for _, b := range f.benches {
		if (b.only == "" || b.only == level) && (b.pkg == "" || b.pkg == path) {
			if b.in != "" && b.in != level {
				b.fails, b.skips, b.panics, b.hangs = "", false, false, false
			}
			bs = append(bs, b)
		}
	}
	if f.reversed != "" && f.reversed == level {
		slices.Reverse(bs)
	}
	return bs
}

// once runs a process to its end.
func (f *fakeBinaries) once(ctx context.Context, path string, o Options, stdout io.Writer) (string, error) {
	f.args = append(f.args, strings.Join(o.Args, " "))
	f.cpus = o.CPUs
	time.Sleep(5 * time.Millisecond)
	if why := f.exits[o.Env["V"]]; why != "" {
		return "exit status 3", errors.New(why)
	}
	p := &fakeProcess{w: stdout, level: o.Env["V"]}
	p.call(&fakeBench{}, 0) // testing's own
	verbose := slices.Contains(o.Args, "-test.v")
	count := 1
	if n, err := strconv.Atoi(arg(o.Args, "-test.count")); err == nil {
		count = n
	}
	bad := false
	for _, b := range f.here(path, p.level) {
		ok, partial := matches(arg(o.Args, "-test.bench"), b.name)
		if skip := arg(o.Args, "-test.skip"); skip != "" {
			for one := range strings.SplitSeq(skip, "|") {
				out, part := matches(one, b.name)
				ok = ok && (!out || part)
			}
		}
		if !ok || partial {
			continue
		}
		if parent, _, nested := strings.Cut(b.name, "/"); nested {
			p.call(&fakeBench{}, 1)
			if verbose {
				fmt.Fprintf(stdout, "Benchmark%s\n", parent)
			}
			sleep(b.load)
		}
		if verbose {
			fmt.Fprintf(stdout, "Benchmark%s\n", b.name)
		}
		for range count {
			end, err := f.sample(ctx, p, &b, arg(o.Args, "-test.benchtime"), verbose)
			if err != nil {
				return end, err
			}
			bad = bad || end == "FAIL"
		}
	}
	if bad {
		fmt.Fprint(stdout, "FAIL\n")
		return "exit status 1", errors.New("benchmark ended: exit status 1")
	}
	fmt.Fprint(stdout, "PASS\n")
	return "exit status 0", nil
}

// sample does what processBench of package testing does for one of -test.count.
func (f *fakeBinaries) sample(ctx context.Context, p *fakeProcess, b *fakeBench, benchtime string, verbose bool) (status string, err error) {
	n := int64(1)
	fixed := false
	if v, ok := strings.CutSuffix(benchtime, "x"); ok {
		n, _ = strconv.ParseInt(v, 10, 64)
		fixed = true
	}
	for _, calls := range []int64{1, n} {
		if calls < b.fromN {
			continue
		}
		switch {
		case b.panics:
			return "exit status 2", errors.New("benchmark ended: exit status 2; its last lines:\npanic: " + b.name)
		case b.hangs:
			<-ctx.Done()
			return "", context.Cause(ctx)
		case b.skips && verbose:
			fmt.Fprintf(p.w, "    x_test.go:5: not here\n--- SKIP: Benchmark%s\n", b.name)
			return "", nil
		case b.fails != "" && verbose:
			fmt.Fprintf(p.w, "    x_test.go:7: %s\n--- FAIL: Benchmark%s\n", b.fails, b.name)
			return "FAIL", nil
		case b.fails != "":
			fmt.Fprintf(p.w, "--- FAIL: Benchmark%s\n    x_test.go:7: %s\n", b.name, b.fails)
			return "FAIL", nil
		}
	}
	first := n
	if !b.loop || !fixed {
		first = 1
	}
	timed := p.call(b, first)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	switch {
	case fixed && n > first:
		timed = p.call(b, n)
	case !fixed:
		want, _ := time.ParseDuration(benchtime)
		for timed < want.Seconds() {
			n = max(n+1, min(100*n, int64(1.2*want.Seconds()*float64(n)/max(timed, 1e-9))))
			timed = p.call(b, n)
		}
	}
	fmt.Fprintf(p.w, "Benchmark%s-4  \t", b.name)
	fmt.Fprintf(p.w, "%8d\t%.7f ns/op\t%8.0f B/op\t       1 allocs/op\n", n, timed/float64(n)*1e9, b.bytes)
	return "", nil
}

// A fakeTurns is a process that takes turns.
type fakeTurns struct {
	f     *fakeBinaries
	path  string
	p     *fakeProcess
	b     *fakeBench  // that runs
	after []fakeBench // of a family
	n     int64
	turns int
}

func (f *fakeBinaries) start(_ context.Context, path string, o Options) (Turns, error) {
	time.Sleep(10 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.args = append(f.args, strings.Join(o.Args, " "))
	f.running[path]++
	f.most = max(f.most, len(f.running))
	return &fakeTurns{f: f, path: path, p: &fakeProcess{level: o.Env["V"], w: io.Discard}}, nil
}

func (t *fakeTurns) totals() totals {
	return totals{float64(2 + t.p.goroutines), t.p.cycles, t.p.gc}
}

func (t *fakeTurns) Begin(ctx context.Context, printed string, parts []string, benchtime string, count, results int) (batch Batch, err error) {
	t.b, t.after, t.turns = nil, nil, 0
	outer, _, nested := strings.Cut(printed, "/")
	for _, b := range t.f.here(t.path, t.p.level) {
		of, part, _ := strings.Cut(b.name, "/")
		switch {
		case parts != nil && of == outer && slices.Contains(parts, part):
			t.after = append(t.after, b)
		case b.name == printed:
			t.b = &b
		}
		if nested && of == outer {
			sleep(b.load)
		}
	}
	if len(t.after) > 0 {
		t.n, _ = strconv.ParseInt(strings.TrimSuffix(benchtime, "x"), 10, 64)
		return t.Next(ctx)
	}
	if t.b == nil || t.b.skips {
		return Batch{Ended: true, Totals: t.totals()}, nil
	}
	t.p.calls = 0
	if results == 1 {
		t.f.launched[t.p.level+":"+printed]++
		t.b.once += t.b.drags[t.p.level]
	}
	t.n, _ = strconv.ParseInt(strings.TrimSuffix(benchtime, "x"), 10, 64)
	for range min(count, results) {
		var out strings.Builder
		t.p.w = &out
		status, err := t.f.sample(ctx, t.p, t.b, benchtime, false)
		if err != nil {
			return batch, err
		}
		if status == "FAIL" {
			return batch, errors.New("benchmark failed:\n" + out.String())
		}
		for _, r := range resultsIn(out.String()) {
			batch.Results = append(batch.Results, timedResult{r, time.Now()})
		}
	}
	if count <= results {
		batch.Ended, batch.Totals = true, t.totals()
	}
	return batch, nil
}

func (t *fakeTurns) Next(ctx context.Context) (Batch, error) {
	if len(t.after) == 0 {
		t.b = nil
		return Batch{Ended: true, Totals: t.totals()}, nil
	}
	t.b, t.after, t.turns = &t.after[0], t.after[1:], 0
	sleep(t.b.load)
	switch {
	case t.n < t.b.fromN:
	case t.b.panics:
		return Batch{}, errors.New("benchmark ended: exit status 2; its last lines:\npanic: " + t.b.name)
	case t.b.fails != "":
		return t.Next(ctx)
	}
	t.f.launched[t.p.level+":"+t.b.name]++
	return t.Turn(ctx, 1)
}

func (t *fakeTurns) Base() totals { return t.totals() }

func (t *fakeTurns) End(ctx context.Context) (totals, error) {
	if t.b == nil { // it waits already, and says nothing
		<-ctx.Done()
		return totals{}, context.Cause(ctx)
	}
	t.b = nil
	return t.totals(), nil
}

func (t *fakeTurns) Turn(ctx context.Context, n int) (Batch, error) {
	key := t.p.level + ":" + t.b.name
	t.f.log = append(t.f.log, key)
	if t.turns++; t.turns == 2 {
		if at, ok := t.b.dies[t.p.level]; ok && at == t.f.launched[key] {
			return Batch{}, errors.New("benchmark ended: signal: killed")
		}
		if at, ok := t.b.stuck[t.p.level]; ok && at == t.f.launched[key] {
			<-ctx.Done()
			return Batch{}, context.Cause(ctx)
		}
	}
	var timed float64
	for range n {
		timed = t.p.call(t.b, t.n)
	}
	if ctx.Err() != nil {
		return Batch{}, context.Cause(ctx)
	}
	if t.b.noValues {
		return Batch{Results: []timedResult{{Result: Result{Name: t.b.name + "-4", N: t.n}}}}, nil
	}
	r := resultsIn(fmt.Sprintf("Benchmark%s-4\t%d\t%.7f ns/op\t%d turns\n", t.b.name, t.n, timed/float64(t.n)*1e9, t.turns))[0]
	return Batch{Results: []timedResult{{r, time.Now()}}}, nil
}

func (t *fakeTurns) Close() {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	if t.f.running[t.path]--; t.f.running[t.path] == 0 {
		delete(t.f.running, t.path)
	}
}
