package pprofpage

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/analysis/profiles"
)

//go:embed flame.js
var flameScript string

//go:embed flame.tmpl
var flameText string

var flameTemplate = template.Must(template.New("flame").Parse(flameText))

// Blocks are the texts of all inline scripts and styles of flame graphs, which are
// the same in each, for the hashes of a content policy.
type Blocks struct {
	Scripts []template.JS
	Styles  []template.CSS
}

var errPage = errors.New("pprof's page is not as expected (consider: the pinned version of github.com/google/pprof)")

var (
	scriptBlock = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	styleBlock  = regexp.MustCompile(`(?s)<style type="text/css">(.*?)</style>`)
)

// FlameBlocks returns the blocks of every page of Flame. They come from a page of a
// profile made here, so that no subject's profile has a part in them.
var FlameBlocks = sync.OnceValues(func() (Blocks, error) {
	f := &profile.Function{ID: 1, Name: "f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	page, err := flamePage(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}},
		Location:   []*profile.Location{l}, Function: []*profile.Function{f},
	}, nil)
	if err != nil {
		return Blocks{}, err
	}
	var b Blocks
	for _, m := range scriptBlock.FindAllStringSubmatch(page, -1) {
		b.Scripts = append(b.Scripts, template.JS(m[1]))
	}
	for _, m := range styleBlock.FindAllStringSubmatch(page, -1) {
		b.Styles = append(b.Styles, template.CSS(m[1]))
	}
	if len(b.Scripts) != 3 || len(b.Styles) != 2 {
		return Blocks{}, fmt.Errorf("%w: %d scripts and %d styles", errPage, len(b.Scripts), len(b.Styles))
	}
	b.Scripts[2] = template.JS(flameScript) // in place of the one with the data
	return b, nil
})

// Flame returns pprof's flame graph of a profile of a kind of dyno.ProfileNames, or
// of what changed since base if that is not nil, as one page that needs no server.
// It has stacks of at least a 400th of the whole; a smaller one counts for its caller.
func Flame(kind string, of profiles.Sum, base *profiles.Sum) (text []byte, err error) {
	defer func() { // pprof trusts a profile, which is what a subject wrote
		if cause := recover(); cause != nil {
			err = fmt.Errorf("pprof: %v", cause)
		}
		if err != nil {
			text, err = nil, fmt.Errorf("draw the flame graph of %s: %w", label(of.Setting), err)
		}
	}()
	blocks, err := FlameBlocks()
	if err != nil {
		return nil, err
	}
	shown, from, title, err := comparable(kind, of, base)
	if err != nil {
		return nil, err
	}
	if shown, from, err = prune(shown, from); err != nil {
		return nil, err
	}
	page, err := flamePage(shown, from)
	if err != nil {
		return nil, err
	}
	stacks, err := readStacks(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = flameTemplate.Execute(&b, struct {
		Blocks
		Title, Type string
		Stacks      *stackSet
	}{blocks, title, stacks.Type, stacks})
	return b.Bytes(), err
}

func flamePage(shown, from *profile.Profile) (string, error) {
	pages, err := open(shown, from)
	if err != nil {
		return "", err
	}
	got := pages.fetch("flamegraph", http.MethodGet, url.Values{})
	if got.status != 0 && got.status != http.StatusOK {
		return "", errors.New(strings.TrimSpace(got.body.String()))
	}
	return got.body.String(), nil
}

// A stackSet is the data of a flame graph, without what can be told from the rest.
type stackSet struct {
	Units  json.RawMessage
	Total  int64
	Scale  float64
	Type   string
	Unit   string
	Stacks []struct {
		Value   int64
		Sources []int
	}
	Sources []struct {
		FullName, FileName, UniqueName string
		Inlined                        bool
		Color                          int
		Display                        []string
	}
}

// readStacks reads the data from the last script of a page of pprof's.
func readStacks(page string) (*stackSet, error) {
	set := new(stackSet)
	block := page[max(0, strings.LastIndex(page, "<script>")):]
	for mark, to := range map[string]any{"pprofUnitDefs = ": &set.Units, "stackViewer(": set} {
		_, text, _ := strings.Cut(block, mark)
		if err := json.NewDecoder(strings.NewReader(text)).Decode(to); err != nil {
			return nil, fmt.Errorf("%w: no data after %q", errPage, mark)
		}
	}
	return set, nil
}

// least is the share that a stack needs to be shown: pprof draws no box below 4 pixels.
const least = 1.0 / 400

// prune keeps the value that pprof shows first, drops lines, and cuts off ends of stacks that
// are too small in both profiles together. from may be nil.
func prune(shown, from *profile.Profile) (_, _ *profile.Profile, err error) {
	type frame struct {
		caller     int // its number
		name, file string
		inlined    bool // into its caller
	}
	numbers := map[frame]int{}
	sizes := []int64{0} // by number; 0 is the whole
	number := func(caller int, line profile.Line, inlined bool) int {
		f := frame{caller: caller, inlined: inlined}
		if line.Function != nil {
			f.name, f.file = line.Function.Name, line.Function.Filename
		}
		n, ok := numbers[f]
		if !ok {
			n = len(sizes)
			numbers[f] = n
			sizes = append(sizes, 0)
		}
		return n
	}
	both := []*profile.Profile{shown}
	if from != nil {
		both = append(both, from)
	}
	for _, p := range both {
		i, err := p.SampleIndexByName("")
		if err != nil || len(p.SampleType) == 0 {
			return nil, nil, fmt.Errorf("the profile says nothing of its values: %v", err)
		}
		p.SampleType, p.DefaultSampleType = p.SampleType[i:i+1], ""
		for _, s := range p.Sample {
			s.Value = s.Value[i : i+1]
			s.Label, s.NumLabel, s.NumUnit = nil, nil, nil
			size, at := max(s.Value[0], -s.Value[0]), 0
			sizes[0] += size
			rootFirst(s, func(_ int, line profile.Line, inlined bool) bool {
				at = number(at, line, inlined)
				sizes[at] += size
				return true
			})
		}
	}
	for i, p := range both {
		for _, s := range p.Sample {
			at, kept, lines := 0, len(s.Location), 0
			rootFirst(s, func(place int, line profile.Line, inlined bool) bool {
				if at = number(at, line, inlined); float64(sizes[at]) < least*float64(sizes[0]) {
					return false
				}
				if place < kept {
					kept, lines = place, 0
				}
				lines++
				return true
			})
			s.Location = s.Location[kept:]
			if len(s.Location) > 0 && lines < len(s.Location[0].Line) { // cut between functions inlined into each other
				l := *s.Location[0]
				l.ID = uint64(len(p.Location) + 1)
				l.Line = l.Line[len(l.Line)-lines:]
				s.Location = append([]*profile.Location{&l}, s.Location[1:]...)
				p.Location = append(p.Location, &l)
			}
		}
		if err := p.Aggregate(true, true, true, false, false, false); err != nil {
			return nil, nil, err
		}
		if both[i], err = profile.Merge([]*profile.Profile{p}); err != nil { // stacks that are equal by now
			return nil, nil, err
		}
	}
	if from != nil {
		from = both[1]
	}
	return both[0], from, nil
}

// rootFirst calls step for each function, the root first, until it returns false. place is
// the index in s.Location.
func rootFirst(s *profile.Sample, step func(place int, line profile.Line, inlined bool) bool) {
	for i := len(s.Location) - 1; i >= 0; i-- {
		lines := s.Location[i].Line
		for j := len(lines) - 1; j >= 0; j-- {
			if !step(i, lines[j], j < len(lines)-1) {
				return
			}
		}
	}
}
