package dyno

import (
	"cmp"
	"slices"
	"strings"
)

// LastOfEach sorts results by block and position, and keeps the last one of each trial.
func LastOfEach(rs []*Result) []*Result {
	type key struct {
		n, block int
		setting  string
	}
	at := map[key]int{}
	var kept []*Result
	for _, r := range rs {
		k := key{r.Trial.N, r.Trial.Block, r.Trial.Setting.String()}
		if i, ok := at[k]; ok {
			kept[i] = r
			continue
		}
		at[k] = len(kept)
		kept = append(kept, r)
	}
	slices.SortStableFunc(kept, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Trial.Block, b.Trial.Block), cmp.Compare(a.Trial.N, b.Trial.N))
	})
	return kept
}

// Counts reports whether a value of r may be compared. If the generator was the limit, latency, service time,
// unsent requests and a closed load's throughput may not.
func Counts(r *Result, metric string) bool {
	if r.Sent.Saturated == "" {
		return true
	}
	switch metric {
	case "unsent", "late-frac":
		return false
	case "req/s":
		return HasRate(r)
	}
	return !IsLatency(metric)
}

// HasRate reports whether the load of r had a rate, also if r was read from a file: only
// an open load has service times.
func HasRate(r *Result) bool {
	_, both := r.Values.Get("service-p50-sec")
	return both || r.Trial.Load.Open()
}

// IsLatency reports whether a metric is latency or service time, of a step too.
func IsLatency(metric string) bool {
	_, i := Rank(metric)
	return i < indices["req/s"] // the first metric that is neither
}

// Rank splits a metric's name into its step or need, "" for the whole trial's, and the
// index of the rest in Metrics, or len(Metrics) if it is not there.
func Rank(name string) (step string, index int) {
	if i, ok := indices[name]; ok {
		return "", i
	}
	if need, rest := NeedOf(name); need != "" {
		return need, indices[rest]
	}
	for i, m := range Metrics {
		if s, ok := strings.CutSuffix(name, "-"+m.Name); ok && strings.HasSuffix(m.Name, "-sec") {
			return s, i
		}
	}
	return "", len(Metrics)
}

// indices of Metrics, by name.
var indices = func() map[string]int {
	at := map[string]int{}
	for i, m := range Metrics {
		at[m.Name] = i
	}
	return at
}()
