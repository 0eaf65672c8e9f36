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

	"github.com/dynolab/dyno/internal/analysis/profiles"
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
	page, err := flamePage(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Value: []int64{1}}},
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
	page, err := flamePage(shown, from)
	if err != nil {
		return nil, err
	}
	stacks, err := readStacks(page)
	if err != nil {
		return nil, err
	}
	stacks.prune()
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
	if got.status != http.StatusOK {
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
	Stacks []stack
	// Sources[0] is the root, with which every stack begins.
	Sources []source
}

type stack struct {
	Value   int64
	Sources []int // the root first
}

type source struct {
	FullName, FileName, UniqueName string
	Inlined                        bool
	Color                          int
	Display                        []string
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

// prune cuts off ends of stacks that are too small, counted with and without their sign
// alike, adds up equal stacks, and drops the sources that are left over.
func (s *stackSet) prune() {
	type call struct{ caller, source int }
	places := map[call]int{} // in the tree of calls, numbered from 1
	sizes := []int64{0}      // of places; 0 is the caller of the root
	paths := make([][]int, len(s.Stacks))
	for i, stack := range s.Stacks {
		at := 0
		for _, source := range stack.Sources {
			c := call{at, source}
			if places[c] == 0 {
				places[c] = len(sizes)
				sizes = append(sizes, 0)
			}
			at = places[c]
			sizes[at] += max(stack.Value, -stack.Value)
			paths[i] = append(paths[i], at)
		}
	}
	type end struct {
		place int
		less  bool // what there was of it before
	}
	sums := map[end]int{}
	kept := []stack{}
	for i, stack := range s.Stacks {
		n := len(paths[i])
		for n > 1 && float64(sizes[paths[i][n-1]]) < least*float64(sizes[1]) {
			n--
		}
		e := end{paths[i][n-1], stack.Value < 0}
		if at, ok := sums[e]; ok {
			kept[at].Value += stack.Value
			continue
		}
		sums[e] = len(kept)
		stack.Sources = stack.Sources[:n]
		kept = append(kept, stack)
	}
	s.Stacks = kept

	numbers := map[int]int{0: 0}
	sources := s.Sources[:1:1]
	for _, stack := range s.Stacks {
		for i, old := range stack.Sources {
			if _, ok := numbers[old]; !ok {
				numbers[old] = len(sources)
				sources = append(sources, s.Sources[old])
			}
			stack.Sources[i] = numbers[old]
		}
	}
	s.Sources = sources
}
