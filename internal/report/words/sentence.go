// Package words says in sentences what was found: verdicts, recommendations, warnings, and
// the reasons of what is unclear. It computes nothing but which of several things to say first.
package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

var nouns = map[string]string{
	"p50-sec":     "median latency",
	"p99-sec":     "p99 latency",
	"req/s":       "throughput",
	"cpu-sec/req": "CPU time per request",
	"rss-peak-B":  "peak memory",
}

// MetricNoun names a metric in a sentence: "p99 latency", or its name.
func MetricNoun(metric string) string {
	return cmp.Or(nounOf(metric), metric)
}

// nounOf is "CPU time per request", or of a need "CPU time per request of db"; "" of metrics that have only their names.
func nounOf(metric string) string {
	need, rest := dyno.NeedOf(metric)
	switch {
	case need != "" && rest == "cpu-sec/req":
		return "CPU time of " + need + " per request"
	case need != "" && nouns[rest] != "":
		return nouns[rest] + " of " + need
	}
	return nouns[metric]
}

// Noun names a metric for a reader: "p99 latency", or its name without the unit.
func Noun(metric string) string {
	if n := nounOf(metric); n != "" {
		return n
	}
	label, _ := layout.UnitOf(metric)
	return label
}

// A Said is a sentence, with what it is about as its name.
type Said struct{ Name, Rest string }

// Found says of each setting but the baseline how it compares in the primary metrics, in
// the order of the table, or of a single setting its figures. Without a finished trial it
// is nil.
func Found(t *compare.Table) (found []Said) {
	if t.Trials > 0 && len(t.Settings) == 1 {
		return alone(t)
	}
	return foundOf(Verdicts(t))
}

// Brief returns [Found] and [Advice] without figures, for a reader who has a table beside them. A single
// block gives neither.
func Brief(t *compare.Table) (found []Said, advice string) {
	if len(t.Settings) == 1 {
		return Found(t), ""
	}
	if t.Blocks < 2 {
		return nil, ""
	}
	vs := verdicts(t, true)
	found = foundOf(vs)
	if len(found) == 1 {
		return found, advise(t, vs, true)
	}
	var alike []Said // settings of which the same is said are named together
	for _, s := range found {
		s.Rest = strings.TrimPrefix(s.Rest, " against "+t.Settings[0].Setting.Label())
		if i := slices.IndexFunc(alike, func(o Said) bool { return o.Rest == s.Rest }); i >= 0 {
			alike[i].Name += ", " + s.Name
			continue
		}
		alike = append(alike, s)
	}
	return alike, advise(t, vs, true)
}

func foundOf(vs []Verdict) (found []Said) {
	for _, v := range vs {
		rest := strings.TrimPrefix(v.Text, v.Setting.Label())
		found = append(found, Said{strings.TrimSuffix(v.Text, rest), rest})
	}
	return found
}

func alone(t *compare.Table) []Said {
	s := &t.Settings[0]
	var parts []string
	for _, p := range []struct{ metric, format string }{
		{"p50-sec", "the median latency is %s"}, {"p99-sec", "p99 %s"}, {"req/s", "throughput %s per second"}, {"rss-peak-B", "peak memory %s"},
	} {
		if x, ok := s.Values[p.metric]; ok && !x.Saturated {
			parts = append(parts, fmt.Sprintf(p.format, layout.ScaleOf(p.metric, x.Center).With(x.Center)))
		}
	}
	if parts == nil {
		return nil
	}
	of := ""
	if s.Trials > 1 {
		of = fmt.Sprintf(" (medians of %d trials)", s.Trials)
	}
	text := List(parts) + of + "."
	return []Said{{Rest: strings.ToUpper(text[:1]) + text[1:]}}
}

func much(ratio float64) string {
	percent := func(x float64) string {
		decimals := 1
		if x >= 0.0995 {
			decimals = 0
		}
		return strconv.FormatFloat(x*100, 'f', decimals, 64) + "%"
	}
	switch {
	case math.IsNaN(ratio):
		return "different"
	case ratio >= 2:
		return strconv.FormatFloat(ratio, 'f', 1, 64) + " times as high"
	case ratio >= 1:
		return percent(ratio-1) + " higher"
	}
	return percent(1-ratio) + " lower"
}

// WorthMore reports whether more blocks are worth a word in the report of a run that has blocks of them.
func WorthMore(more, blocks int) bool { return more <= min(100, 4*blocks) }

// settle says how many more blocks may settle the first i+1 comparisons, or "".
func settle(t *compare.Table, more []int, i int, what string) string {
	if i < 0 || i >= len(more) || !WorthMore(more[i], t.Blocks) {
		return ""
	}
	return fmt.Sprintf(" (about %s may settle%s)", layout.Count(more[i], "more block"), cmp.Or(what, " it"))
}

// List joins parts with commas and "and".
func List(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
