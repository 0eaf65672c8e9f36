package analysis

import (
	"cmp"
	"math"
	"regexp"
	"slices"
)

// A Listing is one function line by line.
type Listing struct {
	*Function
	Flat  float64       `json:"flat"` // per request, as all figures here
	Cum   float64       `json:"cum"`
	Diff  float64       `json:"cum-diff,omitempty"` // setting minus baseline; 0 without one
	Lines []ListingLine `json:"lines"`              // that have a figure, in order
}

// A ListingLine is one line of a function: what it costs by itself, and with
// the calls it makes.
type ListingLine struct {
	Line     int     `json:"line"` // in the setting listed
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
	FlatDiff float64 `json:"flat-diff,omitempty"` // setting minus baseline; 0 without one
	CumDiff  float64 `json:"cum-diff,omitempty"`
}

// List returns the functions whose names match, the most costly first, line by
// line; if versus is set, against a baseline. Lines are counted from the
// function's first, as it may have moved between the settings.
func (p *Profiles) List(match *regexp.Regexp, setting string, versus bool, base string) []Listing {
	listings := map[*Function]*Listing{}
	lines := map[frame]*ListingLine{}
	for side, s := range []string{setting, base} {
		if side == 1 && !versus {
			break
		}
		ts := p.trials[s]
		for _, t := range ts {
			for i := range t.stacks {
				st := &t.stacks[i]
				v := st.value / float64(len(ts))
				seen := map[frame]bool{}
				for depth, f := range st.frames {
					if !match.MatchString(f.fn.Name) {
						continue
					}
					f.line += p.shift(f.fn, s, setting)
					l := listings[f.fn]
					if l == nil {
						l = &Listing{Function: f.fn}
						listings[f.fn] = l
					}
					line := lines[f]
					if line == nil {
						line = &ListingLine{Line: f.line}
						lines[f] = line
					}
					first, firstLine := !seen[frame{f.fn, 0}], !seen[f]
					seen[frame{f.fn, 0}], seen[f] = true, true
					l.count(line, side, depth == 0, first, firstLine, v)
				}
			}
		}
		if side == 1 {
			for _, l := range listings {
				l.Diff = l.Cum - l.Diff
			}
			for _, l := range lines {
				l.FlatDiff, l.CumDiff = l.Flat-l.FlatDiff, l.Cum-l.CumDiff
			}
		}
	}
	for f, line := range lines {
		listings[f.fn].Lines = append(listings[f.fn].Lines, *line)
	}
	var out []Listing
	for _, l := range listings {
		slices.SortFunc(l.Lines, func(a, b ListingLine) int { return a.Line - b.Line })
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Listing) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Cum), math.Abs(a.Cum)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// count adds a sample's value to a function and its line. On the baseline's
// side it is kept where the difference will be.
func (l *Listing) count(line *ListingLine, side int, leaf, first, firstLine bool, v float64) {
	cum, lineCum, lineFlat := &l.Cum, &line.Cum, &line.Flat
	if side == 1 {
		cum, lineCum, lineFlat = &l.Diff, &line.CumDiff, &line.FlatDiff
	}
	if first {
		*cum += v
	}
	if firstLine {
		*lineCum += v
	}
	if leaf {
		*lineFlat += v
		if side == 0 {
			l.Flat += v
		}
	}
}

// shift is how many lines a function lies further down in one setting than in
// another; 0 if that is not known.
func (p *Profiles) shift(fn *Function, from, to string) int {
	a, b := p.starts[from][fn], p.starts[to][fn]
	if a == 0 || b == 0 {
		return 0
	}
	return b - a
}

// A Peek is one function between those that call it and those that it calls.
type Peek struct {
	*Function
	Flat    float64 `json:"flat"` // per request, as all figures here
	Cum     float64 `json:"cum"`
	Callers []Edge  `json:"callers"`
	Callees []Edge  `json:"callees"`
}

// An Edge is what goes through a caller or callee.
type Edge struct {
	*Function
	Value float64 `json:"value"`
}

// Peek returns the functions whose names match, with their callers and callees.
func (p *Profiles) Peek(match *regexp.Regexp, setting string) []Peek {
	peeks := map[*Function]*Peek{}
	callers, callees := map[[2]*Function]float64{}, map[[2]*Function]float64{}
	ts := p.trials[setting]
	for _, t := range ts {
		for i := range t.stacks {
			st := &t.stacks[i]
			v := st.value / float64(len(ts))
			seen := map[[3]any]bool{}
			once := func(kind string, a, b *Function) bool {
				k := [3]any{kind, a, b}
				was := seen[k]
				seen[k] = true
				return !was
			}
			for depth, f := range st.frames {
				if !match.MatchString(f.fn.Name) {
					continue
				}
				k := peeks[f.fn]
				if k == nil {
					k = &Peek{Function: f.fn}
					peeks[f.fn] = k
				}
				if depth == 0 {
					k.Flat += v
				} else if callee := st.frames[depth-1].fn; once("callee", f.fn, callee) {
					callees[[2]*Function{f.fn, callee}] += v
				}
				if once("cum", f.fn, nil) {
					k.Cum += v
				}
				if depth+1 < len(st.frames) {
					if caller := st.frames[depth+1].fn; once("caller", f.fn, caller) {
						callers[[2]*Function{f.fn, caller}] += v
					}
				}
			}
		}
	}
	var out []Peek
	for fn, k := range peeks {
		k.Callers, k.Callees = edges(fn, callers), edges(fn, callees)
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Peek) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Cum), math.Abs(a.Cum)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func edges(fn *Function, all map[[2]*Function]float64) []Edge {
	var out []Edge
	for pair, v := range all {
		if pair[0] == fn && v != 0 {
			out = append(out, Edge{pair[1], v})
		}
	}
	slices.SortFunc(out, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// A Flame is a function in a tree of stacks, from the root down.
type Flame struct {
	*Function          // nil at the top, which is all
	Flat      float64  `json:"flat"` // per request, as Value: what ends here
	Value     float64  `json:"value"`
	Children  []*Flame `json:"children,omitempty"` // the greatest first
}

// Flame returns the stacks of a setting as a tree, the mean of its trials.
func (p *Profiles) Flame(setting string) *Flame {
	top := &Flame{}
	children := map[*Flame]map[*Function]*Flame{}
	ts := p.trials[setting]
	for _, t := range ts {
		for i := range t.stacks {
			st := &t.stacks[i]
			v := st.value / float64(len(ts))
			at := top
			at.Value += v
			for _, f := range slices.Backward(st.frames) {
				below := children[at]
				if below == nil {
					below = map[*Function]*Flame{}
					children[at] = below
				}
				next := below[f.fn]
				if next == nil {
					next = &Flame{Function: f.fn}
					below[f.fn] = next
					at.Children = append(at.Children, next)
				}
				at = next
				at.Value += v
			}
			at.Flat += v
		}
	}
	for f := range children {
		slices.SortFunc(f.Children, func(a, b *Flame) int {
			return cmp.Or(cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)), cmp.Compare(a.Name, b.Name))
		})
	}
	return top
}
