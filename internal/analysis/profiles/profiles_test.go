package profiles

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/stats"
)

type line struct {
	fn   *profile.Function
	line int64
}

// A builder makes profiles of stacks.
type builder struct{ p profile.Profile }

// add adds a stack, the leaf first, with so many samples or KiB.
func (b *builder) add(n int64, stack ...line) {
	s := &profile.Sample{Value: []int64{n}}
	for _, l := range stack {
		loc := &profile.Location{ID: uint64(len(b.p.Location) + 1), Line: []profile.Line{{Function: l.fn, Line: l.line}}}
		b.p.Location = append(b.p.Location, loc)
		b.p.Function = append(b.p.Function, l.fn)
		s.Location = append(s.Location, loc)
	}
	b.p.Sample = append(b.p.Sample, s)
}

// profile is what was added: of cpu in samples of 10 ms, of allocs in objects
// of 1 KiB.
func (b *builder) profile(kind string) *profile.Profile {
	k := profileKinds[kind]
	each := map[string]int64{"cpu": 1e7, "allocs": 1024}[kind]
	b.p.SampleType = []*profile.ValueType{{Type: k.count}, {Type: k.value}}
	if kind == "allocs" {
		b.p.Period = 512 << 10
	}
	for _, s := range b.p.Sample {
		s.Value = []int64{s.Value[0], s.Value[0] * each}
	}
	return &b.p
}

func function(name, file string, start int64) *profile.Function {
	return &profile.Function{Name: name, Filename: file, StartLine: start}
}

// study is study 002 in small: the loop lies some lines further down in the
// setting that has it.
func study(extra int64, shift int64) *profile.Profile {
	handler := function("main.handler", "/r/main.go", 10)
	search := function("project/search.rssSearch", "/r/search/rss.go", 100+shift)
	lower := function("strings.ToLower", "/usr/local/go/src/strings/strings.go", 700)
	grow := function("strings.(*Builder).grow", "/usr/local/go/src/strings/builder.go", 60)
	b := &builder{}
	if extra > 0 {
		b.add(extra, line{grow, 65}, line{lower, 710}, line{search, 119 + shift}, line{handler, 12})
	}
	b.add(480, line{search, 120 + shift}, line{handler, 12})
	b.add(300, line{handler, 14})
	return b.profile("allocs")
}

