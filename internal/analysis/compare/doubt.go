package compare

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// A Doubt is a warning about the table, or a note about what a report leaves out: its figures
// give it, or trials, or the caller. Package report has its words.
type Doubt struct {
	Kind    dyno.WarningKind // "" of a warning that an older version wrote
	About   string           // what a trial's warning is about, as dyno.Warning.Of
	Setting int              // of WarnNoTrial and WarnMixed
	N, Of   int              // of WarnPartial, WarnNoInterval and warnings of trials: so many of so many, or of so many that it takes
	Trial   int              // of the caller's, the one that it is about; else the one that Said has the figures of, if those of others differ; else 0
	Trials  []int            // of WarnSaturated: which, ascending
	Closed  bool             // of WarnSaturated: req/s is not compared either, as a load was closed
	Said    []string         // what a trial's warning says, how the generator was the limit, the programs of WarnMixed, the settings of WarnOneProgram and, with the factors in which they differ, of WarnNoEffect, or the key and both values of WarnRunsDiffer
	Err     error            // of the caller's: why something is left out
	Text    string           // in words; package words fills it in for summary.json
}

func (t *Table) doubts(o Options) (ds []Doubt) {
	if done := t.Ran(); done < t.Planned {
		ds = append(ds, Doubt{Kind: dyno.WarnPartial, N: done, Of: t.Planned})
	}
	if t.Trials == 0 {
		return ds
	}
	for i, s := range t.Settings {
		if s.Trials == 0 {
			ds = append(ds, Doubt{Kind: dyno.WarnNoTrial, Setting: i})
		}
	}
	if len(t.Settings) > 1 && t.Blocks == 1 || t.Blocks > 1 && t.Blocks < stats.MedianTrials {
		ds = append(ds, Doubt{Kind: dyno.WarnNoInterval, N: t.Blocks, Of: stats.MedianTrials})
	}
	if o.Separate {
		ds = append(ds, Doubt{Kind: dyno.WarnSeparate})
	}
	return ds
}

// mixed lists the settings whose trials ran several programs, as after a commit.
func (t *Table) mixed(good map[int][]*dyno.Result) (ds []Doubt) {
	for i := range t.Settings {
		var ran []string
		for _, r := range good[i] {
			if !slices.Contains(ran, r.Subject) {
				ran = append(ran, r.Subject)
			}
		}
		if len(ran) > 1 {
			ds = append(ds, Doubt{Kind: dyno.WarnMixed, Setting: i, Said: ran})
		}
	}
	return ds
}

// saturated lists the trials in which the generator was the limit, by the form of the reason.
func (t *Table) saturated(good map[int][]*dyno.Result) (ds []Doubt) {
	at := map[string]int{}
	closed := false
	for i := range t.Settings {
		for _, r := range good[i] {
			reason := r.Sent.Saturated
			if reason == "" {
				continue
			}
			closed = closed || !dyno.HasRate(r)
			k, ok := at[form(reason)]
			if !ok {
				k = len(ds)
				at[form(reason)] = k
				ds = append(ds, Doubt{Kind: dyno.WarnSaturated, Said: []string{reason}})
			}
			d := &ds[k]
			d.Trials = append(d.Trials, r.Trial.N)
			if d.Said[0] != reason {
				d.Trial = d.Trials[0]
			}
		}
	}
	for i := range ds {
		ds[i].Closed = closed
		slices.SortFunc(ds[i].Trials, cmp.Compare[int])
	}
	return ds
}

// collect returns the warnings of results, each once, in the words of the first
// result that has it. Warnings of one kind about one thing are one, unless one trial
// has several that say different things.
func collect(rs []*dyno.Result) (ds []Doubt) {
	type same struct {
		kind, about, form string
		nth               int // of those of the trial
	}
	at := map[same]int{}
	var firsts []int
	for _, r := range rs {
		seen := map[same]string{}
		for _, w := range r.Warnings {
			if r.Sent.Saturated != "" && w.Is(dyno.WarnSaturated, r) {
				continue // saturated has said so
			}
			key := same{kind: string(w.Kind), about: w.Of}
			if w.Kind == "" {
				key.form = form(w.Text)
			}
			for said, ok := seen[key]; ok && said != form(w.Text); said, ok = seen[key] {
				key.nth++
			}
			k, ok := at[key]
			if !ok {
				k = len(ds)
				at[key] = k
				ds, firsts = append(ds, Doubt{Kind: w.Kind, About: w.Of, Of: len(rs), Said: []string{w.Text}}), append(firsts, r.Trial.N)
			}
			if ds[k].Said[0] != w.Text {
				ds[k].Trial = firsts[k]
			}
			if _, counted := seen[key]; !counted {
				seen[key] = form(w.Text)
				ds[k].N++
			}
		}
	}
	return ds
}

var figure = regexp.MustCompile(`\d+(\.\d+)?`)

// form is a text without its figures: texts of one form say the same of several trials.
func form(text string) string { return figure.ReplaceAllLiteralString(text, "#") }
