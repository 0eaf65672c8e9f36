package receipt

import (
	"cmp"
	"math"
	"slices"
)

// A Rate is how many promises held of those that could be told. A promise that several Afters tell is one, of which a part held.
type Rate struct {
	From, Metric  string // of which they are; "" means all
	Change        bool   // the figure is a ratio to another setting's
	Held          float64
	Told, Untold  int
	Reasons       map[Reason]int // of those that could not be told
	Corrected     int            // of those that were told, how many were corrected for the load
	Level         float64        // mean of what was promised; NaN if none was told
	Share, Lo, Hi float64        // of Held, with its interval of 95 %; NaN if none was told
}

// Rates count the promises of checks: all, and those of each command and figure. A check's Receipt names what was promised from: the
// promises of one are counted once each, however many Afters they were held against, and may fail together. Promises with a doubt are
// left out, unless doubted, which counts them alone.
func Rates(checks []Check, doubted bool) (all Rate, each []Rate) {
	type part struct {
		from, metric string
		change       bool
	}
	total := count{of: map[string][2]float64{}}
	parts := map[part]*count{}
	for _, t := range tallies(checks, doubted) {
		key := part{t.from, t.last.Metric, t.last.Against != nil}
		if parts[key] == nil {
			parts[key] = &count{Rate: Rate{From: key.from, Metric: key.metric, Change: key.change}, of: map[string][2]float64{}}
		}
		parts[key].add(t)
		total.add(t)
	}
	for _, c := range parts {
		each = append(each, c.rate())
	}
	slices.SortFunc(each, func(a, b Rate) int {
		change := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Metric, b.Metric), change[a.Change]-change[b.Change])
	})
	return total.rate(), each
}

// A tally is one promise with all that came of it.
type tally struct {
	receipt, from     string
	last              *Outcome
	held, told, level float64
	corrected         bool
}

// tallies puts the outcomes of each promise together, in the order in which the promises come.
func tallies(checks []Check, doubted bool) (all []*tally) {
	of := map[[4]string]*tally{}
	for i := range checks {
		c := &checks[i]
		for k := range c.Outcomes {
			o := &c.Outcomes[k]
			if o.Doubted != doubted {
				continue
			}
			key := [4]string{c.Receipt, o.Metric, o.Name}
			if o.Against != nil {
				key[3] = "against " + o.Against.Name
			}
			t := of[key]
			if t == nil {
				t = &tally{receipt: c.Receipt, from: c.From}
				of[key], all = t, append(all, t)
			}
			if t.last = o; o.Word == Untold {
				continue
			}
			t.told++
			t.level += o.Level
			t.corrected = t.corrected || o.Corrected
			if o.Word == Held {
				t.held++
			}
		}
	}
	return all
}

// A count is a rate in the making.
type count struct {
	Rate
	levels float64
	of     map[string][2]float64 // held and told, by receipt
}

func (c *count) add(t *tally) {
	if t.told == 0 {
		if c.Reasons == nil {
			c.Reasons = map[Reason]int{}
		}
		c.Untold++
		c.Reasons[t.last.Reason]++
		return
	}
	held, x := t.held/t.told, c.of[t.receipt]
	c.of[t.receipt] = [2]float64{x[0] + held, x[1] + 1}
	c.Held += held
	c.Told++
	c.levels += t.level / t.told
	if t.corrected {
		c.Corrected++
	}
}

// fewestReceipts are needed to see how much they differ. Of fewer, each is one promise.
const fewestReceipts = 10

// rate works out share and interval. The promises of one receipt may fail together, so the interval is that of as many independent
// promises as have the variance between receipts, as of a survey in clusters.
func (c *count) rate() Rate {
	n := float64(c.Told)
	c.Level, c.Share = c.levels/n, c.Held/n // NaN of none
	between := 0.0
	for _, x := range c.of {
		between += (x[0] - c.Share*x[1]) * (x[0] - c.Share*x[1])
	}
	if alone := n * c.Share * (1 - c.Share); len(c.of) >= fewestReceipts && alone > 0 {
		n /= max(1, between/alone)
	} else { // where all held, or none, no variance shows
		n = float64(len(c.of))
	}
	c.Lo, c.Hi = wilson(c.Share, n)
	return c.Rate
}

// wilson is the 95 % interval of a share of n (Wilson, JASA 22, 1927); NaN of none.
func wilson(share, n float64) (lo, hi float64) {
	const z = 1.959964
	center := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return max(center-half, 0), min(center+half, 1)
}
