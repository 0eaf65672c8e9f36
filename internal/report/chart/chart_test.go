package chart

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var nan, inf = math.NaN(), math.Inf(1)

// hostile is what a subject or a plan may be called.
var hostile = []string{
	`<script>alert(1)</script>`, `</svg></div><img src=x onerror=alert(1)>`, `" onload="alert(1)`, `' style='x`, `&lt;&amp;]]>`,
	"a\x00b\x1b[31m\x7f\u0085c\ufffe\xff", "\u202egnp.exe\u2066x\u2069\u200f", strings.Repeat("GOGC=100 GOMEMLIMIT=1GiB ", 50),
	strings.Repeat("漢字", 100), "e" + strings.Repeat("\u0301", 500), "line\nbreak\u2028and", "NaN", "",
}

func format(x float64) string { return fmt.Sprintf("%.3g <ms>&\"", x) }

// odd are values that break arithmetic.
var odd = [][]float64{
	nil, {1}, {0}, {-1}, {nan}, {inf}, {-inf}, {3, 3, 3}, {0, 0}, {1e-12, 1e12}, {-1e12, 1e12, nan, 0}, {1e-300, 1e300}, {5e-324, math.MaxFloat64},
	{1, 1 + 1e-15}, {-5, -5}, {1e12, 1e12 + 1}, {inf, 1, nan, 2, -inf},
}

// pictures are all kinds of pictures of values, with names; n is how many of each.
func pictures(values []float64, name func(i int) string, n int) map[string]SVG {
	var rows []Interval
	var lines []Line
	var hs []Histogram
	var strips []Row
	var stacks []Stack
	var names []string
	at := func(i int) float64 {
		if len(values) == 0 {
			return nan
		}
		return values[i%len(values)]
	}
	for i := range n {
		rows = append(rows, Interval{Label: name(i), Ratio: at(i), Lo: at(i + 1), Hi: at(i + 2), Mark: []Mark{Plain, Plain, Better, Worse, Same, Unclear, Plain}[i%7], Better: i%3 - 1, Text: name(i + 1)})
		qs := []float64{0, 0.5, 0.9, 0.99, 0.999, 1, nan, 2, -1}
		ys := append(append([]float64(nil), values...), values...)
		lines = append(lines, Line{Name: name(i), X: qs, Y: ys}, Line{Name: name(i), X: values, Y: values})
		hs = append(hs, Histogram{name(i), values, values}, Histogram{name(i), []float64{0, 1, 2, 4}, values}, Histogram{Name: name(i)})
		strips = append(strips, Row{name(i), values, []string{name(i), name(i + 1)}, []bool{i%2 == 0}, at(i)})
		stacks = append(stacks, Stack{name(i), values, at(i)})
		names = append(names, name(i))
	}
	groups := []Group{{Title: name(0), Rows: rows}, {Rows: rows[:n/2]}, {Title: "empty"}}
	out := map[string]SVG{
		"spark": Spark(values), "trend": Trend(Line{Name: name(0), X: []float64{0, 1, 2, 3, 4}, Y: values}, []int{0, 1, -1, 99}, format, format),
		"trend2": Trend(Line{Name: name(1), X: values, Y: values, Scale: true, Titles: []string{name(2)}}, nil, format, format),
	}
	for _, x := range []float64{0.01, 0, nan, -1, 3, inf} {
		out[fmt.Sprint("intervals", x)] = Intervals(groups, x)
	}
	out["percentiles"] = Percentiles(lines, format)
	out["histograms"] = Histograms(hs, format)
	out["strip"] = Strip(strips, format)
	for len(names) < len(values) {
		names = append(names, name(len(names)))
	}
	out["stacks"] = Stacks(names, stacks, format)
	var spots []Spot
	for i := range len(values) {
		spots = append(spots, Spot{name(i), name(i + 1), Extent{at(i), at(i + 1), at(i + 2)}, Extent{at(i + 3), at(i + 2), at(i + 1)}})
	}
	out["scatter"] = Scatter([]Cloud{{name(0), spots, true}, {name(1), spots[:len(spots)/2], false}, {Name: "empty"}}, name(2), name(3), format, format)
	return out
}

