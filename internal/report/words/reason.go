package words

import (
	"fmt"
	"math"
	"time"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
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
	const stay = " (consider: a constant rate)"
	opened := layout.Count(r.N, "more connection")
	run := "(consider: a run of " + Roughly(r.Longer) + ")"
	seen := fmt.Sprintf("%s in %v, ", layout.Count(r.N, "collection"), r.Window.Round(time.Second))
	switch r.Kind {
	case leak.NoSeries:
		return "there are no memory readings"
	case leak.ByTrend:
		return trendReason(r.Trend)
	case leak.FewCollections:
		if r.Bytes > 0 {
			return fmt.Sprintf("%sand the last found %s more live than the first, but only dyno's probe can tell what stays (consider: the service's package in place of its executable, without --inject=false)", seen, amount(r.Bytes))
		}
		return fmt.Sprintf("%sbut %d are needed %s", seen, r.Of, run)
	case leak.FewLows:
		return fmt.Sprintf("%sbut the heap readings show %s, and %d are needed %s", seen, layout.Count(r.Lows, "low"), r.Of, run)
	case leak.ResidentOnly:
		return fmt.Sprintf("collections are not known, and resident memory alone needs at least %d min (consider: a longer run, or a service with /debug/vars or /metrics)", r.N)
	case leak.GrewAtRest:
		return fmt.Sprintf("it was level under load, but grew by %.1f MiB in the rest after it (consider: dyno watch, without a load)", r.Bytes/(1<<20))
	case leak.GrewAfter:
		return "it was level under load, but had grown once no request was in flight (consider: a longer run)"
	case leak.Queued:
		return "it grew under load, but not once no request was in flight: waiting requests held it (consider: a lower rate)"
	case leak.LoadOpened:
		return trendReason(r.Trend) + "; the load opened " + opened + ", which explain part of the growth (consider: a longer warm-up, or fewer connections)"
	case leak.LoadAll:
		return "the load opened " + opened + ", which may explain all of the growth (consider: a longer warm-up, or a lower rate)"
	case leak.RateRose:
		return "the rate rose meanwhile, and it is not known how much stayed once no request was in flight" + stay
	case leak.RateConnected:
		return "the rate rose meanwhile, and the growth may be what the service keeps for " + opened + stay
	case leak.Noisy:
		return "its readings are too few or vary too much to detect even a doubling " + run
	case leak.NotTouched:
		return "the growth fits in memory that the runtime had already mapped and may only now touch " + run
	case leak.TrialsDiffer:
		return fmt.Sprintf("%d of %d trials say that it leaks, %d that it does not (consider: longer trials)", r.N, r.Of, r.Level)
	}
	return ""
}

// SteadyWhy follows "cannot be told: "; "" of no reason.
func SteadyWhy(w timeline.Why) string {
	switch w.Kind {
	case timeline.RisesAndFalls:
		return "it rises and falls repeatedly"
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
		return where + "nearly all readings were taken at the same time"
	case stats.TooLarge:
		return where + "its numbers are too large to compute with"
	case stats.FewFalls:
		return where + fmt.Sprintf("it grows and falls back, and %d of the %d falls needed to compare its lows were seen", r.N, r.Of)
	case stats.LessAtEnd:
		return where + goes + ", but more slowly towards its end, and may be flattening"
	case stats.TooLittle:
		return where + goes + ", but too little, given its noise and length, to tell whether steadily"
	case stats.JumpsBack:
		return where + goes + ", but jumps back at one end"
	case stats.SawGrows:
		return where + "the lows of its sawtooth grow, but are too few or grow too little to tell whether steadily"
	case stats.GoesOn:
		return where + fmt.Sprintf("apart from a step at %.0f s it keeps growing or falling", r.At)
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
