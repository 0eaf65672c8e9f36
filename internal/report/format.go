package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/report/words"
)

type writer func(w io.Writer, f *findings.Findings, o layout.Options) error

// formats are the forms in which a run is reported.
var formats = []struct {
	name    string
	service bool // only a service has it
	write   writer
}{
	{"text", false, textOf},
	{"json", false, func(w io.Writer, f *findings.Findings, _ layout.Options) error { return JSON(w, tables.ReportOf(f)) }},
	{"markdown", false, func(w io.Writer, f *findings.Findings, _ layout.Options) error {
		return Markdown(w, tables.ReportOf(f))
	}},
	{"junit", false, func(w io.Writer, f *findings.Findings, o layout.Options) error { return JUnit(w, f.Table, o.Strict) }},
	{"csv", false, func(w io.Writer, f *findings.Findings, _ layout.Options) error { return export.CSV(w, f.Table) }},
	{"openmetrics", false, func(w io.Writer, f *findings.Findings, _ layout.Options) error { return export.OpenMetrics(w, f.Table) }},
	{"html", false, func(w io.Writer, f *findings.Findings, _ layout.Options) error { return html.PageFile(w, f) }},
	{"hgrm", true, func(w io.Writer, f *findings.Findings, _ layout.Options) error { return export.HGRM(w, f.Results) }},
}

// Patch is the recommended setting as a patch of the plan's deployment; "" without a deployment or a
// recommendation.
func Patch(f *findings.Findings) string {
	s := &f.Plan.Subject
	best := advice.Recommended(f.Table)
	if s.Deployment == "" || best == nil {
		return ""
	}
	return tuned.Deployment(s.Deployment, cmp.Or(s.Container, s.Deployment), best, words.Advice(f.Table))
}

// Formats are the names of the forms in which a run is reported, of a service or of
// benchmarks.
func Formats(kind compare.Kind) (names []string) {
	for _, f := range formats {
		if kind == compare.OfService || !f.service {
			names = append(names, f.name)
		}
	}
	return names
}

// Write reports on a run in the form of that name, which is one of [Formats]. The
// error is w's, or that of the form.
func Write(w io.Writer, f *findings.Findings, format string, o layout.Options) error {
	for _, form := range formats {
		if form.name == format && (f.Table.Kind == compare.OfService || !form.service) {
			return form.write(w, f, o)
		}
	}
	return fmt.Errorf("unknown format %q (want one of %s)", format, strings.Join(Formats(f.Table.Kind), ", "))
}

// textOf is a summary of the only trial of a load alone, else the table.
func textOf(w io.Writer, f *findings.Findings, o layout.Options) error {
	if f.Table.Kind == compare.OfBenchmarks || f.Plan.Subject.Launched() || f.Table.Planned != 1 || len(f.Results) != 1 || !answered(f.Results[0]) {
		return Text(w, tables.ReportOf(f), o)
	}
	if err := Summary(w, f.Results[0], f.Table.About, o); err != nil {
		return err
	}
	return after(w, f.Table, o)
}

// answered reports whether a trial came as far as to its first answer.
func answered(r *dyno.Result) bool { return r.Sent.Requests > 0 || len(r.Values) > 0 }

// JSON writes a report, a log or a profile as JSON, indented. The error is w's.
func JSON(w io.Writer, v any) error { return answer.Write(w, v) }
