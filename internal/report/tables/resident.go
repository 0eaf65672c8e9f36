package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// A ResidentPart is a part of the resident memory, in bytes.
type ResidentPart struct {
	Label string
	Of    func(r *compare.Resident) float64
}

// ResidentParts add up to the last.
var ResidentParts = []ResidentPart{
	{"live heap", func(r *compare.Resident) float64 { return r.End.Live }},
	{"dead heap", func(r *compare.Resident) float64 { return r.End.Dead }},
	{"unused in spans", func(r *compare.Resident) float64 { return r.End.Unused }},
	{"idle spans", func(r *compare.Resident) float64 { return r.End.Idle }},
	{"stacks", func(r *compare.Resident) float64 { return r.End.Stacks }},
	{"GC structures", func(r *compare.Resident) float64 { return r.End.Metadata }},
	{"other runtime", func(r *compare.Resident) float64 { return r.End.Other }},
	{"program file", func(r *compare.Resident) float64 { return r.End.File - r.End.Files }},
	{"mapped files", func(r *compare.Resident) float64 { return r.End.Files }},
	{"other (data, mmap, cgo)", func(r *compare.Resident) float64 { return max(0, *r.Left) }},
	{untouched, func(r *compare.Resident) float64 { return min(0, *r.Left) }},
	{"RSS", func(r *compare.Resident) float64 { return r.End.RSS }},
}

const untouched = "mapped, not resident"

// Told returns where the memory of a setting is, or nil if its runtime was not asked.
func Told(s *compare.Setting) *compare.Resident {
	if r := s.Resident; r != nil && r.Left != nil {
		return r
	}
	return nil
}

// Resident is the table of where the memory is at the end of the load.
func (v *View) Resident() (layout.Section, bool) {
	var typical []float64
	for i := range v.Settings {
		if r := Told(&v.Settings[i]); r != nil {
			typical = append(typical, r.End.RSS)
		}
	}
	if typical == nil {
		return layout.Section{}, false
	}
	sc, percent := layout.ScaleOf("rss-peak-B", typical...), layout.Scale{Unit: "%", Factor: 0.01, Decimals: 0}
	parts := slices.DeleteFunc(slices.Clone(ResidentParts), func(p ResidentPart) bool { // that would be 0.00 everywhere
		return !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool {
			r := Told(&s)
			return r != nil && strings.Trim(sc.Format(p.Of(r)), "-0.") != ""
		})
	})
	var rows []figureRow
	negative := false
	for _, p := range parts {
		negative = negative || p.Label == untouched
		rows = append(rows, figureRow{p.Label, func(s *compare.Setting) string {
			x := p.Of(Told(s))
			return fmt.Sprintf("%s %5s", sc.Format(x), percent.Format(x/s.Resident.End.RSS)+"%")
		}})
	}
	s := v.figures(fmt.Sprintf("Where the resident memory is at the end of the load (means of the trials; %s, and share of RSS)", sc.Unit),
		func(s *compare.Setting) bool { return Told(s) != nil }, rows)
	s.Notes = v.residentNotes(negative)
	return s, true
}

func (v *View) residentNotes(negative bool) (notes []string) {
	for i := range v.Settings {
		if r := Told(&v.Settings[i]); r != nil && r.End.Live > 0 {
			notes = append(notes, v.ratio(i, r))
			break
		}
	}
	if slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { r := Told(&s); return r != nil && r.End.Live == 0 }) {
		notes = append(notes, "Without a live heap, no collection completed, so live and dead heap cannot be separated.")
	}
	if negative {
		notes = append(notes, "Mapped, not resident: the part of the rows above that was never touched, so the kernel gave no memory for it.")
	}
	return notes
}

// ratio says what the resident memory of setting i consists of, in live heaps.
func (v *View) ratio(i int, r *compare.Resident) string {
	name := ""
	if len(v.Settings) > 1 {
		name = " of " + v.SettingName(i)
	}
	return words.Resident(name, &r.End, *r.Left)
}

