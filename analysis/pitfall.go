package analysis

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// The kinds of pitfalls, in the order in which they are told: first what makes a
// figure meaningless, then what shifts it, then what only blurs it.
const (
	pitEmpty      = "optimised away"
	pitInvariant  = "invariant to input"
	pitConstant   = "b.N is not the number of iterations"
	pitGrows      = "work depends on b.N"
	pitLoop126    = "b.Loop before and after Go 1.26"
	pitGoroutines = "goroutines left running"
	pitSetup      = "set-up inside the timer"
	pitDropped    = "no b.Loop"
	pitParallel   = "parallel on one CPU"
	pitGC         = "GC noise"
	pitGCOut      = "GC left out"
	pitShort      = "samples too short"
	pitFew        = "too few iterations"
	pitMemory     = "memory-bound or layout noise"
	pitNoisy      = "noisy machine"
	pitOutside    = "slow set-up"
)

// A pitKind is what is said of all benchmarks that have a pitfall.
type pitKind struct{ kind, why, cure string }

var pitKinds = []pitKind{
	{pitEmpty, "A loop with nothing in it does not take much less: the compiler has probably removed the work, or does it before the loop, so that nothing is compared",
		"for b.Loop() with the call itself between its braces, or before Go 1.24 keep the result in a package variable"},
	{pitInvariant, "Either the work does not depend on the number in the name, or the compiler has removed or hoisted what does",
		"for b.Loop(), or keep the result in a package variable"},
	{pitConstant, "A sample takes as long whatever b.N is, so the loop does not run b.N times, and time per operation is that of something else divided by b.N",
		"for b.Loop(), or for range b.N around the work"},
	{pitGrows, "An iteration takes longer the more of them there are: state grows from one to the next, or b.N is used as a size, so the figure depends on how many a sample has",
		"the same input in each iteration, of a fixed size"},
	{pitLoop126, "Go 1.24 and 1.25 do not inline calls between the braces of b.Loop, 1.26 does (golang/go#73137): a change of time or allocations may be of the measuring, not of the code",
		"the same toolchain on both sides, or a b.N loop that keeps its results"},
	{pitGoroutines, "They outlive the benchmark, and take time and memory from the samples that follow; where they are as many as iterations, the start of the work is timed and not the work",
		"wait in each iteration until its goroutines are done, for example by draining their channel"},
	{pitSetup, "What is done once is divided by b.N, so the figure depends on how many iterations a sample has, and a change of the work itself is seen smaller",
		"b.ResetTimer() just before the loop, or for b.Loop(), which does that"},
	{pitDropped, "A call that is inlined and whose result nobody uses may be removed in part by the compiler",
		"for b.Loop() instead of a loop to b.N"},
	{pitParallel, "All goroutines of RunParallel share the one CPU that dyno pins to, so they never run at the same time: what they contend for is not seen",
		"--cpus 2 or more"},
	{pitGC, "With so few collections it is luck how many fall into a sample, and each is a large part of it",
		"a longer --sample, or less memory that is live while the benchmark runs"},
	{pitGCOut, "testing collects before each sample, and most samples end before the next collection: the figure is that of the work without the collecting that its garbage costs; where B/op is the same, that costs all settings the same",
		"a longer --sample, if it matters"},
	{pitShort, "Reading the clock and beginning the loop are a part of that time that counts",
		"more work in an iteration, or a longer --sample"},
	{pitFew, "Each sample is a single iteration, and a launch has few: nothing is averaged but launches",
		"a smaller input, or a longer --duration"},
	{pitMemory, "The launches of one program differ by more than their samples do: it matters where its memory or code lies. Intervals allow for that, and are wider",
		"more blocks; a smaller input, if it need not be larger than the caches"},
	{pitNoisy, "Something else uses the CPU or its caches. Intervals allow for that, and are wider",
		"a quiet machine, or a longer --duration"},
	{pitOutside, "It is not timed, but is done before every sample, so there are fewer of them in the time",
		"make the input once, for example by sync.OnceValue"},
}