// TestPictures: pictures of odd values, of many rows and with hostile names are well
// formed, hold nothing active and keep within themselves.
func TestPictures(t *testing.T) {
	for i, values := range odd {
		for kind, s := range pictures(values, func(i int) string { return fmt.Sprintf("GOGC=%d", i) }, 5) {
			check(t, fmt.Sprintf("%s of odd values %d", kind, i), s)
		}
	}
	some := []float64{0.5, 1.2, 3, 0.99, 1, 1.01}
	for kind, s := range pictures(some, func(i int) string { return hostile[i%len(hostile)] }, len(hostile)) {
		check(t, kind+" with hostile names", s)
	}
	for kind, s := range pictures(some, func(i int) string { return fmt.Sprintf("GOGC=%d", i) }, 300) {
		check(t, kind+" of 300", s)
	}
	for kind, s := range pictures(nil, func(i int) string { return "" }, 0) {
		check(t, kind+" of nothing", s)
	}
}

// A word is a text with the box that it needs.
type word struct {
	text                     string
	left, right, top, bottom float64
}

// attributes are those that a picture may have; harmless are their values.
var (
	attributes = map[string]bool{"class": true, "viewBox": true, "role": true, "aria-label": true, "focusable": true,
		"x": true, "y": true, "width": true, "height": true, "d": true}
	harmless = regexp.MustCompile(`^[\w. -]+$`)
)

var coordinate = regexp.MustCompile(`[ML](-?[\d.]+) (-?[\d.]+)`)

func check(t *testing.T, name string, s SVG) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(s)))
	var width, height, size float64
	var words []word
	var open []string
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v in %.2000s", name, err, s)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
			a := map[string]string{}
			for _, at := range e.Attr {
				a[at.Name.Local] = at.Value
				bad := !attributes[at.Name.Local] || at.Name.Local != "aria-label" && !harmless.MatchString(at.Value)
				if bad || strings.Contains(at.Value, "NaN") && at.Name.Local != "aria-label" || strings.Contains(at.Value, "Inf") {
					t.Errorf("%s: attribute %v", name, at)
				}
			}
			switch e.Name.Local {
			case "svg":
				words = nil
				fmt.Sscanf(a["viewBox"], "0 0 %g %g", &width, &height)
				size = map[string]float64{"wide": 13, "narrow": 12}[a["class"]]
				if a["role"] != "img" || a["aria-label"] == "" || a["focusable"] != "false" || height <= 0 {
					t.Errorf("%s: svg with %v", name, a)
				}
			case "text":
				x, _ := strconv.ParseFloat(a["x"], 64)
				y, _ := strconv.ParseFloat(a["y"], 64)
				words = append(words, word{text: " " + a["class"], left: x, top: y - 0.75*size, bottom: y + 0.2*size})
			case "rect":
				x, _ := strconv.ParseFloat(a["x"], 64)
				w, _ := strconv.ParseFloat(a["width"], 64)
				within(t, name, x, width)
				within(t, name, x+w, width)
			case "path":
				for _, m := range coordinate.FindAllStringSubmatch(a["d"], -1) {
					x, _ := strconv.ParseFloat(m[1], 64)
					y, _ := strconv.ParseFloat(m[2], 64)
					within(t, name, x, width)
					within(t, name, y, height)
				}
			case "div", "title":
			default:
				t.Errorf("%s: element %s", name, e.Name.Local)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			if e.Name.Local == "svg" {
				apartFrom(t, name, words, width, height)
			}
		case xml.CharData:
			for _, r := range string(e) {
				if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
					t.Errorf("%s: a control character in %q", name, e)
				}
			}
			if open[len(open)-1] == "text" {
				words[len(words)-1].say(string(e), size)
			}
		}
	}
}

func within(t *testing.T, name string, x, far float64) {
	t.Helper()
	if x < -1 || x > far+1 {
		t.Errorf("%s: a coordinate of %v on a sheet of %v", name, x, far)
	}
}

// say sets the text and the box by the class, which is in text until then.
func (w *word) say(text string, size float64) {
	wide := textWidth(text, size)
	switch {
	case strings.Contains(w.text, " end"):
		w.left -= wide
	case strings.Contains(w.text, " mid"):
		w.left -= wide / 2
	}
	w.text, w.right = text, w.left+wide
}

