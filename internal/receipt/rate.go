package receipt

import (
	"cmp"
	"math"
	"slices"
)

// A Rate is how many promises held of those that could be told.
type Rate struct {
	From, Metric         string  // of which they are; "" means all
	Held, Missed, Untold int     //
	Corrected            int     // of those that were told, how many were corrected for the load
	Level                float64 // mean of what was promised; NaN if none was told
	Share, Lo, Hi        float64 // of Held, with its interval of 95 %; NaN if none was told
}

// Told is how many could be told.
func (r *Rate) Told() int { return r.Held + r.Missed }

// Rates count the outcomes of checks: of all, and of each command and metric. Of several checks of a receipt with the same After
// the last counts. Promises with a doubt are left out, unless doubted, which counts them alone.
func Rates(checks []Check, doubted bool) (all Rate, each []Rate) {
	last := map[[2]string]int{}
	for i, c := range checks {
		last[[2]string{c.Receipt, c.AfterID}] = i
	}
	total := newCount("", "")
	parts := map[[2]string]*count{}
	for i, c := range checks {
		if last[[2]string{c.Receipt, c.AfterID}] != i {
			continue
		}
		for _, o := range c.Outcomes {
			if o.Doubted != doubted {
				continue
			}
			key := [2]string{c.From, o.Metric}
			if parts[key] == nil {
				parts[key] = newCount(c.From, o.Metric)
			}
			window := c.AfterID + "\x00" + o.Name // whose figures may fail together
			parts[key].add(window, &o)
			total.add(window, &o)
		}
	}
	for _, c := range parts {
		each = append(each, c.rate())
	}
	slices.SortFunc(each, func(a, b Rate) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Metric, b.Metric)) })
	return total.rate(), each
}

// A count is a rate in the making.
type count struct {
	Rate
	levels float64
	of     map[string][2]float64 // held and told, by window
}

func newCount(from, metric string) *count {
	return &count{Rate: Rate{From: from, Metric: metric}, of: map[string][2]float64{}}
}

func (c *count) add(window string, o *Outcome) {
	if o.Word == Untold {
		c.Untold++
		return
	}
	x := c.of[window]
	x[1]++
	c.levels += o.Level
	if o.Corrected {
		c.Corrected++
	}
	if o.Word == Held {
		c.Held++
		x[0]++
	} else {
		c.Missed++
	}
	c.of[window] = x
}

// rate works out share and interval. The figures of one window may fail together, so the interval is that of as many independent
// promises as have the variance between windows, as of a survey in clusters.
func (c *count) rate() Rate {
	n := float64(c.Told())
	c.Level, c.Share = c.levels/n, float64(c.Held)/n // NaN of none
	between := 0.0
	for _, x := range c.of {
		between += (x[0] - c.Share*x[1]) * (x[0] - c.Share*x[1])
	}
	if alone := n * c.Share * (1 - c.Share); alone > 0 {
		n /= max(1, between/alone)
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
