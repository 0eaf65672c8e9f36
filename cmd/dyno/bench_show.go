package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

// A benchFound is all that a report of benchmarks says, made from a run directory.
type benchFound struct {
	table   *analysis.BenchTable
	whys    []benchWhy
	against *analysis.BenchstatTables // nil without --baseline
	results []*dyno.Result
}

// findBench reads a run directory. Its bench.txt is written already.
func findBench(dir *store.Dir) (*benchFound, error) {
	f := &benchFound{results: dir.Results()}
	f.table = analysis.BenchOf(dir.Run.Plan, f.results)
	f.table.Notes = append(f.table.Notes, dir.Notes()...)
	var notes []string
	f.whys, notes = whys(dir, f.table, f.results)
	f.table.Notes = append(f.table.Notes, notes...)
	var err error
	if f.against, err = against(dir); err != nil {
		return nil, fmt.Errorf("compare with the baseline: %w", err)
	}
	return f, nil
}

// unmeasured is an error if nothing was measured, which is never a pass.
func (f *benchFound) unmeasured() error {
	if f.table.Blocks == 0 {
		return errors.New("no block was finished")
	}
	return nil
}

// finishBench writes the files that are made from results, and reports: also after an
// interrupt or an error, whatever was measured by then.
func finishBench(cmd *cobra.Command, dir *store.Dir, o *benchFlags, err error) error {
	err = errors.Join(err, dir.WriteFile("bench.txt", func(w io.Writer) error {
		h := dir.Run.Host
		fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"))
		return report.BenchFile(w, baselineFirst(dir.Run.Plan, dir.Results()))
	}))
	if o.cache != "" && err == nil {
		err = fillCache(o.cache, dir)
	}
	f, e := findBench(dir)
	if e != nil {
		return errors.Join(err, e)
	}
	err = errors.Join(err, concludeBench(dir, f), f.print(cmd, dir, &o.out), f.unmeasured())
	if o.out.steps {
		appendSummary(cmd.ErrOrStderr(), f.markdown)
	}
	if err != nil {
		return err
	}
	return f.gate(dir.Run.Plan, o.failWorse, o.out.strict)
}

// concludeBench writes the files of a run directory that are made from its results.
func concludeBench(dir *store.Dir, f *benchFound) error {
	err := dir.WriteFile(pageFile, func(w io.Writer) error { return f.html(w, dir) })
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w; what was measured is whole (consider: dyno report %s --format html > FILE, on another disk)", err, dir.Path)
	}
	return errors.Join(dir.WriteFile("summary.json", f.json), err)
}

// reportBench reports on a run directory of benchmarks again.
func reportBench(cmd *cobra.Command, dir *store.Dir, o *outFlags, thresholds []string, failWorse bool) error {
	if err := benchFormat(o); err != nil {
		return err
	}
	if err := o.check(cmd, dir.Run.Plan); err != nil {
		return err
	}
	if len(thresholds) > 0 {
		ths, err := parseThresholds(thresholds)
		if err != nil {
			return usagef("--threshold: %w", err)
		}
		dir.Run.Plan.Thresholds = ths
	}
	f, err := findBench(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.print(cmd, dir, o), f.unmeasured()); err != nil {
		return err
	}
	return f.gate(dir.Run.Plan, failWorse, o.strict)
}

// print writes the report to standard output.
func (f *benchFound) print(cmd *cobra.Command, dir *store.Dir, o *outFlags) error {
	w := cmd.OutOrStdout()
	switch o.format {
	case "json":
		return f.json(w)
	case "markdown":
		return f.markdown(w)
	case "html":
		return f.html(w, dir)
	case "junit":
		return report.BenchJUnit(w, f.table, o.strict)
	}
	width, color := terminal(w)
	look := report.Options{Width: width, Color: color}
	var table strings.Builder
	if err := report.BenchText(&table, f.table, look); err != nil {
		return err
	}
	if _, err := io.WriteString(w, f.plain(table.String())); err != nil {
		return err
	}
	for _, y := range f.whys {
		fmt.Fprintf(w, "\nwhy %s\n\n", f.changed(&y, " changed, ", ""))
		for i, part := range y.Parts {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if err := f.why(w, &part, look); err != nil {
				return err
			}
		}
	}
	if len(f.whys) > 0 {
		fmt.Fprintf(w, "\nMore: %s profile %s --bench '%s' --base '%s'\n", self(), dir.Path, f.whys[0].Benchmark, f.whys[0].Parts[0].Diff.Base)
	}
	if f.against != nil {
		fmt.Fprintf(w, "\n%s\n\n", apart)
		return errors.Join(report.Benchstat(w, f.against, look), report.BenchstatFoot(w, f.against, look))
	}
	return nil
}

