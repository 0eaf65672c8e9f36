package advice

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Stand is how a setting compares with the baseline in the primary metrics, by their names.
// Better, Worse and Differs begin with the greatest change.
type Stand struct {
	At                           int // place in Table.Settings
	Better, Worse, Same, Unclear []string
	Differs                      []string // of two runs of different times
	Untold                       []string // could not be compared, as notes of the table say, or one of the two lacks it
	better, worse                [classes]float64
	gain, price                  string  // metrics that gain and cost most
	total                        float64 // of the changes for the better, as log ratios
}

// StandOf is the stand of a setting. A setting without a finished trial has an empty one.
func StandOf(t *compare.Table, i int) Stand {
	s, base := &t.Settings[i], &t.Settings[0]
	d := Stand{At: i}
	if s.Trials == 0 {
		return d
	}
	heaviest := 0.0
	for _, m := range t.Rows {
		x := s.Versus[m.Name]
		_, now := s.Values[m.Name]
		_, then := base.Values[m.Name]
		if !m.Primary || !now && !then {
			continue
		}
		to, size, class := &d.Unclear, compare.Magnitude(x.Ratio), classOf(m.Name)
		switch {
		case x.Note.Kind != "" || !now || !then:
			to = &d.Untold
		case x.Verdict == stats.Better:
			to = &d.Better
			d.better[class] = max(d.better[class], size)
			if !math.IsNaN(x.Ratio) {
				d.total += size
			}
		case x.Verdict == stats.Worse:
			to = &d.Worse
			d.worse[class] = max(d.worse[class], size)
			if w := size * weights[class]; w > heaviest {
				heaviest, d.price = w, m.Name
			}
		case x.Verdict == stats.Same:
			to = &d.Same
		case x.Verdict == compare.Differs:
			to = &d.Differs
		}
		*to = append(*to, m.Name)
	}
	for _, names := range [][]string{d.Better, d.Worse, d.Differs} {
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Compare(compare.Magnitude(s.Versus[b].Ratio), compare.Magnitude(s.Versus[a].Ratio))
		})
	}
	if len(d.Better) > 0 {
		d.gain = d.Better[0]
	}
	return d
}

// FailedMore returns how many requests failed or were never sent under a setting and under the
// baseline, if the share is greater than the baseline's, and whether by more than bearableFailures.
func FailedMore(t *compare.Table, i int) (now, then float64, more, often bool) {
	return failedMore(t, i, 0)
}

func failedMore(t *compare.Table, i, other int) (now, then float64, more, often bool) {
	of := func(s *compare.Setting) (n, share float64) {
		for _, metric := range []string{"failures", "unsent"} {
			for _, x := range s.Values[metric].Trials {
				n += x
			}
		}
		if s.Pooled == nil || n == 0 {
			return n, n
		}
		return n, n / (n + float64(s.Pooled.Requests))
	}
	now, share := of(&t.Settings[i])
	then, before := of(&t.Settings[other])
	return now, then, share > before, share-before > bearableFailures
}

// bearableFailures is how much greater the share of failures of a recommended setting may be.
const bearableFailures = 1e-4

// Bearable is how much worse a recommended setting may be in an unclear metric.
const Bearable = dyno.Fraction(0.05)
