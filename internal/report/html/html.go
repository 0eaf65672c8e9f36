// Package html makes the page of a run: a file that loads nothing else, or a page that a server sends.
package html

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/report/pprofpage"
)

//go:embed page
var embedded embed.FS

// Assets are the style sheets and scripts of a page, for a server to hand out
// below Site.Assets.
var Assets = func() fs.FS {
	sub, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err)
	}
	return sub
}()

var templates = template.Must(template.ParseFS(Assets, "*.tmpl"))

// MostBytes is the largest size of a file.
const MostBytes = 2_000_000

// HTML writes the page. Without p.Site it is one self-contained file that loads nothing else, at most 2 MB;
// else it is a page that a server sends. If flame graphs would make the file too large, the largest are left
// out, and the page says which. The error is w's.
func HTML(w io.Writer, p *Page) error {
	p = tamed(p)
	data, err := island(p)
	if err != nil {
		return err
	}
	if p.Site != nil {
		out := newPaper(p)
		out.Head, out.Tail = linked(p.Site), data
		return templates.ExecuteTemplate(w, "page", out)
	}
	return file(w, p, data)
}

// file leaves out what makes the page too large: flame graphs, the largest first, then the picture.
func file(w io.Writer, p *Page, data template.HTML) error {
	kept, flames := *p, make([]template.HTML, len(p.Flames))
	var blocks pprofpage.Blocks
	if len(flames) > 0 {
		var err error
		if blocks, err = pprofpage.FlameBlocks(); err != nil {
			return err
		}
	}
	kept.Flames = slices.Clone(p.Flames)
	for i, f := range p.Flames {
		flames[i] = packFlame(fmt.Sprintf("flame-%d", i+1), f.HTML)
	}
	var left []Flame
	for {
		kept.Notes = slices.Clone(p.Notes)
		if left != nil {
			kept.Notes = append(kept.Notes, withoutFlames(left, p.Origin.Dir))
		}
		if kept.Picture == nil && p.Picture != nil {
			kept.Notes = append(kept.Notes, "response times and memory over time, as the file would be larger than 2 MB (consider: dyno view)")
		}
		var b bytes.Buffer
		out := newPaper(&kept)
		out.Head, out.Tail = inlined(data, flames, blocks)
		if err := templates.ExecuteTemplate(&b, "page", out); err != nil {
			return err
		}
		over := b.Len() - MostBytes
		if over <= 0 || len(left) == len(flames) && kept.Picture == nil {
			_, err := w.Write(b.Bytes())
			return err
		}
		for over > 0 && len(left) < len(flames) {
			most := 0
			for i := range flames {
				if len(flames[i]) > len(flames[most]) {
					most = i
				}
			}
			over -= len(flames[most])
			left = append(left, p.Flames[most])
			kept.Flames[most].HTML, flames[most] = nil, ""
		}
		if over > 0 {
			kept.Picture, data = nil, ""
		}
	}
}

// island holds the picture for the scripts. < is escaped, so that no text can end the element.
func island(p *Page) (template.HTML, error) {
	if p.Picture == nil {
		return "", nil
	}
	var b bytes.Buffer
	if err := PictureJSON(&b, p.Picture); err != nil {
		return "", err
	}
	return islandOf(b.Bytes()), nil
}

// islandOf returns an element that holds JSON; "" if data is not JSON.
func islandOf(data []byte) template.HTML {
	if !json.Valid(data) {
		return ""
	}
	text := bytes.ReplaceAll(data, []byte("<"), []byte(`\u003c`))
	return template.HTML(`<script type="application/json" id="picture">` + string(text) + "</script>\n")
}

// sheets are the style sheets, in the order in which they apply.
func sheets() []string {
	names, _ := fs.Glob(Assets, "*.css")
	order := []string{"chart.css", "page.css", "interactive.css"}
	slices.SortStableFunc(names, func(a, b string) int {
		at := func(name string) int {
			if i := slices.Index(order, name); i >= 0 {
				return i
			}
			return len(order)
		}
		return cmp.Compare(at(a), at(b))
	})
	return names
}

func linked(s *Site) template.HTML {
	var b strings.Builder
	for _, name := range sheets() {
		b.WriteString(`<link rel="stylesheet" href="` + template.HTMLEscapeString(s.Assets+name) + "\">\n")
	}
	b.WriteString(`<script type="module" src="` + template.HTMLEscapeString(s.Assets+entry) + "\"></script>\n")
	return template.HTML(b.String())
}

const entry = "page.js"

// inlined returns the head and the end of a file that needs no bundler. Every module is a
// data: URL in an import map, under a name that begins with "dyno/"; one line imports the
// first.
//
// The policy allows the map and that line by their hashes, and what they import by
// 'strict-dynamic', but no script, handler or javascript: URL that got into the page.
// 'strict-dynamic' trusts only scripts that another script adds, so a script adds the line.
// Flame graphs live under this policy too, which has the hashes of pprof's own scripts and
// no others. Frames need no source, as they use srcdoc.
//
// Note: data: in script-src would allow every <script src="data:…">.
func inlined(data template.HTML, flames []template.HTML, blocks pprofpage.Blocks) (head, tail template.HTML) {
	importMap := moduleMap()
	const first = `import "dyno/` + entry + `";`
	const start = `{ const s = document.createElement("script"); s.type = "module"; s.textContent = '` + first + `'; document.head.append(s); }`
	scripts := []string{hash(importMap), hash(start), hash(first)}
	var styles []string
	var style, end strings.Builder
	for _, name := range sheets() {
		text := strings.ReplaceAll(asset(name), "</", `<\/`)
		style.WriteString("<style>" + text + "</style>\n")
		styles = append(styles, hash(text))
	}
	end.WriteString(string(data))
	for _, f := range flames {
		end.WriteString(string(f))
	}
	for _, text := range blocks.Scripts {
		scripts = append(scripts, hash(string(text)))
	}
	for _, text := range blocks.Styles {
		styles = append(styles, hash(string(text)))
	}
	end.WriteString(`<script type="importmap">` + importMap + "</script>\n" + "<script>" + start + "</script>\n")
	slices.Sort(scripts)
	slices.Sort(styles)
	policy := "default-src 'none'; script-src 'strict-dynamic' " + strings.Join(slices.Compact(scripts), " ") +
		"; style-src " + strings.Join(slices.Compact(styles), " ") + "; img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'"
	return template.HTML(`<meta http-equiv="Content-Security-Policy" content="` + policy + "\">\n" + style.String()), template.HTML(end.String())
}

func asset(name string) string {
	data, err := fs.ReadFile(Assets, name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// imported matches an import of one of our modules by another: `from "./scale.js"`.
var imported = regexp.MustCompile(`(\bfrom\s*|\bimport\s*\(?\s*)(["'])\./([\w-]+\.js)(["'])`)

// moduleMap renames imports, as a data: URL has no folder for names that begin with ./.
func moduleMap() string {
	imports := map[string]string{}
	var add func(name string)
	add = func(name string) {
		key := "dyno/" + path.Base(name)
		if _, ok := imports[key]; ok {
			return
		}
		data, err := fs.ReadFile(Assets, name)
		if err != nil {
			return // a comment named it
		}
		imports[key] = ""
		text := string(data)
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			add(m[3])
		}
		text = imported.ReplaceAllString(text, "${1}${2}dyno/${3}${4}")
		imports[key] = "data:text/javascript;base64," + base64.StdEncoding.EncodeToString([]byte(text))
	}
	add(entry)
	data, err := json.Marshal(map[string]any{"imports": imports})
	if err != nil {
		panic(err)
	}
	return string(data)
}
