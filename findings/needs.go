package findings

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// addStatements lets the options tell which statements of needs surely changed: how often each request leads to one
// (profile "calls NEED"), or how long the server works on them ("time NEED").
func addStatements(opt *compare.Options, results []*dyno.Result, base string) {
	if !slices.ContainsFunc(results, func(r *dyno.Result) bool { return len(r.Statements) > 0 }) {
		return
	}
	others := opt.Places
	opt.Places = func(s dyno.Setting, profile string) []compare.Place {
		what, need, of := strings.Cut(profile, " ")
		switch {
		case of && what == "calls":
			return statementChanges(results, base, s.String(), need, func(s dyno.Statement) float64 { return s.Calls })
		case of && what == "time":
			return statementChanges(results, base, s.String(), need, func(s dyno.Statement) float64 { return s.Sec })
		case others == nil:
			return nil
		}
		return others(s, profile)
	}
}

// statementChanges are the statements of a need whose amount per request surely differs between two settings, the
// greatest change first: means of the differences within blocks, with 95 % intervals.
func statementChanges(results []*dyno.Result, base, setting, need string, amount func(dyno.Statement) float64) (places []compare.Place) {
	blocks := map[int]*[2]*dyno.Result{}
	for _, r := range results {
		i := slices.Index([]string{base, setting}, r.Trial.Setting.String())
		if i < 0 || r.Err != "" || r.Trial.For != "" || r.Sent.Requests == 0 {
			continue
		}
		if blocks[r.Trial.Block] == nil {
			blocks[r.Trial.Block] = new([2]*dyno.Result)
		}
		blocks[r.Trial.Block][i] = r
	}
	diffs := map[string][]float64{}
	pairs := 0
	for _, pair := range blocks {
		if pair[0] == nil || pair[1] == nil {
			continue
		}
		pairs++
		perRequest := map[string]float64{}
		for i, sign := range []float64{-1, 1} {
			for _, s := range pair[i].Statements {
				if s.Need == need {
					perRequest[s.Text] += sign * amount(s) / float64(pair[i].Sent.Requests)
				}
			}
		}
		for text, diff := range perRequest {
			diffs[text] = append(diffs[text], diff)
		}
	}
	total := 0.0
	for text, ds := range diffs {
		for len(ds) < pairs { // in a block without it, it was none in both
			ds = append(ds, 0)
		}
		m := stats.MeanOf(ds)
		if !math.IsNaN(m.Mean) {
			total += m.Mean
		}
		if m.Lo > 0 || m.Hi < 0 {
			places = append(places, compare.Place{Func: text, Change: dyno.Number(m.Mean), Lo: dyno.Number(m.Lo), Hi: dyno.Number(m.Hi)})
		}
	}
	for i := range places {
		places[i].Share = places[i].Change / dyno.Number(total)
	}
	slices.SortFunc(places, func(a, b compare.Place) int {
		return cmp.Or(cmp.Compare(math.Abs(float64(b.Change)), math.Abs(float64(a.Change))), cmp.Compare(a.Func, b.Func))
	})
	return places
}
