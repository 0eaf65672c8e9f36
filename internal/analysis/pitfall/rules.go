package pitfall

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
)

// NoLoopSec is half of what one iteration of an empty loop takes at 6 GHz, in seconds.
const NoLoopSec = 0.08e-9

const (
	// emptySec is three times what an empty loop takes on a fast CPU, and less than
	// any call that is not inlined.
	emptySec   = 1e-9
	emptyLeast = 1000 // iterations of a sample, for its time to be theirs
	fewTimes   = 4    // more iterations in the long sample than in the short one, to say how time grows
	// A sample's speed may jump by 75 % between two samples, on a shared machine, so
	// one pair of samples shows only what is beyond that. A CPU that is shared makes long
	// samples slower than turns, which often fit between two switches: by as many times
	// as there are who share it.
	growsRatio, growsTurns = 4.0, 8
	// What is done once has to take that share of a sample, and make an iteration so
	// many times slower: held against other samples of the survey, against turns, and
	// against turns where too few benchmarks tell how much slower the machine became.
	setUpShare, setUpRatio, setUpTurns, setUpAlone = 0.02, 1.1, 1.2, 1.5
	setUpBlind                                     = 2.0 // where the source does not say that anything is timed
	typicalLeast                                   = 3   // benchmarks that tell how much slower the machine became
	leftLeast                                      = 2   // goroutines; one may be of the runtime or of a package that is used first
	gcShare                                        = 0.005
	gcContained                                    = 0.9 // collections of a sample; below it, most have none
	goInlines                                      = 26  // Go 1.26 inlines calls within the braces of b.Loop
)

// empty tells of a loop that does nothing, by the fastest sample: other load only slows it.
func (r *run) empty(b *Benchmark, i int) *Found {
	s, least := &b.Settings[i], math.Inf(1)
	v := s.Survey
	if v.N >= emptyLeast {
		least = v.Sec
	}
	if v.FewN >= emptyLeast {
		least = min(least, v.FewSec)
	}
	if b.N >= emptyLeast && s.Turn > 0 {
		least = min(least, s.Fastest)
	}
	if least >= emptySec || v.Source.Loop == "RunParallel" && r.cpus != 1 {
		return nil
	}
	return &Found{Sec: least}
}

func (r *run) constant(b *Benchmark, i int) *Found {
	if b.Settings[i].Survey.Source.Loop != dyno.NoLoop {
		return nil
	}
	return &Found{}
}

// grows tells of iterations that take longer the more there are: in the long sample than in
// short ones or turns. Collecting does not count, nor that all turns are faster.
func (r *run) grows(b *Benchmark, i int) *Found {
	s := &b.Settings[i]
	v := s.Survey
	sec := v.Sec * (1 - min(1, max(0, v.GCFrac)))
	if v.FewN > 0 && v.FewSec > 0 && v.N >= fewTimes*v.FewN && sec > growsRatio*v.FewSec {
		return &Found{Sec: v.Sec, N: v.N, FewSec: v.FewSec, FewN: v.FewN}
	}
	slower := r.slower(i)
	if b.N < 1 || s.Turn <= 0 || slower == 0 || v.N < growsTurns*b.N || sec <= growsTurns*s.Turn/min(1, slower) {
		return nil
	}
	return &Found{Sec: v.Sec, N: v.N, FewSec: s.Turn, FewN: b.N}
}

// loop126 tells of a setting on the other side of Go 1.26 than the baseline.
func (r *run) loop126(b *Benchmark, i int) *Found {
	s, base := &b.Settings[i], b.Settings[0].Go
	if s.Survey.Source.Loop != "b.Loop" || base == 0 || s.Go == 0 || (base >= goInlines) == (s.Go >= goInlines) {
		return nil
	}
	return &Found{Go: s.Go, BaseGo: base}
}

func (r *run) goroutines(b *Benchmark, i int) *Found {
	v := b.Settings[i].Survey
	if v.Goroutines < leftLeast {
		return nil
	}
	return &Found{Count: v.Goroutines, N: v.N}
}

func (r *run) parallel(b *Benchmark, i int) *Found {
	if b.Settings[i].Survey.Source.Loop != "RunParallel" || r.cpus != 1 {
		return nil
	}
	return &Found{}
}

// setUp tells of what is timed and done once. Turns, shorter than samples of a survey, show
// it more; what only turns show may be that the machine became slower, as for the median.
func (r *run) setUp(b *Benchmark, i int) *Found {
	s := &b.Settings[i]
	v := s.Survey
	if v.Source.Loop != "" && v.Source.Timed == "" {
		return nil
	}
	turns := s.Turn > 0 && b.N > 0
	if f := s.once(v.FewN, v.FewSec, setUpRatio); f != nil && (!turns || b.N > v.FewN/2 || s.once(b.N, s.Turn, setUpRatio) != nil) {
		return f
	}
	if !turns || v.Source.Loop == "" {
		return nil
	}
	if slower := r.slower(i); slower > 0 {
		return s.once(b.N, s.Turn/max(1, slower), setUpTurns)
	}
	return s.once(b.N, s.Turn, setUpAlone)
}

// once solves for what is done once, S, from two samples: few = sec + S/n and long = sec +
// S/N for each iteration. few has to be more than ratio times long.
func (s *Setting) once(n int64, few, ratio float64) *Found {
	v := s.Survey
	if v.Source.Loop == "" {
		ratio = setUpBlind
	}
	if n < 1 || v.N < fewTimes*n || v.Sec <= 0 || few <= ratio*v.Sec {
		return nil
	}
	once := (few - v.Sec) / (1/float64(n) - 1/float64(v.N))
	share := once / (few * float64(n))
	if share <= setUpShare {
		return nil
	}
	return &Found{Call: v.Source.Timed, Once: once, Share: min(1, share), FewN: n}
}

// slower is the median ratio of turns to surveys in a setting; 0 if too few tell.
func (r *run) slower(setting int) float64 {
	var ratios []float64
	for i := range r.all {
		if s := &r.all[i].Settings[setting]; s.Turn > 0 && s.surveyed() && s.Survey.Sec > 0 {
			ratios = append(ratios, s.Turn/s.Survey.Sec)
		}
	}
	if len(ratios) < typicalLeast {
		return 0
	}
	slices.Sort(ratios)
	return (ratios[len(ratios)/2] + ratios[(len(ratios)-1)/2]) / 2
}

func (r *run) gcLeftOut(b *Benchmark, i int) *Found {
	s := &b.Settings[i]
	v := s.Survey
	if v.GCFrac < gcShare || v.Collections < 1 || b.N < 1 || s.Turn <= 0 {
		return nil
	}
	each := v.Collections * float64(b.N) / float64(v.N)
	if each >= gcContained {
		return nil
	}
	return &Found{Share: v.GCFrac, Count: each}
}
