package prediction

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno/analysis/gcmodel"
	"github.com/dynolab/dyno/findings/predict"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/plot"
	"github.com/dynolab/dyno/report/words"
)

// screen is how many lines a text has, unless all is asked for.
const screen = 45

// Lines of the picture in characters.
const (
	leastPicture = 7
	mostPicture  = 14
	fullPicture  = 20
)

// Text writes a forecast for a terminal: what was measured, the table, a picture and notes. Without
// o.Full it fits a screen, and leaves out the picture where there is no room. The error is w's.
func Text(w io.Writer, f *predict.Forecast, o layout.Options) error {
	var b, below strings.Builder
	for i, line := range heading(f) {
		rest := ""
		if i == 0 {
			rest = "  "
		}
		b.WriteString(layout.Fold(line, "", rest, o.Columns()))
	}
	b.WriteByte('\n')
	t := newTable(f)
	t.grid.Text(&b, o.Color)
	for _, line := range append(t.footnotes(), notes(f)...) {
		rest := ""
		if letter, _, ok := strings.Cut(line, "  "); ok && len(letter) == 1 {
			below.WriteString(layout.Fold(line[3:], line[:3], "   ", o.Columns()))
			continue
		}
		below.WriteString(layout.Fold(line, "", rest, o.Columns()))
	}
	below.WriteString(layout.Fold(last(f), "", "", o.Columns()))
	room := fullPicture
	if !o.Full {
		used := strings.Count(b.String(), "\n") + strings.Count(below.String(), "\n")
		room = min(mostPicture, screen-used-3) // two empty lines, and what the picture shows
	}
	if room >= leastPicture {
		if lines := picture(f, min(o.Columns(), 100), room); lines != nil {
			b.WriteString("\n" + strings.Join(lines, "\n") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String()+"\n"+below.String())
	return err
}

// memory is what a picture has on its horizontal axis: resident memory if that is known, else the heap.
func memory(f *predict.Forecast) (name string, of func(*predict.Row) gcmodel.Estimate, measured func(*predict.Window) float64) {
	for i := range f.Rows {
		if known(f.Rows[i].RSSPeak.Value) {
			return "peak of resident memory", func(r *predict.Row) gcmodel.Estimate { return r.RSSPeak }, func(w *predict.Window) float64 { return w.RSSPeak }
		}
	}
	return "peak of the heap", func(r *predict.Row) gcmodel.Estimate { return r.HeapPeak }, func(w *predict.Window) float64 { return w.HeapPeak }
}

// gcCPU names the vertical axis of pictures.
func gcCPU(f *predict.Forecast) string { return "CPU time of collections per " + string(f.Per) }

// picture draws memory against the CPU time of collections, in characters.
func picture(f *predict.Forecast, width, height int) []string {
	name, of, measured := memory(f)
	var points []plot.Point
	add := func(x, y float64, sign rune, label string) {
		points = append(points, plot.Point{X: x, Y: y, Sign: sign, Label: label})
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		sign, label := 'o', predict.GOGC(r.Setting)
		if r.Limit > 0 {
			sign, label = '+', ""
		}
		add(of(r).Value, r.GCCPU.Value, sign, label)
	}
	legend := "o GOGC   + GOMEMLIMIT"
	for i := range f.Rows {
		if w := f.Rows[i].Measured; w != nil && known(measured(w)) && known(w.GCCPU) {
			add(measured(w), w.GCCPU/w.Requests, '●', "")
			if !strings.Contains(legend, "●") {
				legend += "   ● measured"
			}
		}
	}
	lines := plot.Scatter(points, width, height, each("-B"), each("-sec"))
	if lines == nil {
		return nil
	}
	return append([]string{words.Upper(gcCPU(f)) + " (up) against " + name + " (right):   " + legend}, lines...)
}

// each prints a value in the unit that suits it, with three digits.
func each(metric string) func(float64) string {
	return func(x float64) string {
		s := layout.ScaleOf(metric, x)
		s.Decimals = max(0, 2-int(math.Floor(math.Log10(x/s.Factor))))
		if s.Unit == "B" {
			s.Decimals = 0
		}
		return s.With(x)
	}
}
