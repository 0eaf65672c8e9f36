package web

import (
	"fmt"

	"github.com/google/pprof/profile"
)

// A frame is a function in a stack, as flame graphs tell functions apart.
type frame struct {
	name, file string
	inlined    bool // into the frame before it
}

// A node is a frame and all that it was called by.
type node struct {
	frame
	self  [2]int64 // what ends here, of each profile
	all   int64    // what ends here or below, of both, without signs
	below map[frame]*node
	order []*node // those below, as they came
}

// prune makes profiles of the one value that pprof shows first, without lines,
// with the same stacks added up, and with those that are too small to see cut off:
// two are small only if they are so together. from may be nil.
func prune(shown, from *profile.Profile) (_, _ *profile.Profile, err error) {
	root := &node{}
	sides := []*profile.Profile{shown}
	if from != nil {
		sides = append(sides, from)
	}
	var values []int
	for side, p := range sides {
		i, err := p.SampleIndexByName("")
		if err != nil || len(p.SampleType) == 0 {
			return nil, nil, fmt.Errorf("draw a flame graph: the profile says nothing of its values: %v", err)
		}
		values = append(values, i)
		for _, s := range p.Sample {
			root.add(s, side, s.Value[i])
		}
	}
	root.prune(int64(least * float64(root.all)))
	out := make([]*profile.Profile, 2)
	for side, p := range sides {
		b := builder{
			p: &profile.Profile{
				SampleType: p.SampleType[values[side] : values[side]+1],
				PeriodType: p.PeriodType, Period: p.Period,
				TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
				Mapping: p.Mapping,
			},
			functions: map[frame]*profile.Function{},
			locations: map[string]*profile.Location{},
		}
		b.add(root, side, nil)
		out[side] = b.p
	}
	return out[0], out[1], nil
}

func (n *node) add(s *profile.Sample, side int, v int64) {
	size := max(v, -v)
	n.all += size
	for i := len(s.Location) - 1; i >= 0; i-- {
		lines := s.Location[i].Line
		for j := len(lines) - 1; j >= 0; j-- {
			f := frame{inlined: j < len(lines)-1}
			if fn := lines[j].Function; fn != nil {
				f.name, f.file = fn.Name, fn.Filename
			}
			child := n.below[f]
			if child == nil {
				child = &node{frame: f}
				if n.below == nil {
					n.below = map[frame]*node{}
				}
				n.below[f] = child
				n.order = append(n.order, child)
			}
			n = child
			n.all += size
		}
	}
	n.self[side] += v
}

// prune gives what is below nodes that are smaller than least to their callers.
func (n *node) prune(least int64) {
	kept := n.order[:0]
	for _, child := range n.order {
		child.prune(least)
		if child.all >= least {
			kept = append(kept, child)
			continue
		}
		// All that is below it is smaller still, and is in its self by now.
		n.self[0] += child.self[0]
		n.self[1] += child.self[1]
	}
	n.order = kept
}

// A builder makes a profile of a tree.
type builder struct {
	p         *profile.Profile
	functions map[frame]*profile.Function
	locations map[string]*profile.Location
}

func (b *builder) add(n *node, side int, stack []frame) {
	if v := n.self[side]; v != 0 {
		b.p.Sample = append(b.p.Sample, &profile.Sample{Location: b.stack(stack), Value: []int64{v}})
	}
	for _, child := range n.order {
		b.add(child, side, append(stack, child.frame))
	}
}

// stack makes locations, the leaf first, of frames, the root first.
func (b *builder) stack(frames []frame) (locations []*profile.Location) {
	for end := len(frames); end > 0; {
		first := end - 1
		for first > 0 && frames[first].inlined {
			first--
		}
		locations = append(locations, b.location(frames[first:end]))
		end = first
	}
	return locations
}

// location is one of a function and what is inlined into it.
func (b *builder) location(frames []frame) *profile.Location {
	var lines []profile.Line
	key := ""
	for i := len(frames) - 1; i >= 0; i-- {
		f := b.function(frames[i])
		lines = append(lines, profile.Line{Function: f})
		key += fmt.Sprint(f.ID, " ")
	}
	l := b.locations[key]
	if l == nil {
		l = &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Line: lines}
		b.locations[key] = l
		b.p.Location = append(b.p.Location, l)
	}
	return l
}

func (b *builder) function(f frame) *profile.Function {
	f.inlined = false
	fn := b.functions[f]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.name, SystemName: f.name, Filename: f.file}
		b.functions[f] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	return fn
}
