package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// A Saturation is a trial in which the generator itself was the limit, so that
// its response times say nothing about the service.
type Saturation struct {
	Trial  int    // position in the plan
	Reason string // as dyno.Sent has it
}

// Cure is what to do when the generator is the limit.
const Cure = "a lower rate, other concurrency, or more CPU for dyno"

// saturations lists the trials of one setting in which the generator was the
// limit.
func saturations(rs []*dyno.Result) []Saturation {
	var ss []Saturation
	for _, r := range rs {
		if r.Sent.Saturated != "" {
			ss = append(ss, Saturation{r.Trial.N, r.Sent.Saturated})
		}
	}
	return ss
}

// note says why there is no verdict on a metric of setting i, if saturation has
// left too few trials to compare.
func (t *Table) note(i int, m dyno.Metric, blocks [][]float64, good map[int][]*dyno.Result) string {
	pairs := 0
	for _, row := range blocks {
		if !math.IsNaN(row[0]) && !math.IsNaN(row[i]) {
			pairs++
		}
	}
	if pairs >= 2 { // fewer have no p-value
		return ""
	}
	for _, r := range slices.Concat(good[i], good[0]) {
		if _, measured := r.Values.Get(m.Name); measured && !dyno.Counts(r, m.Name) {
			return fmt.Sprintf("not compared: %s", r.Sent.Saturated)
		}
	}
	return ""
}

// saturated are the warnings about trials in which the generator was the limit,
// one for each kind of reason.
func (t *Table) saturated(good map[int][]*dyno.Result) (ws dyno.Warnings) {
	const most = 10 // trials that are named
	type kind struct {
		reason string
		trials []int
		vary   bool
	}
	var kinds []*kind
	at := map[string]*kind{}
	closed := false
	for i := range t.Settings {
		for _, r := range good[i] {
			reason := r.Sent.Saturated
			if reason == "" {
				continue
			}
			closed = closed || !dyno.HasRate(r)
			key := form(reason)
			k := at[key]
			if k == nil {
				k = &kind{reason: reason}
				at[key] = k
				kinds = append(kinds, k)
			}
			k.vary = k.vary || k.reason != reason
			k.trials = append(k.trials, r.Trial.N)
		}
	}
	what := "response times are"
	if closed {
		what = "response times and req/s are"
	}
	for _, k := range kinds {
		first := k.trials[0]
		slices.SortFunc(k.trials, cmp.Compare[int])
		var names []string
		for _, n := range k.trials[:min(len(k.trials), most)] {
			names = append(names, strconv.Itoa(n))
		}
		if more := len(k.trials) - most; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		trials, their := "trial", "its"
		if len(k.trials) > 1 {
			trials, their = "trials", "their"
		}
		figures := ""
		if k.vary {
			figures = fmt.Sprintf("; figures of trial %d", first)
		}
		ws.Add(dyno.WarnSaturated, "dyno may itself have been the limit in %s %s (%s%s): %s %s not compared (consider: %s)",
			trials, strings.Join(names, ", "), k.reason, figures, their, what, Cure)
	}
	return ws
}
