package lab

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/rests"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// needOf stands for a trial's need in the ledger of a block.
type needOf struct {
	*trial
	name string
}

// openNeeds begins to tell apart what the needs of a trial use of the CPUs in its turns, and in those of others.
func (p *besides) openNeeds(t *trial, running *Running) {
	if p.block.ledger == nil {
		return
	}
	for _, n := range running.Target.Needs {
		if n.PID != 0 {
			p.block.ledger.Open(needOf{t, n.Name}, kernel.NewFamily(n.PID).Clock, p.turn.Own)
		}
	}
}

// closeNeeds ends that.
func (p *besides) closeNeeds(t *trial, running *Running) {
	if p.block.ledger == nil {
		return
	}
	p.needs = map[string]rests.Rested{}
	for _, n := range running.Target.Needs {
		if r, ok := p.block.ledger.Close(needOf{t, n.Name}); ok {
			p.needs[n.Name] = r
		}
	}
}

// restOfNeeds is the share of a CPU from which it is said that a need worked in the turns of others. It is that of
// subjects.
const restOfNeeds = 0.01

// chargeNeeds takes from the CPU time of shared needs what they used in other turns. Of needs that only this trial has, it
// says how much they took from others.
func (p *besides) chargeNeeds(running *Running, saw *probe.Reading) {
	for _, n := range running.Target.Needs {
		r, known := p.needs[n.Name]
		if !n.Booked {
			share := 0.0
			if all := r.Own + r.After + r.Late; known && all > 0 {
				share = r.Own / all
			}
			saw.Values = charged(saw.Values, n.Name+"-cpu-sec", share, known)
			continue
		}
		if !known || r.LateTime == 0 {
			continue
		}
		if rate := r.Rate(); rate > restOfNeeds {
			saw.Warnings.AddOf(dyno.WarnNeedRests, n.Name, "%s of this setting used %s of a CPU in the turns of other settings, and took it from them (consider: --alone)", n.Name, rests.Percent(rate))
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
