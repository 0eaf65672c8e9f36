package slowest

import (
	"fmt"
	"io"
	"math"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/report/words"
)

// Profile writes the excess of each setting's slow requests as a profile for pprof, so that it can be seen as a flame
// graph: below the setting what requests did, on which line, and below that who kept them from going on. A sample is ns of
// a slow request more than of a typical one. name is that of a setting by its place. The error is w's.
func Profile(w io.Writer, settings []compare.Setting, name func(int) string) error {
	b := builder{functions: map[string]*profile.Location{}, Profile: &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "excess", Unit: "nanoseconds"}}, DefaultSampleType: "excess",
	}}
	for i := range settings {
		why := settings[i].Slow
		if why == nil {
			continue
		}
		root := words.SlowShare(why.Quantile)
		if len(settings) > 1 {
			root += " of " + name(i)
		}
		for _, l := range why.Lines {
			stack := append(b.at(words.Spent(l.Part, slow.Site{Before: l.Site.Before}), l.Site), b.at(root, slow.Site{})...)
			rest := l.Excess.Mean
			for _, by := range l.By {
				rest -= by.Excess
				text := words.Behind(by.Culprit)
				if by.Site.Func != "" {
					who := "another goroutine"
					if by.Other {
						who = "another request"
					}
					text = who + " was " + words.Spent(by.Part, slow.Site{})
				}
				b.add(by.Excess, append(b.at(text, by.Site), stack...))
			}
			b.add(rest, stack)
		}
	}
	return b.Write(w)
}

type builder struct {
	*profile.Profile
	functions map[string]*profile.Location
}

// at are the frames of a line, the innermost first: the line and the text that it is below.
func (b *builder) at(text string, s slow.Site) (frames []*profile.Location) {
	if s.Func != "" {
		frames = append(frames, b.location(s.Func, s.File, s.Line))
		if s.Via != "" {
			frames = append([]*profile.Location{b.location(s.Via, "", 0)}, frames...)
		}
	}
	return append(frames, b.location(text, "", 0))
}

func (b *builder) location(fn, file string, line int) *profile.Location {
	key := fmt.Sprintf("%s %s:%d", fn, file, line)
	if l := b.functions[key]; l != nil {
		return l
	}
	f := &profile.Function{ID: uint64(len(b.Function) + 1), Name: fn, SystemName: fn, Filename: file}
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(line)}}}
	b.Function, b.Location = append(b.Function, f), append(b.Location, l)
	b.functions[key] = l
	return l
}

func (b *builder) add(seconds float64, stack []*profile.Location) {
	if ns := int64(math.Round(seconds * 1e9)); ns != 0 {
		b.Sample = append(b.Sample, &profile.Sample{Location: stack, Value: []int64{ns}})
	}
}
