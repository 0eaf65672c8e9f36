package words

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

// SaturationCure says what to do when the generator is the limit.
const SaturationCure = "a lower rate, other concurrency, or more CPU for dyno"

// Warnings are the doubts of a table in words.
func Warnings(t *compare.Table) []string { return Doubts(t, t.Doubts) }

// Doubts says doubts in words; those about a setting are of the table's, which may be nil
// for notes.
func Doubts(t *compare.Table, ds []compare.Doubt) (texts []string) {
	for i := range ds {
		texts = append(texts, Doubt(t, &ds[i]))
	}
	return texts
}

// Partial says that fewer trials were run than planned.
func Partial(t *compare.Table, done, planned int) string {
	if t != nil && t.Sequential {
		return fmt.Sprintf("%d of at most %d trials were run, and the run is not finished", done, planned)
	}
	return fmt.Sprintf("%d of %d planned trials were run", done, planned)
}

// Doubt says one doubt in words.
func Doubt(t *compare.Table, d *compare.Doubt) string {
	if d.Kind == dyno.WarnSaturated && d.Trials != nil {
		return saturatedDoubt(d)
	}
	if len(d.Said) == 1 && d.Of == 0 && d.Trial == 0 {
		return d.Said[0]
	}
	if d.Of > 0 && d.Said != nil { // of trials, whatever kind their results say
		figures := ""
		if d.Trial != 0 {
			figures = fmt.Sprintf(" (figures of trial %d)", d.Trial)
		}
		return fmt.Sprintf("%d of %d trials: %s%s", d.N, d.Of, strings.Join(d.Said, "; "), figures)
	}
	switch d.Kind {
	case dyno.WarnPartial:
		return Partial(t, d.N, d.Of)
	case dyno.WarnNoTrial:
		s := &t.Settings[d.Setting]
		if s.Baseline && len(t.Settings) > 1 {
			return fmt.Sprintf("the baseline %s has no finished trial, so nothing can be compared", s.Setting)
		}
		return fmt.Sprintf("%s has no finished trial, so only its failure is known", s.Setting)
	case dyno.WarnNoInterval:
		if d.N == 1 {
			return "there is only one block, so no change can be told from noise"
		}
		if t != nil && len(t.Settings) > 1 {
			return fmt.Sprintf("%d blocks are too few to tell: verdicts and intervals take %d", d.N, d.Of)
		}
		return fmt.Sprintf("the median has no 95%% interval: that takes %d blocks, and there are %d", d.Of, d.N)
	case dyno.WarnRunsDiffer:
		return fmt.Sprintf("the runs differ in %s: %s and %s", d.Said[0], cmp.Or(d.Said[1], "nothing"), cmp.Or(d.Said[2], "nothing"))
	case dyno.WarnSlow:
		return fmt.Sprintf("%s: %d of %d execution traces say why requests are slow; the others cannot be read, or have no request above the percentile, or all together fewer than five, or their requests are known in another way (consider: a longer load, or a higher rate)", d.About, d.N, d.Of)
	case dyno.WarnAttribution, dyno.WarnTail, dyno.WarnGrowth, dyno.WarnSteady, dyno.WarnPicture:
		return leftOut(d)
	case dyno.WarnSeparate:
		return "the runs were not made side by side: a change on the machine between them looks like a difference of the settings"
	case dyno.WarnNoEffect:
		return fmt.Sprintf("nothing that dyno reads was found to differ between %s and %s (consider: does the program read %s?)", d.Said[0], d.Said[1], List(d.Said[2:]))
	case dyno.WarnOneProgram:
		return OneProgram(d.Said[0], d.Said[1])
	case dyno.WarnMixed:
		return fmt.Sprintf("the trials of %s did not all run the same program: %s", t.Settings[d.Setting].Setting.Label(), strings.Join(d.Said, "; "))
	}
	return d.Err.Error()
}

// OneProgram says that a comparison is of a program with itself.
func OneProgram(base, setting string) string {
	return fmt.Sprintf("%s and %s run the same program, byte for byte, and nothing else differs: any difference between them is chance", base, setting)
}

// Unnamed says that a program does not seem to read a variable.
func Unnamed(name string) string {
	return fmt.Sprintf("the executable does not contain the name %s: unless the program puts the name together, %[1]s changes nothing", name)
}

// Void says that a trial does not count, and what dyno does about it.
func Void(r *dyno.Result, again bool) string {
	why, _, _ := strings.Cut(r.Err, "\n")
	what := "as it was measured again twice, it is left out"
	if again {
		what = "its block is measured again"
	}
	return fmt.Sprintf("trial %d: %s: %s", r.Trial.N, strings.TrimPrefix(why, "the trial is void: "), what)
}

// leftOut says what cannot be shown, and why.
func leftOut(d *compare.Doubt) string {
	switch {
	case d.Kind == dyno.WarnAttribution && d.Err == nil:
		return fmt.Sprintf("trial %d: no request was seen in its execution trace (consider: dyno report %s --serves FUNCTION, if the service does not use net/http)", d.Trial, d.Said[0])
	case d.Kind == dyno.WarnAttribution:
		return fmt.Sprintf("trial %d: the time of requests is not attributed: %v", d.Trial, d.Err)
	case d.Kind == dyno.WarnTail && d.Err == nil:
		return fmt.Sprintf("the tail is left out: %d requests would have to be read (consider: --max-requests-kept)", d.N)
	case d.Kind == dyno.WarnTail:
		return fmt.Sprintf("the tail of trial %d is left out: %v", d.Trial, d.Err)
	case d.Kind == dyno.WarnGrowth:
		return fmt.Sprintf("part of what grew in trial %d is left out: %v", d.Trial, d.Err)
	case d.Kind == dyno.WarnSteady:
		return fmt.Sprintf("the steadiness of response times in trial %d is left out: %v", d.Trial, d.Err)
	case d.Trial != 0: // of the picture over time, as what follows
		return fmt.Sprintf("part of trial %d is not shown: %v", d.Trial, d.Err)
	case d.Err != nil:
		return d.Err.Error()
	case d.Of != 0:
		return fmt.Sprintf("pictures over time show the first %d of %d blocks", d.N, d.Of)
	}
	return "slices of one process have no picture over time"
}

// NotCompared says why a metric that was measured has no verdict; "" of no reason.
func NotCompared(r compare.Reason) string {
	switch {
	case r.Kind == "":
		return ""
	case r.Kind == compare.ReasonUnsettled:
		return "not compared: memory still grew when the load ended, and the settings answered different numbers of requests (consider: a longer -d, or a rate, -r)"
	case r.Trial != 0:
		return fmt.Sprintf("not compared: trial %d has no value, because requests that timed out or were never sent rank as the slowest", r.Trial)
	}
	return "not compared: " + r.Said
}

func saturatedDoubt(d *compare.Doubt) string {
	const most = 10 // trials that are named
	var names []string
	for _, n := range d.Trials[:min(len(d.Trials), most)] {
		names = append(names, strconv.Itoa(n))
	}
	if more := len(d.Trials) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	trials, their, what, figures := "trial", "its", "response times are", ""
	if len(d.Trials) > 1 {
		trials, their = "trials", "their"
	}
	if d.Closed {
		what = "response times and req/s are"
	}
	if d.Trial != 0 {
		figures = fmt.Sprintf("; figures of trial %d", d.Trial)
	}
	return fmt.Sprintf("dyno may itself have been the limit in %s %s (%s%s): %s %s not compared (consider: %s)",
		trials, strings.Join(names, ", "), d.Said[0], figures, their, what, SaturationCure)
}
