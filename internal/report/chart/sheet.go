package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// A sheet is one drawing of a picture: wide, or narrow for a telephone. Its unit is about a pixel.
type sheet struct {
	strings.Builder
	narrow bool
	width  float64
	height float64 // set by who draws
	size   float64 // of text; the style sheet has the same numbers
	names  float64 // width of the column of names of rows, which a narrow sheet has not
}

func (s *sheet) line() float64 { return math.Round(s.size * 1.4) }

// draw makes both drawings of a picture. label describes it for those who do not see it.
//
// Note: no <title>, which browsers would show as a tip over the tips of the parts.
func draw(kind, label string, by func(s *sheet)) SVG {
	var b strings.Builder
	b.WriteString(`<div class="chart ` + kind + `">`)
	for _, s := range []*sheet{{width: 880, size: 13}, {width: 360, size: 12, narrow: true}} {
		by(s)
		class := "wide"
		if s.narrow {
			class = "narrow"
		}
		b.WriteString(open(class, s.width, s.height, label) + s.String() + "</svg>")
	}
	b.WriteString("</div>")
	return SVG(b.String())
}

func open(class string, width, height float64, label string) string {
	return `<svg class="` + class + `" viewBox="0 0 ` + num(width) + ` ` + num(height) +
		`" role="img" aria-label="` + escape(label) + `" focusable="false">`
}

func nothing(kind string) SVG {
	return draw(kind, "no values", func(s *sheet) {
		s.height = 2 * s.line()
		s.text(0, 1.3*s.line(), "faint", "no values", s.width)
	})
}

// num prints a coordinate. Browsers cannot draw NaN or very large numbers, so those are replaced.
func num(x float64) string {
	if math.IsNaN(x) {
		x = 0
	}
	x = math.Round(max(-1e6, min(x, 1e6))*10) / 10
	if x == 0 {
		x = 0 // and not -0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// clean replaces control characters and characters that change the direction of writing.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xFFFE, r == 0xFFFF, r == unicode.ReplacementChar,
			r == 0x2028, r == 0x2029:
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "·"))
}

func escape(s string) string { return html.EscapeString(clean(s)) }

func title(s string) string {
	if s == "" {
		return ""
	}
	return "<title>" + escape(s) + "</title>"
}

// el writes an element; within is already escaped.
func (s *sheet) el(name, class, attributes, within string) {
	s.WriteString("<" + name + ` class="` + class + `" ` + attributes)
	if within == "" {
		s.WriteString("/>")
		return
	}
	s.WriteString(">" + within + "</" + name + ">")
}

func (s *sheet) rule(class string, x1, y1, x2, y2 float64) {
	s.path(class, through(x1, y1, x2, y2), "")
}

// through is a path through points, each x and y.
func through(at ...float64) string {
	d := ""
	for n := 0; n < len(at); n += 2 {
		d += "L" + num(at[n]) + " " + num(at[n+1])
	}
	return "M" + d[1:]
}

func polyline(pts [][2]float64) string {
	var at []float64
	for _, p := range pts {
		at = append(at, p[:]...)
	}
	if len(pts) == 1 {
		return through(at...) + "Z"
	}
	return through(at...)
}

func (s *sheet) path(class, d, tip string) { s.el("path", class, `d="`+d+`"`, title(tip)) }

func (s *sheet) rect(class string, x1, y1, x2, y2 float64, tip string) {
	s.el("rect", class, fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"`, num(x1), num(y1), num(x2-x1), num(y2-y1)), title(tip))
}

// text writes a line with its base line at y. Class mid or end makes x its middle or end.
// Text wider than room is cut, and the tip shows it whole.
func (s *sheet) text(x, y float64, class, text string, room float64) {
	if text = clean(text); text == "" {
		return
	}
	short := cut(text, room, s.size)
	within := html.EscapeString(short)
	if short != text {
		within += title(text)
	}
	s.el("text", class, `x="`+num(x)+`" y="`+num(y)+`"`, within)
}

// tickLabels keeps all labels within the sheet and leaves out those that would overlap.
func (s *sheet) tickLabels(ts []Tick, a axis, y float64) {
	free := math.Inf(-1)
	for _, t := range ts {
		x, w := a.at(t.Value), textWidth(clean(t.Label), s.size)
		left := max(0, min(x-w/2, s.width-w))
		if left < free {
			continue
		}
		free = left + w + s.size/2
		class := "tick mid"
		switch {
		case left == 0:
			class, x = "tick", 0
		case left < x-w/2:
			class, x = "tick end", s.width
		}
		s.text(x, y, class, t.Label, s.width)
	}
}

func (s *sheet) middle(y float64) float64 { return y + 0.35*s.size }

// textWidth is the width in the widest of the common fonts, as the browser is unknown here.
func textWidth(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune(" .,:;|!'`()[]fijlrtI-/", r):
			em += 0.4
		case r == 'm', r == 'w', r == 'M', r == 'W', r == '%', r == '@', r == '…':
			em += 0.96
		case r >= 'A' && r <= 'Z', r == '+', r == '=', r == '<', r == '>', r == '±', r == '×', r == '→', r == '~':
			em += 0.77
		case r < 0x500:
			em += 0.63
		case unicode.Is(unicode.Mn, r):
			em += 0.3 // they pile up
		default:
			em += 1.1
		}
	}
	return em * size
}

