package main

import (
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// printTable writes lines of cells aligned, the first left of them to the left and the others to the
// right. The first line is the head.
func printTable(w io.Writer, left int, lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			format := "  %*s"
			if i < left {
				format = "  %-*s"
			}
			if i < left && i == len(line)-1 {
				text += "  " + cell // no space at the end of a line
				continue
			}
			text += fmt.Sprintf(format, widths[i], cell)
		}
		fmt.Fprintln(w, text)
	}
}

// percent is a ratio as a change.
func percent(ratio float64) string { return number("%+.1f %%", (ratio-1)*100) }

// between is an interval of ratios as changes.
func between(lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return "-"
	}
	if hi > 100 {
		return "unknown" // by factors of a hundred
	}
	return fmt.Sprintf("[%+.1f, %+.1f]", (lo-1)*100, (hi-1)*100)
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
