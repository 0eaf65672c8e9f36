package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
)

// StripRows is the number of rows of latency in a strip.
const StripRows = 16

const stripLabel = 12 // characters before the strip

// StripColumns is how many columns of time a strip has.
func StripColumns(o layout.Options) int { return o.Columns() - stripLabel }

// Strip draws latency over time, a column for each stretch of the window, and the share of
// collections below it. about is the line above. The error is w's.
func Strip(w io.Writer, h *timeline.Heat, about string, o layout.Options) error {
	var b strings.Builder
	b.WriteString(layout.Fold(about, "", "  ", o.Columns()))
	most := slices.Max(h.Counts)
	b.WriteByte('\n')
	for row := h.Rows - 1; row >= 0; row-- {
		line := fmt.Sprintf("%10s │", layout.Duration(h.Edge(row)))
		for column := range h.Columns {
			line += density(h.Count(row, column), most)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	gc, stw := fmt.Sprintf("%10s │", "collecting"), fmt.Sprintf("%10s │", "stopped")
	for i, x := range h.Collecting {
		gc += part(x)
		if h.Stops[i] > 0 {
			stw += "|"
		} else {
			stw += " "
		}
	}
	columns := len(h.Collecting)
	b.WriteString(strings.Repeat(" ", stripLabel-1) + "└" + strings.Repeat("─", columns) + "\n")
	b.WriteString(strings.TrimRight(gc, " ") + "\n" + strings.TrimRight(stw, " ") + "\n")
	from, to := fmt.Sprintf("%.3f s", h.From.Seconds()), fmt.Sprintf("%.3f s", h.To.Seconds())
	space := max(1, columns-utf8.RuneCountInString(from+to))
	b.WriteString(strings.Repeat(" ", stripLabel) + from + strings.Repeat(" ", space) + to + "\n\n")
	b.WriteString(layout.Fold(fmt.Sprintf(
		"Each row begins at the latency beside it. Requests in a cell when they were due: · 1 ░ ▒ ▓ █ up to %d, each step the same factor. Collecting: more than 0 ░, 25 ▒, 50 ▓, 75%% █ of the time. Stopped: | a stop-the-world.", most), "", "", o.Columns()))
	_, err := io.WriteString(w, b.String())
	return err
}

// density uses four steps of the logarithm above 1.
func density(n, most uint32) string {
	switch {
	case n == 0:
		return " "
	case n == 1:
		return "·"
	}
	return shade(math.Log(float64(n)) / math.Log(float64(most)))
}

func part(x float64) string {
	if x <= 0 {
		return " "
	}
	return shade(x)
}

func shade(x float64) string {
	return [...]string{"░", "▒", "▓", "█"}[max(0, min(int(x*4), 3))]
}
