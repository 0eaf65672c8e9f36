package profiles

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

// A ListingLine is what a line costs by itself, and with its calls.
type ListingLine struct {
	Line     int     `json:"line"` // in the setting listed
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
	FlatDiff float64 `json:"flat-diff,omitempty"` // setting minus baseline; 0 without one
	CumDiff  float64 `json:"cum-diff,omitempty"`
}

// List returns the functions whose names match line by line, the most costly first; if
// versus is set, against base. Lines count from the function's first, as it may have moved.
func (p *Profiles) List(match *regexp.Regexp, setting string, versus bool, base string) []Listing {
	listings, lines := map[*Function]*Listing{}, map[frame]*ListingLine{}
	add := func(from string, now, before float64) {
		p.stacks(from, func(st *stack, v float64) {
			now, before, seen := now*v, before*v, map[frame]bool{}
			for depth, f := range st.frames {
				if !match.MatchString(f.fn.Name) {
					continue
				}
				if a, b := p.starts[from][f.fn], p.starts[setting][f.fn]; a > 0 && b > 0 {
					f.line += b - a
				}
				l, line := entry(listings, f.fn), entry(lines, f)
				l.Function, line.Line = f.fn, f.line
				if whole := (frame{f.fn, 0}); !seen[whole] {
					seen[whole] = true
					l.Cum += now
					l.Diff += before
				}
				if !seen[f] {
					seen[f] = true
					line.Cum += now
					line.CumDiff += before
				}
				if depth == 0 {
					l.Flat += now
					line.Flat += now
					line.FlatDiff += before
				}
			}
		})
	}
	add(setting, 1, 0)
	if versus {
		add(base, 0, 1)
	}
	for f, line := range lines {
		if versus {
			line.FlatDiff, line.CumDiff = line.Flat-line.FlatDiff, line.Cum-line.CumDiff
		}
		listings[f.fn].Lines = append(listings[f.fn].Lines, *line)
	}
	var out []Listing
	for _, l := range listings {
		if versus {
			l.Diff = l.Cum - l.Diff
		}
		slices.SortFunc(l.Lines, func(a, b ListingLine) int { return a.Line - b.Line })
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Listing) int { return byValue(a.Cum, b.Cum, a.Name, b.Name) })
	return out
}

// stacks calls visit for each stack of a setting, with its part of the mean of the trials.
func (p *Profiles) stacks(setting string, visit func(st *stack, value float64)) {
	ts := p.trials[setting]
	for _, t := range ts {
		for i := range t.stacks {
			visit(&t.stacks[i], t.stacks[i].value/float64(len(ts)))
		}
	}
}

func entry[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

// byValue is the order of the greatest first; names decide between equal ones.
func byValue(a, b float64, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(math.Abs(b), math.Abs(a)), cmp.Compare(nameA, nameB))
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
	type branch struct {
		below *Flame
		fn    *Function
	}
	top := &Flame{}
	branches := map[branch]*Flame{}
	p.stacks(setting, func(st *stack, v float64) {
		at := top
		at.Value += v
		for _, f := range slices.Backward(st.frames) {
			next := entry(branches, branch{at, f.fn})
			if next.Function == nil {
				next.Function = f.fn
				at.Children = append(at.Children, next)
			}
			at = next
			at.Value += v
		}
		at.Flat += v
	})
	for _, f := range branches {
		f.sort()
	}
	top.sort()
	return top
}

func (f *Flame) sort() {
	slices.SortFunc(f.Children, func(a, b *Flame) int { return byValue(a.Value, b.Value, a.Name, b.Name) })
}
