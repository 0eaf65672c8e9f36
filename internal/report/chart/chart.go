// Package chart draws figures as SVG, from numbers alone: intervals, percentiles,
// histograms, strips of trials, stacks, trends.
//
// It owns geometry, ticks and marks. It does not own what is drawn, in which
// unit a number is printed, or what a verdict means: labels and texts come
// finished from the caller, who also escapes nothing, as everything is escaped here.
//
// An SVG has no style attribute, no script and no colour of its own: elements
// have the classes that the style sheet of package html knows (report/html/page/chart.css),
// so that light, dark and print are decided there. A picture holds two drawings, of
// which the style sheet shows the one that can be read in the width it has; both
// have a role and a short label, but the numbers belong into a table beside them.
package chart

import "html/template"

// SVG is an escaped picture: a <div> of class chart and the kind of picture, with an <svg> of
// class wide and one of class narrow. A Spark is a single <svg> for a line of text.
type SVG = template.HTML

// A Mark is the class of what it marks. It has a form of its own, so that colour is not
// needed to tell marks apart.
type Mark string

const (
	Plain   Mark = "plain"   // a filled rhombus: nothing is said
	Better  Mark = "better"  // a filled triangle that points to the better side
	Worse   Mark = "worse"   // the same, to the worse side
	Same    Mark = "same"    // a filled circle
	Unclear Mark = "unclear" // an open circle
)

// A Format prints a number with its unit.
type Format func(x float64) string

// An Interval is a ratio with its interval; NaN is unknown.
type Interval struct {
	Label         string // of the row, such as "p99 latency"
	Ratio, Lo, Hi float64
	Mark          Mark
	Better        int    // which side is better: +1 right, -1 left, 0 neither
	Text          string // beside it, such as "-21.4% [-26.0, -15.9] better"
}

// A Group is rows under a heading.
type Group struct {
	Title string
	Rows  []Interval
}

// A Line goes through points, in order of X. NaN is not drawn.
type Line struct {
	Name  string
	X, Y  []float64
	Scale bool // of Trend: X is a quantity, whose axis has round numbers; else the X of points are printed, such as dates

	Titles []string // of the points of Trend; none: their X and Y
}

// A Histogram has Counts[i] between Edges[i] and Edges[i+1].
type Histogram struct {
	Name   string
	Edges  []float64
	Counts []float64
}

// A Row is the values of one setting in a strip plot, one a trial.
type Row struct {
	Name   string
	Values []float64
	Tips   []string // of each value: which trial it is, and its warnings
	Odd    []bool   // those that are to be looked at
	Center float64  // the median; NaN draws none
}

// A Stack is a bar of parts, no more than there are names. A part below 0 is not drawn.
type Stack struct {
	Name  string
	Parts []float64
	Mark  float64 // a line across it, such as what the kernel counts; NaN draws none
}