// apart heads a comparison with a file; what has to be said of it comes after.
const apart = "Against the baseline file"

// plain is a text without the quotes of settings that are benchmarks, whose names say
// what they are; and it does not say that there is nothing to compare with where a
// baseline file is.
func (f *benchFound) plain(text string) string {
	if f.against != nil {
		text = strings.Replace(text, "and nothing to compare with", "compared with the baseline file below", 1)
	}
	for _, s := range f.table.Settings {
		if len(s) == 1 && s[0].Factor == dyno.BenchFactor {
			text = strings.ReplaceAll(text, s.String(), s[0].Value)
		}
	}
	return text
}

// changed is what a benchWhy is of: a benchmark, its setting, and the words between and
// behind, or that two benchmarks differ.
func (f *benchFound) changed(y *benchWhy, between, behind string) string {
	if strings.HasSuffix(y.Benchmark, ".*") {
		return f.plain(y.Setting) + " differs from " + f.plain(y.Parts[0].Diff.Base)
	}
	return y.Benchmark + between + f.plain(y.Setting) + behind
}

// why writes what one kind of profile tells.
func (f *benchFound) why(w io.Writer, p *benchPart, look report.Options) error {
	var b strings.Builder
	if err := p.text(&b, look); err != nil {
		return err
	}
	_, err := io.WriteString(w, f.plain(b.String()))
	return err
}

// text writes what one kind of profile tells.
func (p *benchPart) text(w io.Writer, look report.Options) error {
	var b strings.Builder
	if err := report.ProfileText(&b, &report.Profile{Diffs: []*analysis.ProfileDiff{p.Diff}}, look); err != nil {
		return err
	}
	if _, err := io.WriteString(w, noneSure.ReplaceAllString(b.String(), p.likely())); err != nil {
		return err
	}
	if len(p.List) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return report.ProfileList(w, p.List, p.Metric, true, p.Sources)
}

// noneSure is how a report of profiles says that no function is proved to have changed.
var noneSure = regexp.MustCompile(`No function is surely changed by[^.]*\.`)

// likely says the same of a benchmark that surely changed: then some function did, and
// one whose interval is far from 0 is no "no function".
func (p *benchPart) likely() string {
	if own := p.Diff.Rows[0].Own; own.Lo > 0 || own.Hi < 0 {
		return "The benchmark surely changed; that the first function did it is likely, not proved, by so few\nprofiles."
	}
	return "The benchmark surely changed; which function did it, so few profiles cannot tell."
}

// markdown writes the report for a pull request.
func (f *benchFound) markdown(to io.Writer) error {
	w := new(strings.Builder)
	if err := report.BenchMarkdown(w, f.table); err != nil {
		return err
	}
	for _, y := range f.whys {
		fmt.Fprintf(w, "\n<details><summary>Why %s</summary>\n", html.EscapeString(f.changed(&y, ", ", " changed")))
		for _, part := range y.Parts {
			var b strings.Builder
			if err := report.ProfileMarkdown(&b, &report.Profile{Diffs: []*analysis.ProfileDiff{part.Diff}}); err != nil {
				return err
			}
			w.WriteString(noneSure.ReplaceAllString(b.String(), strings.ReplaceAll(part.likely(), "\n", " ")))
		}
		fmt.Fprintln(w, "\n</details>")
	}
	if f.against != nil {
		fmt.Fprintf(w, "\n%s\n\n", apart)
		if err := report.BenchstatMarkdown(w, f.against); err != nil {
			return err
		}
	}
	_, err := io.WriteString(to, f.plain(w.String()))
	return err
}

// A whyJSON is a benchWhy for programs.
type whyJSON struct {
	Benchmark string                  `json:"benchmark"`
	Setting   string                  `json:"setting"`
	Profiles  []*analysis.ProfileDiff `json:"differences"`
}

// json writes the report for programs, which is summary.json: the table, and what
// profiles and the baseline file tell.
func (f *benchFound) json(w io.Writer) error {
	var b bytes.Buffer
	if err := report.BenchJSON(&b, f.table); err != nil {
		return err
	}
	var why []whyJSON
	for _, y := range f.whys {
		j := whyJSON{Benchmark: y.Benchmark, Setting: y.Setting}
		for _, part := range y.Parts {
			j.Profiles = append(j.Profiles, part.Diff)
		}
		why = append(why, j)
	}
	text := b.Bytes()
	for _, more := range []struct {
		key   string
		value any
		some  bool
	}{{"why", why, len(why) > 0}, {"baseline", f.against, f.against != nil}} {
		if !more.some {
			continue
		}
		value, err := json.MarshalIndent(more.value, "  ", "  ")
		if err != nil {
			return err
		}
		// So the table's own keys keep their order.
		text = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")))
		text = fmt.Appendf(text, ",\n  %q: %s\n}\n", more.key, value)
	}
	_, err := w.Write(text)
	return err
}

