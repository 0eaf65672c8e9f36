package gobench

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// How long a benchmark takes in a block. Names that end in Sec are seconds.
const (
	// A sample is shorter than the 10 ms for which a virtual machine keeps its speed, and longer
	// than the 0.4 ms that a turn costs beside it.
	sampleSec  = 0.001
	longestSec = 0.25   // longer samples, for collections or a set-up, would be too few
	untimedSec = 0.02   // the longest sample that is mostly not timed: many samples help more against noise
	timedSec   = 0.0002 // the least timed part of a sample: on a busy machine the rest is waiting for the CPU
	// Samples hold collections, and are ten times as long, only if collecting takes leastGCFrac of an
	// operation's time and differs between settings, or takes muchGCFrac.
	leastGCFrac, muchGCFrac = 0.005, 0.1
	wantCollections         = 1.5 // collections of such a sample. Each begins with an empty heap, so with 1 chance decides.
	// Pairs of samples of a launch. Another launch has another memory layout, so many pairs of one
	// are worth little; with few, the noisy first ones weigh too much.
	mostPairs, fewestPairs = 36, 2
	launchSec              = 0.25 // the longest launch of all settings together
	slowSec                = 1.0  // a slower iteration has one pair: over seconds the speed averages out
	slowTurnSec            = 2.0  // and what takes so long for a pair
	aloneSec               = 0.05 // a longer sample needs none before it that warms up
	// A block measures worthLinking times as long as linking took, so packages are launched
	// up to mostLaunches times.
	worthLinking, mostLaunches = 0.75, 12
	turnSec                    = 0.0005 // of a turn beside its samples
	// If there is no time for all, those that are quick have lightShare of it. What takes heavyTimes the mean is not. A first block passes over
	// what takes firstMost times the mean.
	lightShare, heavyTimes, firstMost, fewMost = 0.7, 4, 4, 2
	keptFrac                                   = 0.5 // of the time is for what the fewest blocks leave open
	blocksAhead                                = 4   // a block takes no more than so many would
	// A run whose duration was not asked for may take beyond times as long, if then all benchmarks get the blocks that can tell a change.
	beyond = 1.5
	// fewBlocks give a benchmark an interval of signed ranks (stats.RankBlocks), leastBlocks any interval (stats.FewBlocks). All benchmarks
	// have them before one has more, if that takes at most coarseFrac of the time. The rest is for changes in the quick ones.
	fewBlocks, leastBlocks, coarseFrac = 6, 3, 0.6
	// The least bytes allocated between two collections: the minimum heap is 4 MiB at GOGC=100, and
	// a tenth of that at 10 (heapMinimum in runtime/mgcpacer.go).
	leastHeap  = 256 << 10
	mostN      = 1e9   // the most iterations that package testing itself does
	nothingSec = 1e-12 // the time of an operation that took none
)

type pace struct {
	n      int64         // iterations of a sample
	pairs  int           // of a launch
	alone  bool          // each turn begins the benchmark anew, and is one sample
	each   time.Duration // that a pair takes, as expected
	begins time.Duration // and what comes before the pairs
	launch time.Duration // and a launch
}

func (p *pace) benchtime() string { return strconv.FormatInt(p.n, 10) + "x" }

// least is what a launch takes with the fewest pairs.
func (p *pace) least() time.Duration {
	return p.begins + time.Duration(min(p.pairs, fewestPairs))*p.each
}

// pairsIn is how many pairs a launch has that may take so long.
func (p *pace) pairsIn(d time.Duration) int {
	return max(min(p.pairs, fewestPairs), mirrored(min(p.pairs, int((d-p.begins)/max(1, p.each)))))
}

// mirrored makes a number of pairs even: every other one is the one before backwards.
func mirrored(pairs int) int { return pairs &^ 1 }

