package chart

import (
	"math"
	"strconv"
)

// A Map counts things in cells, the first row at the bottom. A column or row whose name is empty has no label.
type Map struct {
	Columns, Rows []string
	Cells         []Cell
}

// A Cell is one box of a map.
type Cell struct {
	Column, Row, Count int
	Tip                string
	Link               string // the ID of what a click leads to, of a Story; "" leads nowhere
}

const shades = 5

// Heat draws a map: the darker, the more. A cell with a link is framed.
func Heat(m Map) SVG {
	most := 0
	for _, c := range m.Cells {
		most = max(most, c.Count)
	}
	if most == 0 {
		return nothing("heat")
	}
	return draw("heat", "Counts in "+count(len(m.Cells), "cell"), func(s *sheet) {
		left := widest(s.size, m.Rows, func(name string) string { return name }) + 8
		high := max(8, s.line()/2+2)
		wide := (s.width - left - 4) / float64(len(m.Columns))
		bottom := high*float64(len(m.Rows)) + 4
		s.height = bottom + 1.6*s.line()
		for i, name := range m.Rows {
			s.text(left-6, s.middle(bottom-high*(float64(i)+0.5)), "tick end", name, left)
		}
		free := left
		for i, name := range m.Columns {
			x := left + wide*float64(i)
			if w := textWidth(name, s.size); name != "" && x >= free && x+w <= s.width {
				s.text(x, bottom+1.2*s.line(), "tick", name, w+1)
				free = x + w + s.size
			}
		}
		for _, c := range m.Cells {
			// By the logarithm: one slow request must be seen beside thousands.
			shade := int(math.Ceil(shades * (1 + math.Log(float64(c.Count))) / (1 + math.Log(float64(most)))))
			x, y := left+wide*float64(c.Column), bottom-high*float64(c.Row+1)
			if c.Link == "" {
				s.rect("cell h"+strconv.Itoa(shade), x, y, x+max(wide-0.5, 0.5), y+high-0.5, c.Tip)
				continue
			}
			s.WriteString(`<a href="#` + escape(s.id(c.Link)) + `">`)
			s.rect("cell linked h"+strconv.Itoa(shade), x+0.5, y+0.5, x+max(wide-1, 1), y+high-1, c.Tip)
			s.WriteString("</a>")
		}
	})
}

// id is unlike that of the other drawing of a picture, as the page has both.
func (s *sheet) id(id string) string {
	if s.narrow {
		return id + "-narrow"
	}
	return id
}
