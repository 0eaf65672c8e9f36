package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/benchtable"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/profile"
)

// BaselineTitle heads a comparison with a file; what has to be said of it comes after.
const BaselineTitle = "Against the baseline file"

// An excerpt is text in columns, such as the lines of a function with what each costs.
type Excerpt struct{ Title, Text string }

// Changed says what a profile of a change is about: a benchmark and its setting, with the words between and
// behind, or that two benchmarks differ.
func (v *View) Changed(y *profiles.BenchWhy, between, behind string) string {
	if strings.HasSuffix(y.Benchmark, ".*") && len(y.Parts) > 0 {
		return v.labelOf(y.Setting) + " differs from " + v.labelOf(y.Parts[0].Diff.Base)
	}
	name := y.Benchmark
	if i := slices.IndexFunc(v.Benchmarks, func(b *compare.Benchmark) bool { return b.Full() == name }); i >= 0 {
		name = v.Called(v.Benchmarks[i])
	}
	return name + between + v.labelOf(y.Setting) + behind
}

// Profile is the table of one kind of profile, with the names of settings that the
// report has.
func (v *View) Profile(p *profiles.BenchPart) *profile.Profile {
	d := *p.Diff
	d.Base, d.Setting = v.labelOf(d.Base), v.labelOf(d.Setting)
	return &profile.Profile{Diffs: []*profiles.Diff{&d}, Unproved: likely(p)}
}

// likely is said of a benchmark that surely changed where no function is proved to have:
// some function did, and one whose interval is far from 0 is no "no function".
func likely(p *profiles.BenchPart) string {
	if own := p.Diff.Rows[0].Own; own.Lo > 0 || own.Hi < 0 {
		return "The benchmark surely changed; with so few profiles, the first function is a likely cause, not a proved one."
	}
	return "The benchmark surely changed; so few profiles cannot show which function caused it."
}

// baseline writes the tables of a comparison with a file, and what they cannot tell.
func baseline(b *strings.Builder, t *benchstat.Tables, o layout.Options) {
	_ = benchtable.Text(b, t, o)
	_ = benchtable.Foot(b, t, o)
	for i, n := range BaselineDoubts(t) {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(layout.Fold(n, "  ! ", "    ", o.Columns()))
	}
}

// BaselineDoubts lists differences beside the benchmarks, such as the CPU, and lines that could not be read.
func BaselineDoubts(t *benchstat.Tables) (out []string) {
	for _, n := range t.Notes[:min(len(t.Notes), layout.MostItems)] {
		out = append(out, layout.Clean(n)+".")
	}
	if more := len(t.Notes) - layout.MostItems; more > 0 {
		out = append(out, fmt.Sprintf("And %d more.", more))
	}
	return out
}

// Excerpts returns the findings of profiles and of the baseline file as text.
func (v *View) Excerpts(r *Report, o layout.Options) (out []Excerpt) {
	for n := range r.Whys {
		y := &r.Whys[n]
		var parts []string
		for i := range y.Parts {
			var b strings.Builder // of which writing never fails
			p := &y.Parts[i]
			_ = profile.Text(&b, v.Profile(p), o)
			if len(p.List) > 0 {
				b.WriteByte('\n')
				_ = profile.List(&b, p.List, p.Metric, true, p.Sources)
			}
			parts = append(parts, b.String())
		}
		out = append(out, Excerpt{"why " + v.Changed(y, " changed, ", ""), strings.Join(parts, "\n")})
	}
	if r.Against != nil {
		var b strings.Builder
		baseline(&b, r.Against, o)
		out = append(out, Excerpt{BaselineTitle, b.String()})
	}
	return out
}
