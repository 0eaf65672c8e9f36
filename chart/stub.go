package chart

// Stubs until the figures are merged: the integrator deletes this file.

func Intervals(groups []Group, negligible float64) SVG { return stub("intervals") }
func Percentiles(lines []Line, y Format) SVG           { return stub("percentiles") }
func Histograms(hs []Histogram, x Format) SVG          { return stub("histograms") }
func Strip(rows []Row, x Format) SVG                   { return stub("strip") }
func Stacks(names []string, bars []Stack, x Format) SVG {
	return stub("stacks")
}
func Trend(l Line, marks []int, x, y Format) SVG { return stub("trend") }
func Spark(values []float64) SVG                 { return stub("spark") }

func stub(name string) SVG {
	return SVG(`<svg viewBox="0 0 400 40" role="img" aria-label="` + name + `"><title>` + name + `</title></svg>`)
}
