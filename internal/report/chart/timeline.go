package chart

import "slices"

// A Story is what several goroutines did for one thing, such as a request.
type Story struct {
	ID    string // which a Cell of a Map can link to; may be empty
	Title string
	Lanes []Lane
	Hands []Hand
}

// A Lane is what one of them did: stretches of time that do not overlap.
type Lane struct {
	Name  string
	Spans []Span
}

// A Span is a stretch of one of the parts.
type Span struct {
	From, To float64
	Part     int
	Text     string // in it, where it has room
	Tip      string
}

// A Hand is when one lane let another go on.
type Hand struct {
	At       float64
	From, To int
}

// Timelines draws stories below each other, all on one axis of time that begins with 0. The parts have names, which the
// legend explains.
func Timelines(parts []string, stories []Story, x Format) SVG {
	var all spread
	used := make([]int, 0, len(parts)) // in the order of the legend
	lanes := 0
	for _, t := range stories {
		lanes += len(t.Lanes)
		for _, l := range t.Lanes {
			for _, p := range l.Spans {
				all.add(p.To)
				if !slices.Contains(used, p.Part) {
					used = append(used, p.Part)
				}
			}
		}
	}
	if all.n == 0 {
		return nothing("timelines")
	}
	all.add(0)
	slices.Sort(used)
	return draw("timelines", "What happened when, in "+count(len(stories), "part"), func(s *sheet) {
		head, row, left := s.line()+8, 24.0, 4.0
		var every []Lane
		for _, t := range stories {
			every = append(every, t.Lanes...)
		}
		if names(s, every, func(l Lane) string { return l.Name }); s.narrow {
			row += s.line()
		} else {
			left = s.names + 12
		}
		a := all.linear(0, left, s.width-12)
		a.origin = new(float64)
		s.plot(a, x, float64(len(stories))*head+float64(lanes)*row, func() {
			y := 0.0
			for _, t := range stories {
				if t.ID != "" {
					s.WriteString(`<g id="` + escape(s.id(t.ID)) + `">`)
				}
				s.text(0, y+s.size+4, "heading", t.Title, s.width)
				if t.ID != "" {
					s.WriteString("</g>")
				}
				s.story(a, t, y+head, row)
				y += head + float64(len(t.Lanes))*row
			}
		})
		var entries []entry
		for _, part := range used {
			entries = append(entries, entry{14, func(x, y float64) { s.rect("part "+class("p", part), x, y-6, x+14, y+6, "") }, parts[part]})
		}
		s.legend(0.6, entries)
	})
}

// story draws the lanes of one, from y down, and then who let whom go on.
func (s *sheet) story(a axis, t Story, y, row float64) {
	thick := 16.0
	middle := func(lane int) float64 { return y + float64(lane+1)*row - thick/2 - 4 }
	for i, l := range t.Lanes {
		mid := middle(i)
		s.name(l.Name, y+float64(i)*row, mid)
		s.rule("base", a.start, mid, a.end, mid)
		for _, p := range l.Spans {
			x1, x2 := a.at(p.From), max(a.at(p.To), a.at(p.From)+0.5)
			s.rect("part "+class("p", p.Part), x1, mid-thick/2, x2, mid+thick/2, p.Tip)
			if textWidth(clean(p.Text), s.size) < x2-x1-8 {
				s.text(x1+4, s.middle(mid), "within", p.Text, x2-x1)
			}
		}
	}
	for _, h := range t.Hands {
		if h.From >= len(t.Lanes) || h.To >= len(t.Lanes) {
			continue
		}
		at, from, to := a.at(h.At), middle(h.From), middle(h.To)
		s.path("hand", through(at, from, at, to), "")
		s.path("hand end", form(0, at, to, 2.5), "")
	}
}
