// Package certified writes what dyno certify found: a screen of text, and a page. Package certify decides, and its certificate is
// its own JSON; the sentences are package words'.
package certified

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
)

// A Report is a certificate with what surrounds it.
type Report struct{ *certify.Certificate }

// First is the certificate in a sentence.
func (r *Report) First() string { return r.Service + ": " + words.Cited(r.Certificate, nil) }

// Document is the certificate as JSON.
func (r *Report) Document() any { return r.Certificate }

// Text is what dyno certify prints.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

// HTML writes the certificate as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	a := r.said()
	a.Figure, a.Picture = "The share of runs that find a change of CPU time per request", r.figure()
	a.Shows = "Right is a larger change, up are more runs. The line is expected by the runs of equal settings; marks with intervals of 95% were found in runs with a planted change. Both axes are logarithmic."
	return a.HTML(w)
}

// said is the certificate as people read it.
func (r *Report) said() *screen.Answer {
	good, failed := r.Runs()
	head := fmt.Sprintf("Certificate of %s (%s) on %s of %s, kernel %s", r.Service, cmp.Or(findings.ShortCommits([]string{r.Of.Subject}), "unknown"),
		layout.Count(r.Of.CPUs, "CPU"), cmp.Or(r.Of.CPU, "unknown model"), cmp.Or(r.Of.Kernel, "unknown"))
	a := &screen.Answer{
		Head:  []string{head, fmt.Sprintf("%s %s", layout.Count(good+failed, "run"), words.RunLength(r.Certificate)), r.Load, r.How},
		About: words.Certified(r.Certificate), Notes: r.Notes, By: "certify " + r.Dyno,
	}
	if good > 0 {
		a.Parts = []screen.Part{{Section: r.changes(), Only: true}, {Section: r.limits(), Only: true}}
	}
	return a
}

// changes is a row for each change that was planted.
func (r *Report) changes() *layout.Section {
	g := layout.Grid{Cols: layout.Columns(6), Head: [][]string{{"planted", "runs", "found", "95% interval", "expected", "95% interval", "measured"}}}
	for _, s := range r.Shares() {
		cells := layout.Cells(words.Planted(s.Change), fmt.Sprint(s.Runs), fmt.Sprint(s.Found), between(s.Lo, s.Hi), "", "", "")
		if p, _, ok := r.Expected(s.Change); ok {
			cells[4].Text, cells[5].Text = whole(p.Share), between(p.Lo, p.Hi)
		}
		if !math.IsNaN(s.Ratio) {
			cells[6].Text = layout.Change(s.Ratio)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cells})
	}
	return &layout.Section{Title: "Changes that were planted", Grids: []layout.Grid{g}, Notes: []string{
		"found: runs that called the change worse; of no change, runs that called anything changed.",
		"measured: median of the metric that shows the change, against the service without it.",
	}}
}

// limits is a row for each primary metric.
func (r *Report) limits() *layout.Section {
	most := fmt.Sprintf("%.0f%% of runs find", 100*certify.Mostly)
	g := layout.Grid{Cols: layout.Columns(3), Head: [][]string{{"worse by", "half of runs find", most, "95% interval"}}}
	for _, l := range r.Limits() {
		half := "-"
		if !math.IsInf(l.Size, 0) {
			half = layout.Change(1 + l.Size)
		}
		cells := layout.Cells(words.Noun(l.Metric), half, "?", "")
		if curve, ok := r.Curve(l.Metric); ok {
			if size, lo, hi, ok := curve.Size(certify.Mostly); ok {
				cells[2].Text, cells[3].Text = layout.Change(1+size), layout.Interval(1+lo, 1+hi)
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cells})
	}
	return &layout.Section{Title: "What the runs can see", Grids: []layout.Grid{g}}
}

// figure is the curve of CPU time per request, with what was planted of it.
func (r *Report) figure() chart.SVG {
	curve, ok := r.Curve(certify.Shown(certify.CPU))
	if !ok {
		return ""
	}
	line, found := chart.Cloud{Name: "expected", Joined: true}, chart.Cloud{Name: "found"}
	const least, most, steps = 0.003, 0.3, 16
	for i := range steps + 1 {
		size := least * math.Pow(most/least, float64(i)/steps)
		line.Spots = append(line.Spots, chart.Spot{X: chart.At(size), Y: chart.At(curve.At(size, 0).Share)})
	}
	for _, s := range r.OfKind(certify.CPU) {
		_, size, ok := r.Expected(s.Change)
		if !ok {
			continue
		}
		share := float64(s.Found) / float64(s.Runs)
		found.Spots = append(found.Spots, chart.Spot{
			Tip: fmt.Sprintf("%s: found in %d of %d", words.Planted(s.Change), s.Found, s.Runs),
			X:   chart.At(size), Y: chart.Extent{Value: share, Lo: s.Lo, Hi: s.Hi},
		})
	}
	percent := layout.Axis(func(x float64) string { return fmt.Sprintf("%.3g%%", 100*x) })
	return chart.Scatter([]chart.Cloud{line, found}, "change of CPU time per request", "share of runs that find it", percent, percent)
}

func whole(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }

func between(lo, hi float64) string { return "[" + whole(lo) + ", " + whole(hi) + "]" }