// paceOf derives the pace of a benchmark from its surveys in each setting. sample is the length
// that the user wants; 0 leaves it to dyno, and then longest seconds are the most. runtime is as for forCollections.
func paceOf(in []*benchmark, sample time.Duration, longest float64, runtime bool) pace {
	var logs, n float64
	for _, l := range in {
		logs += math.Log(l.sec())
	}
	// Of very different settings none should take all the time and none too little.
	typical := math.Exp(logs / float64(len(in)))
	if sample > 0 {
		n = sample.Seconds() / typical
		longest = max(longest, sample.Seconds())
	} else {
		n = max(sampleSec/typical, forCollections(in, runtime), forSetUp(in))
	}
	n = min(n, mostN)
	slowest, turn := 0.0, 0.0
	floor := min(n, timedSec/typical)
	for _, l := range in {
		n = min(n, longest/(l.sec()+l.grows))
		if sample == 0 && l.grows > l.sec() {
			n = min(n, untimedSec/(l.sec()+l.grows))
		}
		slowest = max(slowest, l.sec())
	}
	n = max(n, floor)
	p := pace{n: max(1, int64(math.Round(n))), pairs: mostPairs}
	for _, l := range in {
		sample := l.wall(p.n)
		p.alone = p.alone || sample >= aloneSec
		turn += sample
	}
	for _, l := range in {
		p.alone = p.alone && l.sharers < 2 && l.around < l.wall(p.n)/2 // what is around it would run anew, too
	}
	begins := 0.0
	if !p.alone {
		begins = turn
		turn *= 2 // the first sample of a turn is thrown away
	}
	for _, l := range in {
		if around := l.around / float64(max(1, l.sharers)); p.alone {
			turn += around
		} else {
			begins += around
		}
	}
	turn += turnSec * float64(len(in))
	p.pairs = max(fewestPairs, mirrored(min(p.pairs, int(launchSec/turn))))
	if slowest > slowSec || turn > slowTurnSec {
		p.pairs = 1
	}
	p.each = time.Duration(turn * float64(time.Second))
	p.begins = time.Duration(begins * float64(time.Second))
	p.launch = p.begins + time.Duration(p.pairs)*p.each
	return p
}

// sec is the time of an iteration without what is done once, and never 0.
func (l *benchmark) sec() float64 {
	return max(l.Sec-l.fixed/float64(max(1, l.N)), nothingSec)
}

// calls returns how often the function is called for a sample of n iterations. Package testing calls it with
// 1 first.
func (l *benchmark) calls(n int64) float64 {
	if n == 1 || l.Source.Loop == "b.Loop" {
		return 1
	}
	return 2
}

// wall returns the seconds that a sample takes in all.
func (l *benchmark) wall(n int64) float64 {
	calls := l.calls(n)
	return (float64(n)+calls-1)*(l.sec()+l.grows) + calls*(l.Outside+l.fixed)
}

// forCollections returns the number of iterations that a sample needs so that every setting that collects at
// all collects in it. It is 0 if that makes little difference. runtime says that settings differ in the cost
// of collecting.
func forCollections(in []*benchmark, runtime bool) (n float64) {
	frac, least, most := 0.0, math.Inf(1), 0.0
	for _, l := range in {
		frac, least, most = max(frac, l.GCFrac), min(least, l.Bytes), max(most, l.Bytes)
	}
	differ := frac
	if !runtime {
		differ *= (most - least) / max(most, 1)
	}
	if frac < muchGCFrac && differ < leastGCFrac {
		return 0
	}
	for _, l := range in {
		if l.Collections >= 1 {
			n = max(n, wantCollections*float64(l.N)/l.Collections)
		}
	}
	return n
}

// forSetUp returns the number of iterations that take as long as the set-up in each call.
func forSetUp(in []*benchmark) (n float64) {
	for _, l := range in {
		once := (l.Outside + l.fixed) / (l.sec() + l.grows)
		if once > 1 { // else one iteration will do, which testing calls the function once for
			once *= l.calls(2)
		}
		n = max(n, once)
	}
	return n
}

// starred returns the name with "*" in place of the elements of a dyno.BenchFactor's level.
func starred(name, level string) (string, bool) {
	elems := strings.Split(name, "/")
	levels := strings.Split(strings.TrimPrefix(level, "Benchmark"), "/")
	for i := 0; i+len(levels) <= len(elems); i++ {
		if slices.Equal(elems[i:i+len(levels)], levels) {
			return strings.Join(slices.Replace(elems, i, i+len(levels), "*"), "/"), true
		}
	}
	return "", false
}

// turnsRuntime reports whether settings differ in the cost of collecting: by environment, toolchain
// or flags, not by the source alone.
func turnsRuntime(e *dyno.Experiment) bool {
	same := []string{dyno.BenchFactor, dyno.AAFactor}
	return slices.ContainsFunc(slices.Concat(e.Levels()...), func(l dyno.Level) bool { return !dyno.OfSource(l.Factor) && !slices.Contains(same, l.Factor) })
}
