package report

import (
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/words"
)

func TestDoubts(t *testing.T) {
	gogc := func(v string) dyno.Setting { return dyno.Setting{{Factor: "GOGC", Value: v}} }
	table := &compare.Table{Settings: []compare.Setting{{Setting: gogc("100"), Baseline: true}, {Setting: gogc("200")}}}
	for _, x := range []struct {
		doubt compare.Doubt
		want  string
	}{
		{compare.Doubt{Kind: dyno.WarnPartial, N: 0, Of: 12}, "0 of 12 planned trials were run"},
		{compare.Doubt{Kind: dyno.WarnNoTrial}, "the baseline GOGC=100 has no finished trial, so nothing can be compared"},
		{compare.Doubt{Kind: dyno.WarnNoTrial, Setting: 1}, "GOGC=200 has no finished trial, so only its failure is known"},
		{compare.Doubt{Kind: dyno.WarnNoInterval, N: 1, Of: 6}, "there is only one block, so no change can be told from noise"},
		{compare.Doubt{Kind: dyno.WarnNoInterval, N: 2, Of: 6}, "2 blocks are too few to tell: verdicts and intervals take 6"},
		{compare.Doubt{Kind: dyno.WarnOneProgram, Said: []string{"rev=main", "rev=."}}, "rev=main and rev=. run the same program, byte for byte, and nothing else differs: any difference between them is chance"},
		{compare.Doubt{Kind: dyno.WarnNoEffect, Said: []string{"FOO=1 arg.x=1", "FOO=2 arg.x=2", "FOO", "arg.x"}},
			"nothing that dyno reads was found to differ between FOO=1 arg.x=1 and FOO=2 arg.x=2 (consider: does the program read FOO and arg.x?)"},
		{compare.Doubt{Kind: dyno.WarnMixed, Setting: 1, Said: []string{"go1.25", "go1.26"}}, "the trials of GOGC=200 did not all run the same program: go1.25; go1.26"},
		{compare.Doubt{Kind: dyno.WarnSaturated, Trials: []int{3, 5}, Closed: true, Said: []string{"it used 0.97 of its cores"}},
			"dyno may itself have been the limit in trials 3, 5 (it used 0.97 of its cores): their response times and req/s are not compared (consider: a lower rate, other concurrency, or more CPU for dyno)"},
		{compare.Doubt{Kind: dyno.WarnSaturated, Trials: []int{3}, Trial: 3, Said: []string{"late"}},
			"dyno may itself have been the limit in trial 3 (late; figures of trial 3): its response times are not compared (consider: a lower rate, other concurrency, or more CPU for dyno)"},
		{compare.Doubt{N: 2, Of: 12, Trial: 5, Said: []string{"other processes used 13 % of the CPU"}}, "2 of 12 trials: other processes used 13 % of the CPU (figures of trial 5)"},
	} {
		table.Doubts = []compare.Doubt{x.doubt, {Said: []string{"of the caller"}}}
		if got := words.Warnings(table); !slices.Equal(got, []string{x.want, "of the caller"}) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
