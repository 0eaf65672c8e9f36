package plot

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Point is drawn as a sign, with a label beside it where there is room.
type Point struct {
	X, Y  float64
	Sign  rune
	Label string
}

// Scatter draws points on two logarithmic axes, in a text of width columns and height lines, axes included.
// Later points cover earlier ones. It is nil if fewer than two points have a place on such axes.
func Scatter(points []Point, width, height int, x, y func(float64) string) []string {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !placed(p.X) || !placed(p.Y) })
	if len(points) < 2 {
		return nil
	}
	s := scatter{rows: height - 2}
	s.x0, s.x1 = rangeOf(points, func(p Point) float64 { return p.X })
	s.y0, s.y1 = rangeOf(points, func(p Point) float64 { return p.Y })
	middle := math.Sqrt(s.y0 * s.y1)
	ticks := map[int]string{0: y(s.y1), s.row(middle): y(middle), s.rows - 1: y(s.y0)}
	left := 0
	for _, t := range ticks {
		left = max(left, utf8.RuneCountInString(t))
	}
	if s.cols = width - left - 2; s.cols < Least || s.rows < 3 {
		return nil
	}
	s.draw(points)
	var lines []string
	for i, cells := range s.cells {
		lines = append(lines, strings.Repeat(" ", left-utf8.RuneCountInString(ticks[i]))+ticks[i]+" │"+strings.TrimRight(string(cells), " "))
	}
	pad := strings.Repeat(" ", left+1)
	return append(lines, pad+"└"+strings.Repeat("─", s.cols), pad+" "+s.foot(x))
}

func placed(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// rangeOf returns the range of the values of points. lo and hi always differ.
func rangeOf(points []Point, of func(Point) float64) (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, p := range points {
		lo, hi = min(lo, of(p)), max(hi, of(p))
	}
	if hi/lo < 1.1 {
		lo, hi = lo/1.05, hi*1.05
	}
	return lo, hi
}

type scatter struct {
	x0, x1, y0, y1 float64
	cols, rows     int
	cells          [][]rune
}

func (s *scatter) row(y float64) int {
	return int(math.Round(math.Log(s.y1/y) / math.Log(s.y1/s.y0) * float64(s.rows-1)))
}

func (s *scatter) col(x float64) int {
	return int(math.Round(math.Log(x/s.x0) / math.Log(s.x1/s.x0) * float64(s.cols-1)))
}

func (s *scatter) draw(points []Point) {
	s.cells = make([][]rune, s.rows)
	for i := range s.cells {
		s.cells[i] = []rune(strings.Repeat(" ", s.cols))
	}
	for _, p := range points {
		s.cells[s.row(p.Y)][s.col(p.X)] = p.Sign
	}
	for _, p := range points {
		label := []rune(p.Label)
		row, col := s.row(p.Y), s.col(p.X)
		for _, from := range []int{col + 1, col - len(label)} {
			if s.free(row, from, len(label)) {
				copy(s.cells[row][from:], label)
				break
			}
		}
	}
}

// free reports whether n cells are empty.
func (s *scatter) free(row, from, n int) bool {
	return from >= 0 && from+n <= s.cols && strings.TrimSpace(string(s.cells[row][from:from+n])) == ""
}

// foot labels the ends of the horizontal axis, and places between them.
func (s *scatter) foot(x func(float64) string) string {
	line := ""
	const parts = 4
	for i := range parts + 1 {
		share := float64(i) / parts
		label := x(s.x0 * math.Pow(s.x1/s.x0, share))
		n := utf8.RuneCountInString(label)
		at := max(0, min(int(share*float64(s.cols-1))-n/2, s.cols-n))
		if have := utf8.RuneCountInString(line); have == 0 || at >= have+2 {
			line += strings.Repeat(" ", at-have) + label
		}
	}
	return line
}
