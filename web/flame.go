package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/report"
)

// perRequest reports whether a kind of profile counts what grows with requests,
// rather than a state.
func perRequest(kind string) bool { return kind != "goroutine" }

// comparable returns copies of profiles for pprof: with names that can be shown
// and, if there are two, both per million requests, so that a setting that
// answered more of them does not look worse.
func comparable(kind string, of Sum, base *Sum) (shown, from *profile.Profile, err error) {
	shown = clean(of.Profile)
	name := label(of.Setting)
	if base != nil {
		from = clean(base.Profile)
		name += " against " + label(base.Setting)
		if perRequest(kind) {
			for _, sum := range []Sum{of, *base} {
				if sum.Requests <= 0 {
					return nil, nil, fmt.Errorf("compare the %s profiles of %s: it is not known how many requests those of %s are of", kind, name, label(sum.Setting))
				}
			}
			shown.Scale(1e6 / float64(of.Requests))
			from.Scale(1e6 / float64(base.Requests))
			name += ", per million requests"
		}
	}
	entitle(shown, name)
	if from != nil {
		entitle(from, name)
	}
	return shown, from, nil
}

// entitle gives a profile the title of its pages, where else the name of the
// program is.
func entitle(p *profile.Profile, title string) {
	title = unquoted(strings.ReplaceAll(title, "/", "∕")) // pprof takes the last part of a path
	m := &profile.Mapping{ID: 1, File: title, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	p.Mapping = []*profile.Mapping{m}
	for _, l := range p.Location {
		l.Mapping = m
	}
}

const (
	mostFrames = 1000    // of a stack, from the leaf; Go has 128 at most
	mostInline = 100     // functions in a place of a stack, each inlined into the next
	mostSource = 4 << 20 // bytes of a file
)

// mostName is how many characters of a name are shown.
const mostName = 2000

// clean copies a profile. What a subject may have put into it that is no name is
// left out, and files that are no source are not named, as pprof shows what is in
// the files that a profile names.
func clean(p *profile.Profile) *profile.Profile {
	p = p.Copy()
	p.DocURL, p.Comments = "", nil
	files := map[string]string{}
	for _, f := range p.Function {
		f.Name, f.SystemName = printable(f.Name), printable(f.SystemName)
		name, ok := files[f.Filename]
		if !ok {
			name = sourceOf(printable(f.Filename))
			files[f.Filename] = name
		}
		f.Filename = name
	}
	for _, l := range p.Location {
		l.Line = l.Line[:min(len(l.Line), mostInline)]
	}
	for _, t := range append(slices.Clone(p.SampleType), p.PeriodType) {
		if t != nil {
			t.Type, t.Unit = unquoted(t.Type), unquoted(t.Unit)
		}
	}
	for _, s := range p.Sample {
		s.Location = s.Location[:min(len(s.Location), mostFrames)]
		cleanLabels(s)
	}
	return p
}

func cleanLabels(s *profile.Sample) {
	text, numbers, units := s.Label, s.NumLabel, s.NumUnit
	s.Label, s.NumLabel, s.NumUnit = map[string][]string{}, map[string][]int64{}, map[string][]string{}
	for key, values := range text {
		for i := range values {
			values[i] = unquoted(values[i])
		}
		if key = unquoted(key); key != "pprof::base" { // with that pprof marks what it compares with
			s.Label[key] = values
		}
	}
	for key, values := range numbers {
		of := units[key]
		for i := range of {
			of[i] = unquoted(of[i])
		}
		key = unquoted(key)
		s.NumLabel[key], s.NumUnit[key] = values, of
	}
}

// unquoted is printable without what pprof does not escape in titles, labels and
// units when it writes a graph for dot.
func unquoted(s string) string {
	return strings.NewReplacer(`"`, "'", `\`, "∖").Replace(printable(s))
}

// printable is a name without what no editor would show, such as control
// characters and those that turn the direction of writing.
func printable(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n > mostName {
			return -1
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}

// sourceOf is the name of a file as pprof may have it, which shows lines of what it
// finds by that name: a source of a size that sources have, at a path that leads to
// one, too, if it is a link; or nothing on this machine. Names without a root, as
// -trimpath leaves them, would be looked for in folders where they do not belong,
// and what is found there by luck is not shown either.
func sourceOf(name string) string {
	if !isSource(name) || strings.Contains(name, "..") || strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, noFolder) {
		return "" // also those of which pprof takes a part away
	}
	path := name
	if !filepath.IsAbs(name) {
		path = string(filepath.Separator) + name
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return name // nothing to be shown
	}
	info, err := os.Stat(path)
	if err != nil || !filepath.IsAbs(name) || !isSource(path) || !info.Mode().IsRegular() || info.Size() > mostSource {
		return ""
	}
	return path
}

// isSource reports whether a file's name is that of a source of a Go program.
func isSource(name string) bool {
	return name == "<autogenerated>" ||
		slices.Contains([]string{".go", ".s", ".S", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".rs", ".y", ".rl", ".l", ".re"}, filepath.Ext(name))
}

// least is the share of a flame graph that a box has to have to be in a page that
// is passed on. pprof draws none that is narrower than 4 pixels.
const least = 1.0 / 400

// FlamePage makes pprof's flame graph of a profile of a kind of dyno.ProfileNames,
// or of what changed since base if that is not nil, as one page that asks nobody
// for anything. In the page are only stacks of at least a 400th of the whole; what
// a smaller one took is its caller's. The scripts and styles of all such pages are
// the same, those of FlameBlocks.
func FlamePage(kind string, of Sum, base *Sum) (text []byte, err error) {
	defer func() { // a profile is what a subject wrote, and pprof trusts it
		if cause := recover(); cause != nil {
			text, err = nil, fmt.Errorf("draw the flame graph of %s: pprof: %v", label(of.Setting), cause)
		}
	}()
	shown, from, err := comparable(kind, of, base)
	if err != nil {
		return nil, err
	}
	if shown, from, err = prune(shown, from); err != nil {
		return nil, err
	}
	pages, err := openPprof(shown, from)
	if err != nil {
		return nil, err
	}
	got := fetchPage(pages["/flamegraph"], http.MethodGet, "")
	if got.status != 0 && got.status != http.StatusOK {
		return nil, fmt.Errorf("draw the flame graph of %s: %s", label(of.Setting), strings.TrimSpace(got.body.String()))
	}
	p := edited{text: got.body.String()}
	p.cut(`url("data:`, `no-repeat`, "")
	p.cut(`<div class="title">`, `<div>
    <input id="search"`, "")
	p.cut(`<div id="dialog-overlay">`, `<div id="errors">`, noDialogs)
	p.cut(`<span id="action-title">`, `</div>`, `<span id="action-title"></span>`)
	p.cut(`const sampleIDs = [`, `sampleIDs.forEach`, "const sampleIDs = [];\n  ")
	p.data()
	return []byte(p.text), p.err
}

// FlameBlocks are what is between the tags of all scripts and styles of flame
// pages, for the hashes of a content policy. Data is in a script of the type
// application/json, which is not run and needs none.
func FlameBlocks() (blocks report.FlameBlocks, err error) {
	f := &profile.Function{ID: 1, Name: "f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	any := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}},
		Location:   []*profile.Location{l}, Function: []*profile.Function{f},
	}
	text, err := FlamePage("cpu", Sum{Profile: any}, nil)
	if err != nil {
		return blocks, err
	}
	between := func(begin, end string) (blocks []string) {
		for rest := string(text); ; {
			_, after, ok := strings.Cut(rest, begin)
			if !ok {
				return blocks
			}
			var block string
			block, rest, _ = strings.Cut(after, end)
			blocks = append(blocks, block)
		}
	}
	blocks.Scripts, blocks.Styles = between("<script>", "</script>"), between(`<style type="text/css">`, "</style>")
	return blocks, nil
}

// noDialogs stands for pprof's dialogs, whose elements its scripts look for.
const noDialogs = `<div hidden><a id="save-config"></a><div id="dialog-overlay"></div>` +
	`<div id="save-dialog"><input id="save-name"><span id="save-error"></span><button id="save-cancel"></button><button id="save-confirm"></button></div>` +
	`<div id="delete-dialog"><div id="delete-prompt"></div><span id="delete-error"></span><button id="delete-cancel"></button><button id="delete-confirm"></button></div></div>
`

// alone starts a flame graph in a frame without an address of its own. pprof
// keeps the box that was chosen in the page's address, which such a page cannot
// change; and its menu leads to pages that are not there. What can be told from the
// stacks is not in the data.
const alone = `
(() => {
  'use strict';
  let address = 'about:srcdoc';
  Object.defineProperty(document, 'URL', {get: () => address});
  history.pushState = (state, title, url) => { address = String(url); };
  document.addEventListener('contextmenu', (e) => e.stopPropagation(), true);
  document.addEventListener('keydown', (e) => {
    if (e.key == 'Escape') {
      address = 'about:srcdoc';
      window.dispatchEvent(new Event('popstate'));
    }
  });
})();
var pprofUnitDefs;
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('stacks').textContent);
  pprofUnitDefs = data.Units;
  const sources = data.Sources.map(([FullName, FileName, UniqueName, Inlined, Color, Display]) => (
    {FullName, FileName, UniqueName: UniqueName || FullName, Inlined, Color, Display, Places: []}));
  const stacks = data.Stacks.map(([Value, ...Sources], Stack) => {
    new Set(Sources).forEach((i) => sources[i].Places.push({Stack, Pos: Sources.indexOf(i)}));
    return {Value, Sources};
  });
  stackViewer({...data, Sources: sources, Stacks: stacks}, sources.map((s, i) => i == 0 ? '' : s.FullName));
})();
`

// data puts what is drawn into a block of its own.
func (p *edited) data() {
	const units, stacks = "pprofUnitDefs = ", "stackViewer("
	begin := strings.LastIndex(p.text, "<script>")
	end := strings.LastIndex(p.text, "</script>")
	if p.err != nil || begin < 0 || end < begin {
		p.fail("<script>")
		return
	}
	block := p.text[begin:end]
	var set stackSet
	for mark, to := range map[string]any{units: &set.Units, stacks: &set} {
		_, text, _ := strings.Cut(block, mark)
		if err := json.NewDecoder(strings.NewReader(text)).Decode(to); err != nil {
			p.fail(mark)
			return
		}
	}
	data, err := json.Marshal(&set)
	if err != nil {
		p.err = err
		return
	}
	p.text = p.text[:begin] + `<script type="application/json" id="stacks">` + string(data) + "</script>\n  <script>" + alone + p.text[end:]
}

// A stackSet is what pprof draws, as it writes it; as JSON it is shorter.
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

func (s *stackSet) MarshalJSON() ([]byte, error) {
	stacks := make([][]int64, len(s.Stacks))
	for i, x := range s.Stacks {
		stacks[i] = append(stacks[i], x.Value)
		for _, source := range x.Sources {
			stacks[i] = append(stacks[i], int64(source))
		}
	}
	sources := make([][6]any, len(s.Sources))
	for i, x := range s.Sources {
		if x.UniqueName == x.FullName {
			x.UniqueName = ""
		}
		sources[i] = [6]any{x.FullName, x.FileName, x.UniqueName, x.Inlined, x.Color, x.Display}
	}
	return json.Marshal(map[string]any{
		"Units": s.Units, "Total": s.Total, "Scale": s.Scale, "Type": s.Type, "Unit": s.Unit, "Stacks": stacks, "Sources": sources,
	})
}

// An edited is text that is being changed. Its first error stays.
type edited struct {
	text string
	err  error
}

var errPage = errors.New("pprof's page is not as expected (consider: the pinned version of github.com/google/pprof)")

// cut puts text in place of what is from one mark to before the other.
func (p *edited) cut(from, to, with string) {
	i := strings.Index(p.text, from)
	if i < 0 {
		p.fail(from)
		return
	}
	n := strings.Index(p.text[i:], to)
	if n < 0 {
		p.fail(to)
		return
	}
	p.text = p.text[:i] + with + p.text[i+n:]
}

// cutLine takes out the first line with the mark.
func (p *edited) cutLine(mark string) {
	i := strings.Index(p.text, mark)
	if i < 0 {
		p.fail(mark)
		return
	}
	from := strings.LastIndexByte(p.text[:i], '\n') + 1
	rest := p.text[i:]
	p.text = p.text[:from] + rest[strings.IndexByte(rest, '\n')+1:]
}

func (p *edited) after(mark, text string)  { p.put(mark, mark+text) }
func (p *edited) before(mark, text string) { p.put(mark, text+mark) }

func (p *edited) put(mark, text string) {
	if !strings.Contains(p.text, mark) {
		p.fail(mark)
		return
	}
	p.text = strings.Replace(p.text, mark, text, 1)
}

func (p *edited) fail(mark string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: no %q", errPage, mark)
	}
}
