package track

import (
	"math"

	"github.com/dynolab/dyno/internal/stats"
)

// A Power is what a line can find.
type Power struct {
	Noise float64 // standard deviation of a level from one commit to the next, as a logarithm
	Block float64 // of the change from the commit before in one block
	Shown float64 // the smallest change that a look on fresh blocks shows in four of five cases, as a share
	After []Delay
}

// A Delay is after how many commits a step of a size becomes a candidate that a look shows, in four of five cases.
type Delay struct {
	Size    float64 // as a share
	Commits int     // 1 is the commit itself; 0 is never
}

// Sizes of steps that a Power tells of.
var sizes = []float64{0.02, 0.03, 0.05, 0.08, 0.12}

// By simulation, of normal noise: Judge shows a change of shownBlocks deviations of a block in 85 % of cases (of t with 3 degrees of freedom, too).
// stats.ChangePoints finds a step of cutDeviates standard errors of the difference of the means before and after, in 70 to 85 %, from fewestAfter
// places after it on.
const (
	fourOfFive  = 0.84 // normal deviate
	shownBlocks = 1.0
	cutDeviates = 5.0
	fewestAfter = 5
	leastBefore = 5
	mostDelay   = 50
	lastOfLine  = 60 // places that tell the noise
)

// Power is what the noise of the last places allows. ok is false as long as there are too few.
func (l *Log) Power(line *Line) (p Power, ok bool) {
	parts := line.stretches(l.Alarms)
	stretch := parts[len(parts)-1]
	last := line.At[max(0, len(line.At)-lastOfLine):]
	var diffs, blocks []float64
	each := 0
	for i := 1; i < len(last); i++ {
		if !last[i].Same {
			diffs = append(diffs, math.Abs(last[i].Level-last[i-1].Level))
		}
		mid := stats.Median(last[i].Step)
		for _, x := range last[i].Step {
			blocks = append(blocks, math.Abs(x-mid))
		}
		if n := len(last[i].Step); n > 0 {
			each = n
		}
	}
	if len(diffs) < 5 || len(blocks) < 5 {
		return p, false
	}
	const normal = 1.4826
	p.Noise, p.Block = normal*stats.Median(diffs)/math.Sqrt2, normal*stats.Median(blocks)
	p.Shown = math.Expm1(shownBlocks * p.Block)
	before := float64(max(leastBefore, len(stretch)))
	for _, size := range sizes {
		d, log := Delay{Size: size}, math.Log1p(size)
		switch {
		case size < p.Shown || log < least:
		case log >= direct(each)*p.Block:
			d.Commits = 1
		default:
			for n := fewestAfter; n <= mostDelay; n++ {
				if log >= cutDeviates*p.Noise*math.Sqrt(1/float64(n)+1/before) {
					d.Commits = n
					break
				}
			}
		}
		p.After = append(p.After, d)
	}
	return p, true
}

// direct is how many deviations of a block a commit has to differ from the one before, so that signed ranks of n blocks have directP in four of five
// cases. Of fewer than ten blocks all have to agree.
func direct(n int) float64 {
	switch {
	case math.Ldexp(1, 1-n) > directP:
		return math.Inf(1)
	case n < 10:
		return math.Sqrt2 * math.Erfinv(2*math.Pow(0.8, 1/float64(n))-1)
	}
	const ranks = 1.05 // signed ranks need a little more than a t test
	return ranks * (math.Sqrt2*math.Erfinv(1-directP) + fourOfFive) / math.Sqrt(float64(n))
}