// Thresholds of what is a pitfall. A false one is as bad as one that is missed.
const (
	// emptySec is three times what an empty loop takes on a fast CPU, and less than
	// any call that is not inlined.
	emptySec   = 1e-9
	emptyLeast = 1000 // iterations of a sample, for its time to be theirs
	// invariantSec is within what a bounds check or two may hide; what takes longer
	// was done.
	invariantSec   = 10e-9
	invariantTimes = 4   // between the least and greatest number in the name
	invariantRatio = 1.1 // between the least and the greatest time
	// inlinedSec: the compiler inlines what has at most 80 nodes, and removes no
	// loops, so that a call which takes longer was not removed.
	inlinedSec = 50e-9
	// A sample's speed may jump by 75 % between two samples, on a shared machine, so
	// one pair of samples shows only what is beyond that. With a cause in the source,
	// and in each setting, less will do.
	// Of a benchmark alone nobody knows whether it was the machine that became slower.
	setupShare, setupRatio, setupAlone, setupBlind = 0.02, 1.1, 1.5, 2.0
	// A CPU that is shared makes long samples slower than those of a turn, which often
	// fit between two switches: by as many times as there are who share it.
	growsRatio, growsBlind, growsTurn = 1.5, 4.0, 8.0
	turnTimes                         = 32 // more iterations in the long sample than in a turn, to say how time grows
	typicalLeast                      = 3  // benchmarks that tell how much slower the machine became
	// noLoopSec is half of what one iteration of an empty loop takes at 6 GHz.
	noLoopSec      = 0.08e-9
	constantTimes  = 2.0
	constantWithin = 0.2 // of the time of an eighth of the iterations
	fewTimes       = 8   // more iterations in the long sample than in the short one, to say how time grows
	gcFrac, gcMuch = 0.005, 0.05
	gcFew          = 3
	gcContained    = 0.9  // collections of a sample; below it, most have none
	shortSample    = 5e-6 // seconds: a hundred readings of the clock
	fewSamples     = 6    // of a launch; usual are 36
	launchSpread   = 0.03 // standard deviation between launches
	launchTimes    = 3    // as much as samples within launches explain
	launchesLeast  = 8    // for a deviation to be known
	pairSpread     = 0.1  // median deviation of a pair from its launch's median
	outsideSec     = 0.3
	leftLeast      = 2   // goroutines; one may be of the runtime or of a package that is used first
	leftEach       = 0.5 // of the iterations: what each starts
	mostSeen       = 6
	mostAlike      = 4 // benchmarks that are named beside what was seen of them
)

// A pitfall is one benchmark that has one.
type pitfall struct {
	kind string
	d    *benchData
	seen string // figures
}

// pitfalls looks for all kinds, and says each once.
func (run *benchRun) pitfalls(t *Table) (notes []BenchNote) {
	found := run.invariant(t)
	for i, d := range run.data {
		row := t.Benchmarks[i]
		var own []pitfall
		say := func(kind, format string, args ...any) {
			own = append(own, pitfall{kind, d, fmt.Sprintf(format, args...)})
		}
		// A figure that means nothing has no other pitfalls.
		if text := run.constant(row, d); text != "" {
			say(pitConstant, "%s", text)
		} else if text := run.inAll(d, func(i int, s *dyno.Survey) string { return run.empty(row, d, i, s) }); text != "" {
			say(pitEmpty, "%s", text)
		} else {
			run.looped(t, row, d, say)
			run.once(t, row, d, say)
			run.collected(d, row, say)
			run.sampled(d, row, say)
			run.noise(d, row, say)
		}
		found = append(found, own...)
	}
	several := slices.ContainsFunc(run.data, func(d *benchData) bool { return d.pkg != run.data[0].pkg })
	for _, k := range pitKinds {
		if n := k.note(found, several); n != nil {
			notes = append(notes, *n)
		}
	}
	return notes
}

// note folds what was found of a kind: what was seen of which benchmarks, unless that
// is the same of all. Where there are several packages a name has its package before it.
func (k pitKind) note(found []pitfall, several bool) *BenchNote {
	n := &BenchNote{Kind: k.kind}
	var seen []string
	of := map[string][]string{} // names by what was seen
	for _, p := range found {
		if p.kind != k.kind {
			continue
		}
		n.Benchmarks = append(n.Benchmarks, p.d.pkg+"."+p.d.name)
		if of[p.seen] == nil {
			seen = append(seen, p.seen)
		}
		name := p.d.name
		if several {
			name = path.Base(p.d.pkg) + "." + name
		}
		of[p.seen] = append(of[p.seen], name)
	}
	if len(n.Benchmarks) == 0 {
		return nil
	}
	var texts []string
	for i, text := range seen {
		if i == mostSeen {
			texts = append(texts, fmt.Sprintf("and %d more", len(seen)-mostSeen))
			break
		}
		names := of[text]
		if more := len(names) - mostAlike; more > 0 {
			names = append(names[:mostAlike:mostAlike], fmt.Sprintf("%d more", more))
		}
		if len(seen) > 1 {
			text = strings.Join(names, ", ") + ": " + text
		}
		texts = append(texts, text)
	}
	n.Text = fmt.Sprintf("%s. %s (consider: %s).", strings.Join(texts, "; "), k.why, k.cure)
	return n
}

// surveyed settings of a benchmark, in order; a failed survey tells nothing.
func (d *benchData) surveyedIn() (is []int) {
	for i, s := range d.surveys {
		if s != nil && s.Err == "" && s.N > 0 && finite(s.Sec) && s.Sec >= 0 {
			is = append(is, i)
		}
	}
	return is
}

// inSettings calls tell for each setting that was surveyed, and says the first that has something
// to tell; with the setting's name if it is not so in all of them.
func (run *benchRun) inSettings(d *benchData, tell func(i int, s *dyno.Survey) string) string {
	first, at, n := "", 0, 0
	is := d.surveyedIn()
	for _, i := range is {
		if text := tell(i, d.surveys[i]); text != "" {
			if n++; n == 1 {
				first, at = text, i
			}
		}
	}
	if n > 0 && n < len(is) {
		first += " in " + run.settings[at].Label()
	}
	return first
}