func TestDifferenceNamesOwnFunctionAndLine(t *testing.T) {
	var taken []Profiled
	for b := range 3 {
		noise := int64(b * 3)
		taken = append(taken, Profiled{"with", b + 1, 10, study(44800+noise, 0), ""}, Profiled{"without", b + 1, 10, study(0, 7), ""})
	}
	p, err := New("allocs", taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Difference("with", "without", ByOwn, 0)
	first := d.Rows[0]
	want := -44803 * 1024 / 10.0
	if first.Name != "project/search.rssSearch" || math.Abs(first.Own.Diff-want) > 1 || first.Own.Verdict != stats.Better || first.Own.Hi >= 0 {
		t.Errorf("first: %s %+v", first.Name, first.Own)
	}
	if l := first.Line; l.Line != 119 || l.In != "with" || l.Via != "strings.ToLower" || l.File != "/r/search/rss.go" {
		t.Errorf("line: %+v", l)
	}
	if first.Flat.Diff != 0 || first.Cum.Diff != first.Own.Diff || math.Abs(float64(first.Share)-1) > 1e-9 || math.Abs(first.Count+4480.3) > 0.01 {
		t.Errorf("beside it: %+v", first)
	}
	if by := p.Difference("with", "without", ByFlat, 0).Rows[0].Name; by != "strings.(*Builder).grow" {
		t.Errorf("by flat: %s", by)
	}
	if n := len(d.Changed()); n != 1 {
		t.Errorf("%d functions changed", n)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
	ls := p.List(regexp.MustCompile("rssSearch"), "without", true, "with")
	if len(ls) != 1 || len(ls[0].Lines) != 2 || ls[0].Lines[0].Line != 126 || math.Abs(ls[0].Lines[0].CumDiff-want) > 1 || ls[0].Lines[1].CumDiff != 0 {
		t.Errorf("listing: %+v", ls)
	}
}

func TestOneProfileASideIsUnclear(t *testing.T) {
	p, err := New("allocs", []Profiled{{"with", 1, 10, study(44800, 0), ""}, {"without", 1, 10, study(0, 0), ""}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Difference("with", "without", ByOwn, 0)
	if c := d.Rows[0].Own; c.Verdict != stats.Unclear || !math.IsNaN(float64(c.Lo)) || c.Diff >= 0 {
		t.Errorf("%+v", c)
	}
	data, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(data), `"lo":null`) {
		t.Errorf("%s %v", data, err)
	}
	if d := p.Difference("with", "with-not", ByOwn, 0); d.Pairs != 0 || len(d.Rows) != 0 {
		t.Errorf("against nothing: %+v", d)
	}
}

// noisy is a CPU profile of many functions: Poisson samples of shares as 1/k, a
// deviation of the trial and of each function. The third is changed.
func noisy(r *rand.Rand, effect float64) *profile.Profile {
	b := &builder{}
	whole := math.Exp(0.03 * r.NormFloat64())
	for k := 1; k <= 200; k++ {
		mean := 340 / float64(k) * whole * math.Exp(0.02*r.NormFloat64())
		if k == 3 {
			mean *= 1 + effect
		}
		n := math.Round(mean + math.Sqrt(mean)*r.NormFloat64())
		if n > 0 {
			b.add(int64(n), line{function(fmt.Sprintf("main.f%03d", k), "/r/main.go", int64(k*10)), int64(k*10 + 1)})
		}
	}
	return b.profile("cpu")
}

// On an A/A pair no function is reported; a function whose time is halved is.
func TestDifferenceOfNoisyProfiles(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	const experiments = 40
	wrong, right := 0, 0
	for range experiments {
		var taken []Profiled
		for block := 1; block <= 6; block++ {
			taken = append(taken, Profiled{"a", block, 100, noisy(r, 0), ""}, Profiled{"b", block, 100, noisy(r, 0), ""}, Profiled{"c", block, 100, noisy(r, -0.5), ""})
		}
		p, err := New("cpu", taken, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Difference("a", "b", ByOwn, 0).Changed()) > 0 {
			wrong++
		}
		if c := p.Difference("a", "c", ByOwn, 0).Changed(); len(c) == 1 && c[0].Name == "main.f003" {
			right++
		}
	}
	if wrong > 1 || right < experiments-3 {
		t.Errorf("of %d experiments %d reported a change where there is none, %d the one there is", experiments, wrong, right)
	}
}

// The recorded loop of study 002, with and without: the line is named.
func TestRecordedAllocations(t *testing.T) {
	p, err := New("allocs", []Profiled{
		{"with", 1, 4000, recordedProfile(t, "search-allocs-a"), ""}, {"without", 1, 4000, recordedProfile(t, "search-allocs-fast"), ""},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := p.Difference("with", "without", ByOwn, 0).Rows[0]
	if first.Name != "project/search.RSS" || first.Line.Line != 21 || first.Line.Via != "strings.ToLower" || first.Own.Diff > -50e3 {
		t.Errorf("%s %+v %+v", first.Name, first.Own, first.Line)
	}
}

func TestCPUSharesOfTwoToolchains(t *testing.T) {
	for _, v := range []string{"1.22.12", "1.27.4"} {
		data := recordedProfile(t, "search-cpu-go"+v)
		p, err := New("cpu", []Profiled{{v, 1, 16000, data, ""}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := p.CPUShares()[0]
		sum := 0.0
		for c, class := range s.Classes {
			sum += class.Share.Mean
			least := map[CPUClass]float64{CPULibrary: 0.5, CPUAlloc: 0.05, CPUMark: 0.03, CPUAssist: 0.05, CPUSweep: 0.02, CPUGC: 0.01}[CPUClass(c)]
			if class.Share.Mean < least {
				t.Errorf("go%s: %s is %.3f", v, class.Name, class.Share.Mean)
			}
		}
		if math.Abs(sum-1) > 1e-9 || s.Classes[CPUSched].Share.Mean > 0.05 {
			t.Errorf("go%s: classes sum to %v, scheduling %v", v, sum, s.Classes[CPUSched].Share.Mean)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	}
}

func TestCPUClass(t *testing.T) {
	for _, x := range []struct {
		stack string // the leaf first
		want  CPUClass
	}{
		{"runtime.scanObjectsSmall runtime.scanSpan runtime.gcDrain runtime.gcDrainMarkWorkerDedicated runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", CPUMark},
		{"runtime.scanobject runtime.gcDrain runtime.gcDrainMarkWorkerIdle runtime.gcBgMarkWorker.func2 runtime.gcBgMarkWorker", CPUIdle},
		{"runtime.greyobject runtime.gcDrainN runtime.gcAssistAlloc1 runtime.gcAssistAlloc.func1 runtime.gcAssistAlloc runtime.mallocgc main.f", CPUAssist},
		{"runtime.(*sweepLocked).sweep runtime.(*mcentral).cacheSpan runtime.(*mcache).refill runtime.mallocgc main.f", CPUSweep},
		{"runtime.(*mspan).init runtime.sweepone runtime.bgsweep", CPUSweep},
		{"runtime.nextFreeFast runtime.mallocgcSmallScanNoHeaderSC2 runtime.newobject main.f", CPUAlloc},
		{"runtime.futex runtime.gcStart runtime.mallocgc main.f", CPUGC},
		{"gcWriteBarrier main.f", CPUGC},
		{"runtime.madvise runtime.(*pageAlloc).scavengeOne runtime.bgscavenge", CPUScavenge},
		{"runtime.futex runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", CPUSched},
		{"runtime.memmove main.f", CPURuntime},
		{"internal/runtime/maps.(*Map).Get main.f", CPURuntime},
		{"internal/runtime/syscall.Syscall6 syscall.write main.f", CPULibrary},
		{"strings.ToLower main.f", CPULibrary},
		{"main.f main.main", CPUOwn},
	} {
		b := &builder{}
		var stack []line
		for _, name := range strings.Fields(x.stack) {
			file := "/usr/local/go/src/" + parseSymbol(name).pkg + "/x.go"
			if strings.HasPrefix(name, "main.") {
				file = "/r/main.go"
			}
			stack = append(stack, line{function(name, file, 1), 2})
		}
		b.add(1, stack...)
		p, err := New("cpu", []Profiled{{"a", 1, 1, b.profile("cpu"), ""}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.trials["a"][0].stacks[0].class(); got != x.want {
			t.Errorf("%s is %s, want %s", x.stack, CPUClasses[got], CPUClasses[x.want])
		}
	}
}

// A sample at the door of asyncPreempt is of what was preempted.
func TestAsyncPreempt(t *testing.T) {
	b := &builder{}
	b.add(3, line{function("runtime.asyncPreempt", "/usr/local/go/src/runtime/preempt_amd64.s", 7), 7}, line{function("main.f", "/r/main.go", 1), 2})
	p, err := New("cpu", []Profiled{{"a", 1, 1, b.profile("cpu"), ""}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows := p.Top("a", ByFlat).Rows; len(rows) != 1 || rows[0].Name != "main.f" || math.Abs(rows[0].Flat-0.03) > 1e-9 {
		t.Errorf("%+v", rows)
	}
}

func TestFlame(t *testing.T) {
	p, err := New("allocs", []Profiled{{"with", 1, 1, study(100, 0), ""}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := p.Flame("with")
	if f.Value != 880*1024 || len(f.Children) != 1 || f.Children[0].Flat != 300*1024 || f.Children[0].Children[0].Value != 580*1024 {
		t.Errorf("%+v", f)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}

func TestWrongProfiles(t *testing.T) {
	for kind, want := range map[string]string{"cpu": "it has no cpu", "disk": "unknown kind"} {
		if _, err := New(kind, []Profiled{{"a", 1, 1, study(1, 0), ""}}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := New("allocs", []Profiled{{"a", 1, 0, study(1, 0), ""}}, nil); err == nil || !strings.Contains(err.Error(), "no requests") {
		t.Error(err)
	}
}