// html writes the report as one file.
func (f *benchFound) html(w io.Writer, dir *store.Dir) error {
	page := &report.BenchPage{Table: f.table, Origin: originOf(dir, f.results)}
	var ran []string
	for _, r := range f.results {
		if r.Subject != "" && !slices.Contains(ran, r.Subject) {
			ran = append(ran, r.Subject)
		}
	}
	page.Ran = commit.ReplaceAllString(strings.Join(ran, "; "), "$1")
	for _, y := range f.whys {
		for _, part := range y.Parts {
			var b strings.Builder
			if err := f.why(&b, &part, report.Options{}); err != nil {
				return err
			}
			page.Listings = append(page.Listings, report.Listing{Title: part.Diff.Kind + ": " + f.changed(&y, ", ", " changed"), Text: b.String()})
		}
	}
	if f.against != nil {
		var b strings.Builder
		if err := errors.Join(report.Benchstat(&b, f.against, report.Options{}), report.BenchstatFoot(&b, f.against, report.Options{})); err != nil {
			return err
		}
		page.Listings = append(page.Listings, report.Listing{Title: apart, Text: b.String()})
	}
	var b strings.Builder
	if err := report.BenchHTML(&b, page); err != nil {
		return err
	}
	_, err := io.WriteString(w, f.plain(b.String()))
	return err
}

// gate is the error of what is not as the user wants it: thresholds that do not hold,
// what is worse with --fail-worse, what is unclear with --strict.
func (f *benchFound) gate(e *dyno.Experiment, failWorse, strict bool) error {
	count := func(o analysis.Outcome) (n int, first string) {
		for _, j := range f.table.Thresholds {
			if j.Outcome != o {
				continue
			}
			if n++; n > 1 {
				continue
			}
			first = j.Threshold.String()
			if j.Name != "" {
				first = j.Package + "." + j.Name + ", " + first
			}
		}
		return n, first
	}
	failed, first := count(analysis.Failed)
	worse := f.table.Worse() + worseThan(f.against)
	broken := f.broken()
	unclear, doubt := count(analysis.Unclear)
	switch undecided := f.table.Undecided(); {
	case failed == 1:
		return &gateError{exitThreshold, "a threshold failed: " + first}
	case failed > 1:
		return &gateError{exitThreshold, fmt.Sprintf("%d thresholds failed, the first: %s", failed, first)}
	case failWorse && worse == 1:
		return &gateError{exitThreshold, "1 comparison is worse (--fail-worse)"}
	case failWorse && worse > 1:
		return &gateError{exitThreshold, fmt.Sprintf("%d comparisons are worse (--fail-worse)", worse)}
	case failWorse && broken != "":
		return &gateError{exitThreshold, broken + " fails, and not in the baseline (--fail-worse)"}
	case !strict:
	case unclear > 0:
		return &gateError{exitUnclear, fmt.Sprintf("%d thresholds are unclear, the first: %s (--strict)", unclear, doubt)}
	case len(e.Thresholds) == 0 && undecided > 0: // who has named limits wants these decided
		return &gateError{exitUnclear, fmt.Sprintf("%d comparisons are unclear (--strict)", undecided)}
	}
	return nil
}

// broken is the first benchmark that was measured in the baseline, and in another
// setting not at all, "" if there is none: a change that makes a benchmark panic is not
// better than one that makes it slow. Of what was left out on both sides nobody knows.
func (f *benchFound) broken() string {
	label := func(i int) string { return f.table.Settings[i].Label() + ": " }
	for _, r := range f.table.Rows {
		for i := 1; r.Err != "" && i < len(f.table.Settings); i++ {
			theirs := strings.HasPrefix(r.Err, label(i)) || strings.Contains(r.Err, "; "+label(i))
			if theirs && !strings.HasPrefix(r.Err, label(0)) && !strings.Contains(r.Err, label(i)+"skipped") {
				return nameOf(r.Package, r.Name)
			}
		}
	}
	return ""
}

// worseThan counts what is worse than in a baseline file, which may be nil.
func worseThan(t *analysis.BenchstatTables) (n int) {
	if t == nil {
		return 0
	}
	for _, table := range t.Tables {
		for _, row := range table.Rows {
			for _, c := range row.Cells {
				if c != nil && c.Versus != nil && c.Versus.Changed() && float64(table.Better)*(c.Versus.Ratio-1) < 0 {
					n++
				}
			}
		}
	}
	return n
}
