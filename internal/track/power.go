package track

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// A Power is what a line can find.
type Power struct {
	Noise float64 // standard deviation of a level from one commit to the next, as a logarithm
	Block float64 // of the change from the commit before in one block
	Shown float64 // the smallest change that a look on fresh blocks shows in four of five cases, as a share
	After []Delay
}

// A Delay is after how many commits a step of a size becomes a candidate, in four of five cases.
type Delay struct {
	Size    float64 // as a share
	Commits int     // 1 is the commit itself; 0 is never
}

// Sizes of steps that a Power tells of.
var sizes = []float64{0.02, 0.03, 0.05, 0.08, 0.12}

const (
	fourOfFive = 0.84 // normal deviate
	cutDeviate = 3.3  // of a step that ChangePoints finds among some dozen levels
	mostDelay  = 50
	lastOfLine = 60 // places that tell the noise
)

// Power is what the noise of the last places allows. ok is false as long as there are too few.
func (line *Line) Power() (p Power, ok bool) {
	last := line.At[max(0, len(line.At)-lastOfLine):]
	var diffs, blocks []float64
	for i := 1; i < len(last); i++ {
		if !last[i].Same {
			diffs = append(diffs, math.Abs(last[i].Level-last[i-1].Level))
		}
		mid := stats.Median(last[i].Step)
		for _, x := range last[i].Step {
			blocks = append(blocks, math.Abs(x-mid))
		}
	}
	if len(diffs) < 5 || len(blocks) < 5 {
		return p, false
	}
	const normal = 1.4826
	p.Noise, p.Block = normal*stats.Median(diffs)/math.Sqrt2, normal*stats.Median(blocks)
	shown := (deviate(Alpha/10) + fourOfFive) * p.Block / math.Sqrt(mostLook)
	p.Shown = math.Expm1(shown)
	perCommit := 0
	for _, at := range slices.Backward(last) {
		if perCommit = len(at.Step); perCommit > 0 {
			break
		}
	}
	for _, size := range sizes {
		d := Delay{Size: size}
		log := math.Log1p(size)
		switch direct := (deviate(directP) + fourOfFive) * p.Block / math.Sqrt(float64(max(1, perCommit))); {
		case log < shown || log < least:
		case log >= direct && perCommit > 7:
			d.Commits = 1
		default:
			before := float64(max(10, len(last)))
			for n := 3; n <= mostDelay; n++ {
				if log >= (cutDeviate+fourOfFive)*p.Noise*math.Sqrt(1/float64(n)+1/before) {
					d.Commits = n
					break
				}
			}
		}
		p.After = append(p.After, d)
	}
	return p, true
}

// deviate is the normal deviate that is exceeded on either side with a probability.
func deviate(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-p) }