// inAll is inSettings for what only counts if it is so in every setting: what a single
// sample cannot tell.
func (run *benchRun) inAll(d *benchData, tell func(i int, s *dyno.Survey) string) (first string) {
	for _, i := range d.surveyedIn() {
		text := tell(i, d.surveys[i])
		if text == "" {
			return ""
		}
		if first == "" {
			first = text
		}
	}
	return first
}

// turnSec is the time of an iteration in the blocks' turns, and how many a turn has; 0
// if there are none. It is the median of many samples, where a survey has one or few.
func (t *Table) turnSec(b *Benchmark, setting int) (sec float64, n int64) {
	if v, ok := t.Settings[setting].Values[b.Full()+" sec/op"]; ok && b.N > 0 {
		return v.Center, b.N
	}
	return 0, 0
}

// typical is by how many times turns are slower than surveys, of the benchmark at the
// median, as the machine is another one in an hour; 0 if too few benchmarks tell.
func (run *benchRun) typical(t *Table, setting int) float64 {
	var ratios []float64
	for i, d := range run.data {
		s := d.surveys[setting]
		if sec, _ := t.turnSec(t.Benchmarks[i], setting); sec > 0 && s != nil && s.Err == "" && s.Sec > 0 {
			ratios = append(ratios, sec/s.Sec)
		}
	}
	if len(ratios) < typicalLeast {
		return 0
	}
	return median(ratios)
}

// invariant finds families of benchmarks whose names differ in one number, and whose
// times do not though they are short. Within the braces of b.Loop results are kept.
func (run *benchRun) invariant(t *Table) (found []pitfall) {
	type member struct {
		d      *benchData
		number float64
		sec    float64
	}
	families := map[string][]member{}
	var order []string
	for i, d := range run.data {
		is := d.surveyedIn()
		if len(is) == 0 {
			continue
		}
		s := d.surveys[is[0]]
		sec, _ := t.turnSec(t.Benchmarks[i], is[0])
		if sec == 0 {
			sec = s.Sec
		}
		if s.Source.Loop == "b.Loop" {
			continue
		}
		for _, at := range digits.FindAllStringIndex(d.name, -1) {
			number, err := strconv.ParseFloat(d.name[at[0]:at[1]], 64)
			if err != nil || number == 0 {
				continue
			}
			key := d.pkg + "\x00" + d.name[:at[0]] + "#" + d.name[at[1]:]
			if families[key] == nil {
				order = append(order, key)
			}
			families[key] = append(families[key], member{d, number, sec})
		}
	}
	said := map[*benchData]bool{}
	for _, key := range order {
		ms := families[key]
		least, most := ms[0], ms[0]
		fast, slow := ms[0].sec, ms[0].sec
		for _, m := range ms {
			if m.number < least.number {
				least = m
			}
			if m.number > most.number {
				most = m
			}
			fast, slow = min(fast, m.sec), max(slow, m.sec)
		}
		if most.number < invariantTimes*least.number || slow >= invariantSec || slow > invariantRatio*fast || fast < emptySec {
			continue
		}
		for _, m := range ms {
			if !said[m.d] {
				said[m.d] = true
				found = append(found, pitfall{pitInvariant, m.d, fmt.Sprintf("%s with %g and %s with %g", nice(least.sec), least.number, nice(most.sec), most.number)})
			}
		}
	}
	return found
}

var digits = regexp.MustCompile(`[0-9]+`)

// nice prints seconds to two or three digits in a unit that suits.
func nice(sec float64) string {
	unit, scale := "s", 1.0
	switch {
	case sec < 1e-6:
		unit, scale = "ns", 1e9
	case sec < 1e-3:
		unit, scale = "µs", 1e6
	case sec < 1:
		unit, scale = "ms", 1e3
	}
	return digits2(sec*scale) + " " + unit
}

// percent prints a share to two digits.
func percent(x float64) string { return digits2(100*x) + " %" }

// digits2 prints a number to at least two digits.
func digits2(x float64) string {
	if math.Abs(x) >= 99.5 { // %g would make it 1e+02
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// goMinor is x of the toolchain go1.x that a result was made with, 0 if it is not
// known: as the subject says it, or the setting.
func goMinor(r *dyno.Result) int {
	texts := []string{r.Subject}
	for _, l := range r.Trial.Setting {
		if l.Factor == "go" {
			texts = append(texts, "go"+strings.TrimPrefix(l.Value, "go"))
		}
	}
	for _, text := range append(texts, "go"+r.Trial.Subject.Go) {
		if m := goVersion.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil {
				return n
			}
		}
	}
	return 0
}

var goVersion = regexp.MustCompile(`\bgo1\.([0-9]{1,4})`)

// deviation is a robust standard deviation: of normal numbers, the median distance
// from their median times 1.4826.
func deviation(xs []float64) float64 {
	m := median(xs)
	far := make([]float64, len(xs))
	for i, x := range xs {
		far[i] = math.Abs(x - m)
	}
	return 1.4826 * median(far)
}
