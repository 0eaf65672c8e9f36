package words

import (
	"fmt"
	"math"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/leak"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
)

// Spell fills in the words of what analysis found, for JSON.
func Spell(t *compare.Table) {
	grown := func(g *leak.Grown) {
		if g != nil {
			g.Reason.Text = LeakReason(g.Reason)
		}
	}
	for i := range t.Doubts {
		t.Doubts[i].Text = Doubt(t, &t.Doubts[i])
	}
	for i := range t.Settings {
		for key, v := range t.Settings[i].Versus {
			v.Note.Text = NotCompared(v.Note)
			t.Settings[i].Versus[key] = v
		}
		if l := t.Settings[i].Leak; l != nil {
			l.Reason.Text = LeakReason(l.Reason)
			grown(l.Memory)
			grown(l.Outside)
			for _, o := range l.Others {
				grown(o.Grown)
			}
			for _, one := range l.Trials {
				grown(one.Grown)
			}
		}
		if s := t.Settings[i].Steady; s != nil {
			for _, d := range []*timeline.Drift{s.P50, s.P99} {
				if d != nil {
					d.Why.Text = SteadyWhy(d.Why)
				}
			}
		}
	}
}

// LeakReason follows "cannot tell whether memory leaks: "; "" of no reason.
func LeakReason(r leak.Reason) string {
	const stay = " (consider: a rate that stays)"
	opened := layout.Count(r.N, "connection") + " more"
	run := "(consider: a run of " + Roughly(r.Longer) + ")"
	seen := fmt.Sprintf("%s in %v, ", layout.Count(r.N, "collection"), r.Window.Round(time.Second))
	switch r.Kind {
	case leak.NoSeries:
		return "nothing tells of memory"
	case leak.ByTrend:
		return trendReason(r.Trend)
	case leak.FewCollections:
		if r.Bytes > 0 {
			return fmt.Sprintf("%sand the last found %s more live than the first, but what stays is known only with dyno's probe (consider: the service's package in place of its executable, without --inject=false)", seen, amount(r.Bytes))
		}
		return fmt.Sprintf("%sand it takes %d %s", seen, r.Of, run)
	case leak.FewLows:
		return fmt.Sprintf("%sof which readings of the heap show %s, and it takes %d %s", seen, layout.Count(r.Lows, "low"), r.Of, run)
	case leak.ResidentOnly:
		return fmt.Sprintf("collections are not known, and resident memory alone tells nothing in less than %d min (consider: a longer run, or a service with /debug/vars or /metrics)", r.N)
	case leak.GrewAtRest:
		return fmt.Sprintf("it was level under load, and grew by %.1f MiB in the rest that followed (consider: dyno watch, without a load)", r.Bytes/(1<<20))
	case leak.GrewAfter:
		return "it was level under load, and yet had grown when no request was under way (consider: a longer run)"
	case leak.Queued:
		return "it grew under load and had not grown when no request was under way: that is what waiting requests hold (consider: a lower rate)"
	case leak.LoadOpened:
		return trendReason(r.Trend) + "; the load opened " + opened + " meanwhile, which are part of it (consider: a longer warm-up, or fewer connections)"
	case leak.LoadAll:
		return "the load opened " + opened + " meanwhile, which may be all of it (consider: a longer warm-up, or a lower rate)"
	case leak.RateRose:
		return "the rate rose meanwhile, and it is not known what of it stayed when no request was under way" + stay
	case leak.RateConnected:
		return "the rate rose meanwhile, and what grew may be what the service keeps for the " + opened + stay
	case leak.Noisy:
		return "its readings are too few or vary too much: even what doubles it would not have been seen " + run
	case leak.NotTouched:
		return "it is no more yet than what the runtime has mapped, which may only now be touched " + run
	case leak.TrialsDiffer:
		return fmt.Sprintf("%d of %d trials say that it leaks, %d that it does not (consider: longer trials)", r.N, r.Of, r.Level)
	}
	return ""
}

// SteadyWhy follows "cannot be told: "; "" of no reason.
func SteadyWhy(w timeline.Why) string {
	switch w.Kind {
	case timeline.RisesAndFalls:
		return "it rises and falls back, again and again"
	case timeline.VariesTooMuch:
		return "it varies too much for so short a window"
	case timeline.TrialsDiffer:
		return "the trials differ"
	}
	return trendReason(w.Trend)
}

// trendReason says why a series cannot tell.
func trendReason(r stats.Reason) string {
	where := ""
	for _, in := range r.In {
		side := map[stats.StretchSide]string{stats.BeforeStep: "before a step", stats.AfterStep: "after a step", stats.AfterSlow: "after it slowed"}[in.Side]
		where += fmt.Sprintf("%s at %.0f s ", side, in.At)
	}
	goes := "it grows"
	if r.Falls {
		goes = "it falls"
	}
	switch r.Kind {
	case stats.FewReadings:
		return where + fmt.Sprintf("%d readings are too few, %d are needed", r.N, r.Of)
	case stats.OneTime:
		return where + "nearly all of the readings were taken at the same time"
	case stats.TooLarge:
		return where + "its numbers are too large to compute with"
	case stats.FewFalls:
		return where + fmt.Sprintf("it grows and falls back, and %d of the %d falls needed to compare its lows were seen", r.N, r.Of)
	case stats.LessAtEnd:
		return where + goes + ", but less towards its end, and may be flattening"
	case stats.TooLittle:
		return where + goes + ", but too little for its noise and length to tell whether steadily"
	case stats.JumpsBack:
		return where + goes + ", but jumps back at one end"
	case stats.SawGrows:
		return where + "the lows of its saw grow, but too little or too few to tell whether steadily"
	case stats.GoesOn:
		return where + fmt.Sprintf("but for a step at %.0f s it goes on growing or falling", r.At)
	case stats.PartGrows:
		return where + goes
	}
	return ""
}

// Roughly rounds a duration up to what one would type.
func Roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", math.Ceil(d.Seconds()/10)*10)
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.0fh", math.Ceil(d.Hours()))
}