// GivenBack is the table of what memory comes back after the load.
func (v *View) GivenBack() (layout.Section, bool) {
	var typical []float64
	var first *compare.GivenBack
	for i := range v.Settings {
		if b := back(&v.Settings[i]); b != nil {
			typical = append(typical, b.Ready.RSS, b.End.RSS)
			if first == nil {
				first = b
			}
		}
	}
	if first == nil {
		return layout.Section{}, false
	}
	sc := layout.ScaleOf("rss-peak-B", typical...)
	s := v.figures(fmt.Sprintf("Memory given back, %s (%s)", sc.Unit, source(first)),
		func(s *compare.Setting) bool { return back(s) != nil }, backRows(sc, "after "+rested(first.Rest)+" of rest"))
	for i := range v.Settings {
		if b := back(&v.Settings[i]); b != nil {
			s.Notes = append(s.Notes, v.backVerdict(i, b))
		}
	}
	return s, true
}

func backRows(sc layout.Scale, rest string) (rows []figureRow) {
	const free = "  after FreeOSMemory"
	for _, x := range []struct {
		name string
		of   func(s *dyno.Snapshot) float64
	}{
		{"RSS", func(s *dyno.Snapshot) float64 { return s.RSS }},
		{"idle heap", func(s *dyno.Snapshot) float64 { return runtimeOnly(s, s.Idle) }},
		{"released heap", func(s *dyno.Snapshot) float64 { return runtimeOnly(s, s.Released) }},
	} {
		add := func(label string, at func(b *compare.GivenBack) *dyno.Snapshot) {
			rows = append(rows, figureRow{label, func(s *compare.Setting) string {
				if taken := at(back(s)); taken != nil {
					return known(sc, x.of(taken))
				}
				return ""
			}})
		}
		end := x.name + " at the end of the load"
		if x.name == "RSS" {
			add("RSS before the load", func(b *compare.GivenBack) *dyno.Snapshot { return &b.Ready })
			end = "  at its end"
		}
		add(end, func(b *compare.GivenBack) *dyno.Snapshot { return &b.End })
		add("  "+rest, func(b *compare.GivenBack) *dyno.Snapshot { return &b.Idle })
		add(free, func(b *compare.GivenBack) *dyno.Snapshot { return b.Freed })
	}
	return rows
}

func back(s *compare.Setting) *compare.GivenBack {
	if s.Resident == nil {
		return nil
	}
	return s.Resident.Back
}

// runtimeOnly is x, or NaN where the runtime was not asked.
func runtimeOnly(s *dyno.Snapshot, x float64) float64 {
	if s.Mapped() == 0 {
		return math.NaN()
	}
	return x
}

func source(b *compare.GivenBack) string {
	switch {
	case b.Own && b.Trials == 1:
		return "a separate trial with nothing forced before the rest"
	case b.Own:
		return "separate trials with nothing forced before the rest"
	case b.Forced:
		return "means of the trials, with collections forced at the end of the load"
	}
	return "means of the trials"
}

func rested(sec float64) string {
	d := time.Duration(sec * float64(time.Second))
	if d >= 2*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func (v *View) backVerdict(i int, b *compare.GivenBack) string {
	left, no := "The load left", "No"
	if len(v.Settings) > 1 {
		left, no = v.SettingName(i)+": the load left", v.SettingName(i)+": no"
	}
	const some = 0.01 // of what was resident before the load: less is no change
	sc := layout.Scale{Unit: "MiB", Factor: 1 << 20, Decimals: 1}
	if b.Above < some*b.Ready.RSS {
		return no + " more memory was resident at the end of the load than before it."
	}
	text := fmt.Sprintf("%s %s more resident; ", left, sc.With(b.Above))
	by := "by itself"
	if b.Forced {
		by = "after forced collections"
	}
	if b.Returned < some*b.Above {
		text += fmt.Sprintf("nothing came back %s in %s", by, rested(b.Rest))
	} else {
		text += fmt.Sprintf("%s came back %s in %s", sc.With(b.Returned), by, rested(b.Rest))
	}
	if b.Freed != nil {
		text += fmt.Sprintf(", %s after FreeOSMemory", sc.With(b.End.RSS-b.Freed.RSS))
	}
	return text + "."
}
