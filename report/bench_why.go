package report

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno/analysis/benchstat"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/profiles"
)

// A BenchReport is all that is said of a run of benchmarks.
type BenchReport struct {
	Table   *compare.Table
	Whys    []profiles.BenchWhy // of benchmarks that changed, in the order of Table
	Against *benchstat.Tables   // the only setting against a file, which was not measured beside it; or nil
}

// BaselineTitle heads a comparison with a file; what has to be said of it comes after.
const BaselineTitle = "Against the baseline file"

// newReportView is the view of a whole report.
func newReportView(r *BenchReport, width int) *benchView {
	v := newBenchView(r.Table, width)
	v.against = r.Against != nil
	return v
}

// changed is what profiles of a change are of: a benchmark, its setting, and the words between and
// behind, or that two benchmarks differ.
func (v *benchView) changed(y *profiles.BenchWhy, between, behind string) string {
	if strings.HasSuffix(y.Benchmark, ".*") && len(y.Parts) > 0 {
		return v.labelOf(y.Setting) + " differs from " + v.labelOf(y.Parts[0].Diff.Base)
	}
	return y.Benchmark + between + v.labelOf(y.Setting) + behind
}

// profile is the table of one kind of profile, with the names of settings that the
// report has.
func (v *benchView) profile(p *profiles.BenchPart) *Profile {
	d := *p.Diff
	d.Base, d.Setting = v.labelOf(d.Base), v.labelOf(d.Setting)
	return &Profile{Diffs: []*profiles.Diff{&d}, Unproved: likely(p)}
}

// likely is said of a benchmark that surely changed where no function is proved to have:
// some function did, and one whose interval is far from 0 is no "no function".
func likely(p *profiles.BenchPart) string {
	if own := p.Diff.Rows[0].Own; own.Lo > 0 || own.Hi < 0 {
		return "The benchmark surely changed; that the first function did it is likely, not proved, by so few profiles."
	}
	return "The benchmark surely changed; which function did it, so few profiles cannot tell."
}

// why writes what one kind of profile tells. Writing to b never fails.
func (v *benchView) why(b *strings.Builder, p *profiles.BenchPart, o Options) {
	_ = ProfileText(b, v.profile(p), o)
	if len(p.List) > 0 {
		b.WriteByte('\n')
		_ = ProfileList(b, p.List, p.Metric, true, p.Sources)
	}
}

// whys writes what profiles tell, and what a baseline file does.
func (v *benchView) whys(b *strings.Builder, r *BenchReport, o Options) {
	for n := range r.Whys {
		y := &r.Whys[n]
		b.WriteString("\n" + fold(v.changed(y, " changed, ", ""), "why ", "  ", v.width))
		for i := range y.Parts {
			b.WriteByte('\n')
			v.why(b, &y.Parts[i], o)
		}
	}
	if r.Against != nil {
		b.WriteString("\n" + BaselineTitle + "\n\n")
		baseline(b, r.Against, o)
	}
}

// baseline writes the tables of a comparison with a file, and what they cannot tell.
func baseline(b *strings.Builder, t *benchstat.Tables, o Options) {
	_ = Benchstat(b, t, o)
	_ = BenchstatFoot(b, t, o)
	for i, n := range baselineDoubts(t) {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fold(n, "  ! ", "    ", o.width()))
	}
}

// baselineDoubts are what differs beside the benchmarks, such as the CPU, and lines that
// could not be read.
func baselineDoubts(t *benchstat.Tables) (out []string) {
	for _, n := range t.Notes[:min(len(t.Notes), mostItems)] {
		out = append(out, clean(n)+".")
	}
	if more := len(t.Notes) - mostItems; more > 0 {
		out = append(out, fmt.Sprintf("And %d more.", more))
	}
	return out
}

// excerpts are the same as texts of a page.
func (v *benchView) excerpts(r *BenchReport) (out []excerpt) {
	for n := range r.Whys {
		y := &r.Whys[n]
		for i := range y.Parts {
			var b strings.Builder
			v.why(&b, &y.Parts[i], Options{})
			out = append(out, excerpt{y.Parts[i].Diff.Kind + ": " + v.changed(y, ", ", " changed"), b.String()})
		}
	}
	if r.Against != nil {
		var b strings.Builder
		baseline(&b, r.Against, Options{})
		out = append(out, excerpt{BaselineTitle, b.String()})
	}
	return out
}

// whyPieces are the same as pieces of a comment, of the given rank.
func (v *benchView) whyPieces(r *BenchReport, rank int) (out []piece) {
	for n := range r.Whys {
		y := &r.Whys[n]
		var b strings.Builder
		for i := range y.Parts {
			_ = ProfileMarkdown(&b, v.profile(&y.Parts[i]))
		}
		out = append(out, folded(fmt.Sprintf("Why %s", v.changed(y, ", ", " changed")), b.String(), true, rank))
	}
	if r.Against == nil {
		return out
	}
	text := "\n**" + BaselineTitle + "**\n"
	for _, s := range append(BenchstatSentences(r.Against), baselineDoubts(r.Against)...) {
		text += "\n" + textLine(s) + "\n"
	}
	out = append(out, piece{"the baseline file", text, rank})
	for i := range r.Against.Tables {
		title, text := statMarkdown(&r.Against.Tables[i])
		out = append(out, piece{title + " against the baseline file", text, rank})
	}
	return out
}
