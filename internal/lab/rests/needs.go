package rests

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// restOfNeeds is the share of a CPU from which it is said that a need worked in the turns of others. It is that of
// subjects.
const restOfNeeds = pressureLimit

// leastOfNeeds is how many seconds that has to be: a window may meet one short vacuum.
const leastOfNeeds = 0.05

// ChargeNeeds takes from the CPU time of shared needs what they used in other turns. Of needs that only one trial has, it
// says how much they took from others.
func ChargeNeeds(needs []probe.Need, rested map[string]Rested, saw *probe.Reading) {
	for _, n := range needs {
		r, known := rested[n.Name]
		if !n.Booked {
			share := 0.0
			if all := r.Own + r.After + r.Late; all > 0 {
				share = r.Own / all
			}
			saw.Values = charged(saw.Values, n.Name+"-cpu-sec", share, known)
			continue
		}
		if !known || r.LateTime == 0 {
			continue
		}
		saw.Values = append(saw.Values, dyno.Value{Metric: n.Name + "-rest-cpu-frac", Value: r.Rate()})
		if rate := r.Rate(); rate > restOfNeeds && r.Late > leastOfNeeds {
			saw.Warnings.AddOf(dyno.WarnNeedRests, n.Name, "%s of this setting used %s of a CPU in the turns of other settings, and took it from them (consider: --alone)", n.Name, percent(rate))
		}
	}
}

// charged multiplies a value, or takes it away if its share is not known.
func charged(values dyno.Values, metric string, share float64, known bool) (out dyno.Values) {
	for _, v := range values {
		switch {
		case v.Metric != metric:
			out = append(out, v)
		case known:
			v.Value *= share
			out = append(out, v)
		}
	}
	return out
}
