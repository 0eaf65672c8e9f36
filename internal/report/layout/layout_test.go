package layout

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/hist"
)

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		grid        Grid
		color       bool
		text, table string
	}{
		{grid: Grid{
			Cols: []Column{{Left: true}, {}, {Keep: 1}, {Left: true}},
			Head: [][]string{{"", "ms", "gone", "verdict"}},
			Rows: []Row{{Cells: Cells("a", "1.5", "", "")}, {Group: "b\x1b"}, {Cells: Cells("long", "12 ", "", "same")}},
		},
			text:  "       ms  verdict\na     1.5\nb·\nlong  12   same\n",
			table: "|  | ms | verdict |\n|:---|---:|:---|\n| a | 1.5 |  |\n| b· |  |  |\n| long | 12 | same |\n",
		},
		{
			grid: Grid{Cols: []Column{{}, {Left: true}, {}}, Rows: []Row{{Cells: []Cell{{"1", Good}, {"x ", Bad}, {"", Faint}}}, {Cells: Cells("22", "", "3")}}},
			text: " \x1b[32m1\x1b[0m  \x1b[31mx\x1b[0m\n22      3\n", color: true,
			table: "",
		},
	} {
		var text, table strings.Builder
		c.grid.Text(&text, c.color)
		if text.String() != c.text {
			t.Errorf("got %q, want %q", text.String(), c.text)
		}
		if c.grid.Markdown(&table); c.table != "" && table.String() != c.table {
			t.Errorf("got %q, want %q", table.String(), c.table)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		metric string
		x      []float64
		want   string
	}{
		{"p99-sec", []float64{0.0015}, "1.500 ms"},
		{"p99-sec", []float64{0.015, 2}, "2.000 s"},
		{"p99-sec", []float64{0.0999, 0.15}, "150.00 ms"},
		{"p99-sec", []float64{1234}, "1234 s"},
		{"rss-peak-B", []float64{10, 1024}, "1.000 KiB"},
		{"rss-peak-B", []float64{10}, "10 B"},
		{"requests", []float64{12}, "12"},
		{"requests", []float64{1.25}, "1.2"},
		{"failed-frac", []float64{0.125}, "12.50 %"},
		{"p99-sec", []float64{0}, "0 ns"},
		{"p99-sec", []float64{math.NaN()}, "? ns"},
		{"pkg.Name sec/op", []float64{1e-6}, "1.000 µs"},
	} {
		if got := ScaleOf(c.metric, c.x...).With(c.x[len(c.x)-1]); got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.metric, c.x, got, c.want)
		}
	}
}

func TestEscapeMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"a_b|c": `a\_b\|c`, "#12 @me": "#&#8203;12 @&#8203;me", "&#8203;": "&amp;#&#8203;8203;", "# a ##1#": "# a ##&#8203;1#",
		"a\x1b\u202e\r\nb": "a·· b", "<b>": "&lt;b>",
	} {
		if got := EscapeMarkdown(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestBins(t *testing.T) {
	for _, c := range []struct {
		ms   []float64
		want string
	}{
		{[]float64{10, 10, 11, 14}, "10.00 ms 10.05 ms 10.95 ms 11.00 ms 14.00 ms 14.05 ms"},
		{[]float64{1, 1, 1, 900}, "1.00 ms"},
	} {
		h := hist.New()
		for _, x := range c.ms {
			h.Add(time.Duration(x * 1e6))
		}
		bins := BinsOf(h)
		got := strings.Join(EdgeLabels(bins), " ")
		if !strings.HasPrefix(got, c.want) || len(bins) > MostBins {
			t.Errorf("%v: got %s, want %s", c.ms, got, c.want)
		}
		sum := int64(0)
		for _, b := range bins {
			sum += b.Count
		}
		if sum != int64(len(c.ms)) {
			t.Errorf("%v: %d requests in the bins", c.ms, sum)
		}
	}
}
