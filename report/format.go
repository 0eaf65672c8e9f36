package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/findings"
)

type writer func(w io.Writer, f *findings.Findings, o Options) error

// formats are the forms in which a run is reported.
var formats = []struct {
	name                string
	service, benchmarks writer // nil: it has no such form
}{
	{"text", serviceText, func(w io.Writer, f *findings.Findings, o Options) error { return BenchText(w, benchReport(f), o) }},
	{"json", func(w io.Writer, f *findings.Findings, _ Options) error { return JSON(w, f.Table) }, ofBenchmarks(BenchJSON)},
	{"markdown", ofTable(Markdown), ofBenchmarks(BenchMarkdown)},
	{"junit", junit, junit},
	{"csv", ofTable(CSV), nil},
	{"openmetrics", ofTable(OpenMetrics), nil},
	{"html", func(w io.Writer, f *findings.Findings, _ Options) error { return pageFile(w, f) }, benchPageFile},
	{"hgrm", func(w io.Writer, f *findings.Findings, _ Options) error { return HGRM(w, f.Results) }, nil},
}

// Formats are the names of the forms in which a run is reported, of a service or of
// benchmarks.
func Formats(kind compare.Kind) (names []string) {
	for _, f := range formats {
		if kind == compare.OfService && f.service != nil || kind == compare.OfBenchmarks && f.benchmarks != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// Write reports on a run in the form of that name, which is one of [Formats]. The
// error is w's, or that of the form.
func Write(w io.Writer, f *findings.Findings, format string, o Options) error {
	for _, form := range formats {
		write := form.service
		if f.Table.Kind == compare.OfBenchmarks {
			write = form.benchmarks
		}
		if form.name == format && write != nil {
			return write(w, f, o)
		}
	}
	return fmt.Errorf("unknown format %q (want one of %s)", format, strings.Join(Formats(f.Table.Kind), ", "))
}

func ofTable(write func(io.Writer, *compare.Table) error) writer {
	return func(w io.Writer, f *findings.Findings, _ Options) error { return write(w, f.Table) }
}

func ofBenchmarks(write func(io.Writer, *BenchReport) error) writer {
	return func(w io.Writer, f *findings.Findings, _ Options) error { return write(w, benchReport(f)) }
}

func junit(w io.Writer, f *findings.Findings, o Options) error { return JUnit(w, f.Table, o.Strict) }

func benchReport(f *findings.Findings) *BenchReport {
	return &BenchReport{Table: f.Table, Whys: f.Whys, Against: f.Against}
}

func benchPageFile(w io.Writer, f *findings.Findings, _ Options) error {
	return BenchHTML(w, &BenchPage{BenchReport: *benchReport(f), Origin: f.Origin(), Ran: f.Ran()})
}

// serviceText is a summary of the only trial of a load alone, else the table.
func serviceText(w io.Writer, f *findings.Findings, o Options) error {
	if f.Plan.Subject.Launched() || f.Table.Planned != 1 || len(f.Results) != 1 || !answered(f.Results[0]) {
		return Text(w, f.Table, o)
	}
	if err := Summary(w, f.Results[0], f.Table.About, o); err != nil {
		return err
	}
	return errors.Join(Hours(w, f.Table, o), Thresholds(w, f.Table, o))
}

// answered reports whether a trial came as far as to its first answer.
func answered(r *dyno.Result) bool { return r.Sent.Requests > 0 || len(r.Values) > 0 }
