package prediction

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/plot"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
)

// Lines of the picture in characters.
const (
	leastPicture = 7
	mostPicture  = 14
	fullPicture  = 20
)

// Text writes a forecast for a terminal: what was measured, the table, a picture and notes. Without
// o.Full it fits a screen: it has no picture where there is no room, and then fewer settings. The error
// is w's.
func Text(w io.Writer, f *predict.Forecast, o layout.Options) error {
	a := said(f, f, true)
	for n := 1; !o.Full && !a.Fits(o) && n <= len(spare)+1; n++ {
		shown, spared := without(f, spare[:min(n, len(spare))])
		if n > len(spare) {
			spared = append(spared, "the measured settings")
		}
		a = said(f, shown, n <= len(spare))
		a.Spared = spared
	}
	a.Parts = append(a.Parts, screen.Part{Draw: func(lines int) []string {
		most := mostPicture
		if o.Full {
			most = fullPicture
		}
		if lines = min(most, lines-1); lines < leastPicture { // what it shows takes a line
			return nil
		}
		return picture(f, min(o.Columns(), 100), lines)
	}})
	_, err := io.WriteString(w, a.Text(o))
	return err
}

// said is a forecast as people read it, with the rows that are shown of it.
func said(f, shown *predict.Forecast, measured bool) *screen.Answer {
	t := newTable(shown, measured)
	return &screen.Answer{
		Head: heading(f), Notes: append(t.footnotes(), notes(f)...), Last: last(f), Rest: " (consider: --full).", By: "predict",
		Parts: []screen.Part{{Section: &layout.Section{Grids: []layout.Grid{t.grid}}}},
	}
}

// spare are the values of GOGC that are left out first where there is no room; 0 stands for every second
// limit.
var spare = []float64{1600, 10, 75, 0, 150, 800, 25}

// without leaves out rows that were not measured. left names them.
func without(f *predict.Forecast, gogc []float64) (*predict.Forecast, []string) {
	shown, limits := *f, 0
	shown.Rows = nil
	var left []string
	for _, r := range f.Rows {
		out := slices.Contains(gogc, r.GOGC) && r.GOGC > 0
		if r.Limit > 0 {
			limits++
			out = slices.Contains(gogc, 0) && limits%2 == 0
		}
		if out && r.Measured == nil {
			left = append(left, predict.Name(r.Setting))
			continue
		}
		shown.Rows = append(shown.Rows, r)
	}
	return &shown, left
}

// memory is what a picture has on its horizontal axis: resident memory if that is known, else the heap.
func memory(f *predict.Forecast) (name string, of func(*predict.Row) gcmodel.Estimate, measured func(*predict.Window) float64) {
	for i := range f.Rows {
		if known(f.Rows[i].RSSPeak.Value) {
			return "RSS peak", func(r *predict.Row) gcmodel.Estimate { return r.RSSPeak }, func(w *predict.Window) float64 { return w.RSSPeak }
		}
	}
	return "heap peak", func(r *predict.Row) gcmodel.Estimate { return r.HeapPeak }, func(w *predict.Window) float64 { return w.HeapPeak }
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
	legend := "o GOGC  + limit"
	for i := range f.Rows {
		if w := f.Rows[i].Measured; w != nil && known(measured(w)) && known(w.GCCPU) {
			add(measured(w), w.GCCPU/w.Requests, '●', "")
			if !strings.Contains(legend, "●") {
				legend += "  ● measured"
			}
		}
	}
	lines := plot.Scatter(points, width, height, each("-B"), each("-sec"))
	if lines == nil {
		return nil
	}
	return append([]string{words.Upper(gcCPU(f)) + " (up), " + name + " (right): " + legend}, lines...)
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