func widest[T any](size float64, of []T, text func(T) string) float64 {
	w := 0.0
	for _, x := range of {
		w = max(w, textWidth(clean(text(x)), size))
	}
	return w
}

const mostLabel = 230

// names makes room for a column of the names of rows, if the sheet is wide.
func names[T any](s *sheet, rows []T, name func(T) string) {
	if !s.narrow {
		s.names = min(widest(s.size, rows, name), mostLabel)
	}
}

// name writes the name of a row: above it if narrow, else with its middle at mid.
func (s *sheet) name(name string, top, mid float64) {
	if s.narrow {
		s.text(0, top+s.size, "label", name, s.width)
		return
	}
	s.text(0, s.middle(mid), "label", name, s.names)
}

// plot draws rows between the lines of a horizontal axis, from the top to bottom, and its labels.
func (s *sheet) plot(a axis, x Format, bottom float64, rows func()) {
	ts := a.ticks(x, a.across(s.size))
	s.columns(a, ts, 0, bottom)
	rows()
	s.foot(a, ts, bottom)
}

// columns draws the lines of a horizontal axis down to bottom.
func (s *sheet) columns(a axis, ts []Tick, top, bottom float64) {
	for _, t := range ts {
		class := "grid"
		if a.origin != nil && t.Value == *a.origin {
			class = "zero"
		}
		s.rule(class, a.at(t.Value), top, a.at(t.Value), bottom)
	}
}

// levels draws the lines of a vertical axis, with their labels left of them.
func (s *sheet) levels(a axis, ts []Tick, left, start, end float64) {
	for _, t := range ts {
		y := a.at(t.Value)
		s.rule("grid", start, y, end, y)
		s.text(left, s.middle(y), "tick end", t.Label, left)
	}
}

// foot writes the labels of a horizontal axis below bottom, where the sheet then ends.
func (s *sheet) foot(a axis, ts []Tick, bottom float64) {
	s.tickLabels(ts, a, bottom+s.size+4)
	s.height = bottom + 1.7*s.line()
}

// tickColumn is the width of the labels of a vertical axis, at most a share of the sheet's.
func (s *sheet) tickColumn(ts []Tick, most float64) float64 {
	return min(widest(s.size, ts, func(t Tick) string { return t.Label }), most*s.width)
}

// cut puts an ellipsis in the middle, as names of settings often differ at their ends.
func cut(text string, room, size float64) string {
	room += 0.01 // what was reckoned to fit does
	if textWidth(text, size) <= room {
		return text
	}
	rs := []rune(text)
	if far := int(room/size/0.3) + 2; len(rs) > far { // no need to try the thousands of what is very long
		rs = append(rs[:far:far], rs[len(rs)-far:]...)
	}
	for n := len(rs) - 1; n > 0; n-- {
		tail := n * 2 / 5
		short := strings.TrimRight(string(rs[:n-tail]), " ") + "…" + strings.TrimLeft(string(rs[len(rs)-tail:]), " ")
		if textWidth(short, size) <= room {
			return short
		}
	}
	return "…"
}

type entry struct {
	width float64 // of the form
	form  func(x, y float64)
	text  string
}

// legend explains forms at the end of the sheet, a share of a line below what is there.
func (s *sheet) legend(share float64, entries []entry) {
	x, y := 0.0, s.height+share*s.line()
	for _, e := range entries {
		w := min(e.width+5+textWidth(clean(e.text), s.size), s.width)
		if x > 0 && x+w > s.width {
			x, y = 0, y+s.line()
		}
		e.form(x, y)
		s.text(x+e.width+5, s.middle(y), "faint", e.text, w-e.width-5)
		x += w + s.size
	}
	s.height = y + 0.7*s.line()
}

// class is one of the ten of the style sheet.
func class(letter string, i int) string { return letter + strconv.Itoa(i%10) }

func form(i int, x, y, r float64) string {
	poly := func(at ...float64) string {
		for n := range at {
			at[n] = [2]float64{x, y}[n%2] + at[n]*r
		}
		return through(at...)
	}
	switch i % 10 {
	case 1, 8:
		return poly(-.9, -.9, .9, -.9, .9, .9, -.9, .9) + "Z"
	case 2, 9:
		return poly(0, -1.2, 1.1, .9, -1.1, .9) + "Z"
	case 3:
		return poly(0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0) + "Z"
	case 4:
		return poly(0, 1.2, 1.1, -.9, -1.1, -.9) + "Z"
	case 5:
		return poly(-1.2, 0, 1.2, 0) + poly(0, -1.2, 0, 1.2)
	case 6:
		return poly(-1, -1, 1, 1) + poly(-1, 1, 1, -1)
	}
	return "M" + num(x-r) + " " + num(y) + "a" + num(r) + " " + num(r) + " 0 1 0 " + num(2*r) + " 0a" + num(r) + " " + num(r) + " 0 1 0 " + num(-2*r) + " 0Z"
}

func formClass(i int) string {
	if i%10 >= 7 {
		return "point open " + class("s", i)
	}
	return "point " + class("s", i)
}

func known(x float64) bool { return math.Abs(x) <= 1e100 }

// positive is known and has a place on a logarithmic axis.
func positive(x float64) bool { return x >= 1e-100 && x <= 1e100 }

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