// apartFrom: no text leaves the sheet or runs into another one.
func apartFrom(t *testing.T, name string, words []word, width, height float64) {
	t.Helper()
	for i, a := range words {
		if a.left < -1 || a.right > width+1 || a.top < -1 || a.bottom > height+1 {
			t.Errorf("%s: %+v leaves the sheet of %v × %v", name, a, width, height)
		}
		for _, b := range words[:i] {
			if a.left+1 < b.right && b.left+1 < a.right && a.top+1 < b.bottom && b.top+1 < a.bottom {
				t.Errorf("%s: %+v over %+v", name, a, b)
			}
		}
	}
}

// TestGolden: what pictures look like, for a reader of changes to this package; an
// <svg> of them opens in a browser beside report/html/page/chart.css.
func TestGolden(t *testing.T) {
	one := func(r, lo, hi float64, m Mark, better int, label, text string) Interval {
		return Interval{label, r, lo, hi, m, better, text}
	}
	golden(t, "intervals.svg", Intervals([]Group{{"GOGC=0 against GOGC=100", []Interval{
		one(2.618, 1.952, 3.51, Worse, -1, "p99", "+161.8% [+95.2%, +251.0%] worse"),
		one(0.687, 0.667, 0.708, Better, -1, "rss-peak", "-31.3% [-33.3%, -29.2%] better"),
		one(1.045, 0.979, 1.115, Unclear, -1, "p50", "+4.5% [-2.1%, +11.5%] unclear"),
		one(1.001, 0.995, 1.006, Same, -1, "alloc/req", "+0.1% [-0.5%, +0.6%] same"),
		one(40, 12, 80, Worse, -1, "gc-cycles", "×40.0 [×12.0, ×80.0] worse"),
		one(nan, nan, nan, Unclear, 0, "failures", "from 0"),
	}}}, 0.01))
	golden(t, "stacks.svg", Stacks([]string{"live heap", "program file", "not resident"}, []Stack{
		{"GOGC=100", []float64{12 << 20, 7 << 20, 3 << 20}, 16 << 20}, {"GOGC=0", []float64{8 << 20, 7 << 20, 0}, nan}}, mib))
	golden(t, "scatter.svg", Scatter([]Cloud{
		{"GOGC", []Spot{
			{"50", "GOGC=50", Extent{80 << 20, 75 << 20, 90 << 20}, Extent{50, 40, 60}}, {"100", "GOGC=100", Extent{110 << 20, nan, nan}, Extent{22, nan, nan}},
			{"off", "GOGC=off", Extent{nan, nan, nan}, Extent{0, 0, 0}}}, true},
		{"measured", []Spot{{"", "GOGC=100, measured", Extent{Value: 112 << 20}, Extent{Value: 21}}}, false},
	}, "RSS peak", "GC CPU", mib, plain))
	golden(t, "timelines.svg", Timelines([]string{"running", "asleep", "waiting for a lock"}, []Story{
		{"slow-1-1", "slow: 5 ms", []Lane{
			{"the request", []Span{{0, 1, 0, "", "1, running"}, {1, 5, 2, "get cache.go:41", "4, waiting for a lock"}}},
			{"compact", []Span{{1, 5, 0, "compact cache.go:77", "4, running"}}},
		}, []Hand{{5, 1, 0}}},
		{"", "typical: 1 ms", []Lane{{"the request", []Span{{0, 1, 0, "", "1, running"}}}}, nil},
	}, plain))
	golden(t, "trend.svg", Trend(Line{Name: "p99", X: []float64{1, 2, 3, 4, 5}, Y: []float64{2, 2.1, nan, 3, 3.1}}, []int{3}, plain, plain))
}

func golden(t *testing.T, name string, got SVG) {
	t.Helper()
	file := filepath.Join("testdata", name)
	text := strings.ReplaceAll(string(got), "><", ">\n<") + "\n"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs (go test ./chart -update rewrites it); got:\n%s", file, text)
	}
}

func TestHeat(t *testing.T) {
	golden(t, "heat.svg", Heat(Map{
		Columns: []string{"trial 3", "", "trial 4", ""}, Rows: []string{"64.0 µs", "", "", "", "256 µs"},
		Cells: []Cell{{0, 0, 900, "900 requests", ""}, {1, 1, 40, "40 requests", ""}, {2, 0, 700, "700 requests", ""}, {3, 4, 1, "one <request>", "slow-1-1"}},
	}))
}
