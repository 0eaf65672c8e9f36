package dyno

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// InOrder sorts trials in the order in which they are run: those that tell what two equal settings differ by come first.
func InOrder(trials []Trial) []Trial {
	rank := func(t Trial) int {
		if t.For == ForSame {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(trials), func(a, b Trial) int { return rank(a) - rank(b) })
}

// A part is the trials of a plan for one purpose.
type part struct {
	purpose string // Trial.For
	blocks  int
	after   int // the number of the block before the first
}

// settings are the places of the settings of one block, in their order.
func (p part) settings(order func() []int) []int {
	if p.purpose == ForSame {
		return []int{0, 0}
	}
	return order()
}

// parts lists the parts of the plan in their order.
func (e *Experiment) parts() []part {
	repeats := e.Resolved().Repeats
	ps := []part{{blocks: cmp.Or(repeats, MostBlocks)}}
	if len(e.Profile) > 0 {
		ps = append(ps, part{purpose: ForProfile, blocks: cmp.Or(e.ProfileRepeats, repeats, DefaultRepeats)})
	}
	switch {
	case e.WhySlow:
		ps = append(ps, part{purpose: ForTrace, blocks: cmp.Or(e.TraceRepeats, WhySlowBlocks)})
	case e.Trace > 0:
		ps = append(ps, part{purpose: ForTrace, blocks: 1})
	}
	if e.givesBack() {
		ps = append(ps, part{purpose: ForMemory, blocks: 1})
	}
	if e.On.Away() && e.Compares() {
		ps = append(ps, part{purpose: ForSame, blocks: e.On.places()})
	}
	for _, m := range e.More { // behind all others, whose numbers stay
		ps = append(ps, part{blocks: m.Blocks, after: m.After})
	}
	return ps
}

// Planned is the number of Trials.
func (e *Experiment) Planned() (n int) {
	each := make([]int, len(e.Levels()))
	for _, p := range e.parts() {
		n += p.blocks * len(p.settings(func() []int { return each }))
	}
	return n
}

// Draw gives an experiment a random seed, unless it has one, so that each run has an order of its own. The
// seed has at most nine digits: it is easy to type, and no reader of JSON rounds it.
func (e *Experiment) Draw() {
	if e.Seed == nil {
		e.Seed = new(rand.Uint64N(1_000_000_000))
	}
}

// Rand returns random numbers that depend on the seed and the stream alone. Streams of one seed are independent of each
// other. Those from 1 on are of blocks: of the load, and of bench's order.
func (e *Experiment) Rand(stream uint64) *rand.Rand {
	var seed uint64
	if e.Seed != nil {
		seed = *e.Seed
	}
	return rand.New(rand.NewPCG(seed, stream))
}

// Streams of Rand.
const (
	wholeStream  = 0       // the order of all blocks together
	squareStream = 1 << 32 // and more: the order of a group of blocks
	layoutStream = 1 << 33 // and more: the order of functions in a block
)

// order returns the order of n settings in a block, as their places.
func (e *Experiment) order(n int) func(block int) []int {
	rng := e.Rand(wholeStream)
	switch {
	case e.Slice > 0:
		return mirrored(rng, n)
	case e.Shuffled:
		return func(int) []int { return rng.Perm(n) }
	}
	return func(block int) []int { return e.balanced(block, n) }
}

// balanced returns the order of a block, which depends on seed and block alone: a run that is longer,
// resumed or extended has the same.
//
// In a group of 2n blocks each setting is first, second and so on twice, and follows each other one equally often: a
// Latin square of Williams (Experimental designs balanced for the estimation of residual effects of treatments, 1949) and its
// mirror. Settings and blocks of the group are in random order. One square after the other would do without the mirror
// where n is even, but then A B is always followed by B A, and what one trial has of the noise of the one before
// makes blocks alike: with a correlation of 0.5 between trials intervals missed in 6.4 % of simulated runs, not 5.1 %.
func (e *Experiment) balanced(block, n int) []int {
	rng := e.Rand(squareStream + uint64((block-1)/(2*n)))
	settings, rows := rng.Perm(n), rng.Perm(2*n)
	row := rows[(block-1)%(2*n)]
	mirror := row >= n
	order := make([]int, n)
	for i := range order { // 0, 1, n-1, 2, n-2, ... in the first row, and all of them one more in the next
		step := (i + 1) / 2
		if i%2 == 0 && i > 0 {
			step = n - i/2
		}
		order[i] = settings[(step+row)%n]
	}
	if mirror {
		slices.Reverse(order)
	}
	return order
}

// mirrored returns the order of n settings in a block: random, then the same backwards, so
// that even drift falls on all alike (ABBA or BAAB, at random against periods).
func mirrored(rng *rand.Rand, n int) func(block int) []int {
	var order []int
	return func(block int) []int {
		if block%2 == 1 {
			order = rng.Perm(n)
		} else {
			slices.Reverse(order)
		}
		return order
	}
}

// More are blocks that were added to a run when its result was known, by dyno run --resume
// --more: their numbers follow After.
type More struct {
	After  int // blocks that the result was of
	Blocks int // that were added
}

// ParseMore reads "17+4", 4 blocks that were added after 17.
func ParseMore(s string) (m More, err error) {
	after, blocks, _ := strings.Cut(s, "+")
	m.After, err = strconv.Atoi(after)
	if err == nil {
		m.Blocks, err = strconv.Atoi(blocks)
	}
	if err != nil || m.After < 1 || m.Blocks < 0 {
		return m, fmt.Errorf("bad more %q (want for example 17+4: 4 blocks after 17)", s)
	}
	return m, nil
}

func (m More) String() string { return fmt.Sprintf("%d+%d", m.After, m.Blocks) }

// MarshalText is read by ParseMore.
func (m More) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
