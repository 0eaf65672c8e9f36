package report

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

func TestLeakReasons(t *testing.T) {
	saw := stats.Reason{Kind: stats.FewFalls, N: 1, Of: 4, In: []stats.Stretch{{Side: stats.AfterStep, At: 12.4}}}
	for _, x := range []struct {
		reason leak.Reason
		want   string
	}{
		{leak.Reason{}, ""},
		{leak.Reason{Kind: leak.FewCollections, N: 3, Of: 8, Window: time.Minute, Longer: 192 * time.Second}, "3 collections in 1m0s, but 8 are needed (consider: a run of 4m)"},
		{leak.Reason{Kind: leak.FewCollections, N: 7, Of: 8, Window: time.Minute, Bytes: 130 << 20}, "7 collections in 1m0s, and the last found 130 MiB more live than the first, but only dyno's probe can tell what stays (consider: the service's package in place of its executable, without --inject=false)"},
		{leak.Reason{Kind: leak.FewLows, N: 400, Lows: 2, Of: 8, Window: time.Minute, Longer: 288 * time.Second}, "400 collections in 1m0s, but the heap readings show 2 lows, and 8 are needed (consider: a run of 5m)"},
		{leak.Reason{Kind: leak.ResidentOnly, N: 5}, "collections are not known, and resident memory alone needs at least 5 min (consider: a longer run, or a service with /debug/vars or /metrics)"},
		{leak.Reason{Kind: leak.GrewAtRest, Bytes: 3 << 20}, "it was level under load, but grew by 3.0 MiB in the rest after it (consider: dyno watch, without a load)"},
		{leak.Reason{Kind: leak.LoadOpened, N: 65, Trend: saw}, "after a step at 12 s it grows and falls back, and 1 of the 4 falls needed to compare its lows were seen; the load opened 65 more connections, which explain part of the growth (consider: a longer warm-up, or fewer connections)"},
		{leak.Reason{Kind: leak.RateConnected, N: 1}, "the rate rose meanwhile, and the growth may be what the service keeps for 1 more connection (consider: a constant rate)"},
		{leak.Reason{Kind: leak.Noisy, Longer: 2 * time.Minute}, "its readings are too few or vary too much to detect even a doubling (consider: a run of 2m)"},
		{leak.Reason{Kind: leak.TrialsDiffer, N: 2, Of: 5, Level: 3}, "2 of 5 trials say that it leaks, 3 that it does not (consider: longer trials)"},
		{leak.Reason{Kind: leak.ByTrend, Trend: stats.Reason{Kind: stats.LessAtEnd, Falls: true}}, "it falls, but more slowly towards its end, and may be flattening"},
	} {
		if got := words.LeakReason(x.reason); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// Each kind of reason has words of its own.
func TestEachReasonHasWords(t *testing.T) {
	said := map[string]bool{}
	say := func(kind, text string) {
		if len(strings.Fields(text)) < 3 || said[text] {
			t.Errorf("%s: %q", kind, text)
		}
		said[text] = true
	}
	for _, k := range []stats.ReasonKind{stats.FewReadings, stats.OneTime, stats.TooLarge, stats.FewFalls, stats.LessAtEnd, stats.TooLittle, stats.JumpsBack, stats.SawGrows, stats.GoesOn} {
		say(string(k), words.SteadyWhy(timeline.Why{Kind: timeline.WhyKind(k), Trend: stats.Reason{Kind: k}}))
	}
	for _, k := range []timeline.WhyKind{timeline.RisesAndFalls, timeline.VariesTooMuch, timeline.TrialsDiffer} {
		say(string(k), words.SteadyWhy(timeline.Why{Kind: k}))
	}
	for _, k := range []leak.ReasonKind{leak.NoSeries, leak.FewCollections, leak.FewLows, leak.ResidentOnly, leak.GrewAtRest, leak.GrewAfter, leak.Queued, leak.LoadOpened, leak.LoadAll, leak.RateRose, leak.RateConnected, leak.Noisy, leak.NotTouched, leak.TrialsDiffer} {
		say(string(k), words.LeakReason(leak.Reason{Kind: k}))
	}
}
