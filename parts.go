package dyno

import (
	"cmp"
	"slices"
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
	if e.Trace > 0 {
		ps = append(ps, part{purpose: ForTrace, blocks: 1})
	}
	if e.givesBack() {
		ps = append(ps, part{purpose: ForMemory, blocks: 1})
	}
	if e.On.Away() && e.compares() {
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
