package certify

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Judged is what is found in one run by somebody who does not know what was planted in it.
type Judged struct {
	Label   string  `json:"label"`           // of the setting that was compared with the baseline; it says nothing
	Seen    []Seen  `json:"metrics"`         // primary metrics that were compared, in the order of reports
	Blocks  int     `json:"blocks"`          // that were compared
	Early   bool    `json:"early,omitempty"` // it ended before its time was up, as all was decided; never in files of before there were curves
	Elapsed float64 `json:"elapsed-sec"`     // the caller fills it in
	Err     string  `json:"error,omitempty"` // why the run is no outcome: it counts for nothing
}

// A Seen is one comparison of a run.
type Seen struct {
	Metric  string        `json:"metric"`
	Verdict stats.Verdict `json:"verdict"`
	Ratio   dyno.Number   `json:"ratio"` // null if it is unknown, as the next three
	Lo      dyno.Number   `json:"lo"`    // of the 95 % interval
	Hi      dyno.Number   `json:"hi"`
	Visible dyno.Number   `json:"visible-frac"` // the least change that this run would have called one, for the worse, by its noise
}

// Judge judges a run of two settings by its primary metrics. label is the second setting's. A run in
// which a trial failed, or which is too short for a verdict, has Err.
func Judge(t *compare.Table, label string) Judged {
	j := Judged{Label: label, Blocks: t.Blocks}
	for _, r := range t.Failed {
		j.Err = r.Err
	}
	if len(t.Settings) != 2 {
		j.Err = cmp.Or(j.Err, "no comparison")
		return j
	}
	for _, row := range t.Rows {
		v, ok := t.Settings[1].Versus[row.Key]
		if !row.Primary || !ok {
			continue
		}
		c := v.Comparison
		if c.N < compare.FewestBlocks {
			j.Err = cmp.Or(j.Err, "few blocks: "+row.Name)
		}
		j.Seen = append(j.Seen, Seen{row.Name, v.Verdict, dyno.Number(v.Ratio), dyno.Number(v.Lo), dyno.Number(v.Hi), dyno.Number(visible(c, t.Negligible))})
	}
	if len(j.Seen) == 0 {
		j.Err = cmp.Or(j.Err, "no metric")
	}
	j.Early = t.Sequential && t.Blocks < dyno.MostBlocks && t.Decided(compare.Demands{})
	return j
}

// visible is by how much a comparison had to differ to be a change by the strictest step of its
// family, at its noise, and not a negligible one; NaN if that is unknown.
func visible(c stats.Comparison, negligible float64) float64 {
	lo, hi := c.Interval(compare.PrimaryAlpha / float64(max(1, c.Tests)))
	known := math.Log(c.Hi/c.Lo) / 2
	return max(math.Sqrt(hi/lo), math.Exp(math.Log1p(negligible)-known)) - 1
}

// of returns what was seen of a metric.
func (j *Judged) of(metric string) (Seen, bool) {
	i := slices.IndexFunc(j.Seen, func(s Seen) bool { return s.Metric == metric })
	if i < 0 {
		return Seen{}, false
	}
	return j.Seen[i], true
}

// Changed lists the metrics that were called better or worse.
func (j *Judged) Changed() (names []string) {
	for _, s := range j.Seen {
		if s.Verdict == stats.Better || s.Verdict == stats.Worse {
			names = append(names, s.Metric)
		}
	}
	return names
}

// A Key knows which change each label stands for. Who judges has none. The zero value is empty.
type Key struct{ changes map[string]Change }

// Put makes a label stand for a change.
func (k *Key) Put(label string, c Change) {
	if k.changes == nil {
		k.changes = map[string]Change{}
	}
	k.changes[label] = c
}

// Open says what came of runs, now that they are judged.
func (k *Key) Open(js ...Judged) (outcomes []Outcome) {
	for _, j := range js {
		o := Outcome{Judged: j, Change: k.changes[j.Label]}
		if o.Kind == Equal {
			o.Found = len(j.Changed()) > 0
		}
		for _, metric := range metrics[o.Kind] {
			x, _ := j.of(metric)
			o.Found = o.Found || x.Verdict == stats.Worse
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}
