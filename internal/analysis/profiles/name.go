package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// What the compiler calls a closure says little: Go up to 1.26 numbers those
// that it inlines with those of the function it inlines them into, as
// main.main.Seq.func7 for what 1.27 calls inner.Seq.func1, and a closure more
// shifts the numbers of the others. What stays is where it begins. So a closure
// is known by its package, file and first line; where a file's lines have moved
// between settings, as between revisions, by its place among the closures of
// its function; and where these are not as many, all of them are one.
// Instances of generic functions are one, and so are the compiler's wrappers
// and the bodies of range-over-func loops with the function they belong to.

var (
	closureMark = regexp.MustCompile(`^(func)?\d+$`)
	wrapperMark = regexp.MustCompile(`^(gowrap|deferwrap)\d*$`)
	rangeMark   = regexp.MustCompile(`(-range\d+)+$`)
)

func rangeBody(symbol string) bool { return rangeMark.MatchString(symbol) }

// A symbol is a linker's name taken apart.
type symbol struct {
	pkg  string
	name string // without what compilers add; of a closure still with its marks
	// around is what stands before a closure's marks; nil if it is no closure.
	around []string
}

func parseSymbol(full string) symbol {
	s := generic(full)
	cut := strings.LastIndexByte(s, '/') + 1
	dot := strings.IndexByte(s[cut:], '.')
	if dot < 0 {
		return symbol{name: s}
	}
	sym := symbol{pkg: strings.ReplaceAll(s[:cut+dot], "%2e", ".")}
	var parts []string
	closure := -1 // the last mark's place in parts
	for _, part := range elements(strings.TrimSuffix(s[cut+dot+1:], "-fm")) {
		part = rangeMark.ReplaceAllString(part, "")
		switch {
		case wrapperMark.MatchString(part):
			continue
		case len(parts) == 1 && parts[0] == "init" && !strings.HasPrefix(part, "func") && closureMark.MatchString(part):
			parts[0] += "." + part // init.0 is a function
			continue
		case closureMark.MatchString(part) && len(parts) > 0:
			closure = len(parts)
		}
		parts = append(parts, part)
	}
	sym.name = strings.Join(parts, ".")
	if closure < 0 {
		return sym
	}
	for closure > 0 && closureMark.MatchString(parts[closure]) {
		closure--
	}
	from := closure
	for from > 0 && !closureMark.MatchString(parts[from-1]) {
		from--
	}
	sym.around = parts[from : closure+1]
	return sym
}

// generic writes the arguments of a generic function's instance as [...].
func generic(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	var b strings.Builder
	depth := 0
	for _, r := range s {
		switch {
		case r == '[':
			if depth == 0 {
				b.WriteString("[...]")
			}
			depth++
		case r == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// elements splits a name at its dots, but for those in brackets.
func elements(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '.':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}

// A version is a source file as one or more settings have it.
type version struct {
	tops     map[string]int          // where functions begin
	closures map[string]map[int]bool // where closures begin, by the function around them
}

// A namer knows the functions of all profiles by one name each.
type namer struct {
	own       func(pkg, file string) bool
	symbols   map[string]symbol
	pkgs      map[string]string              // of directories
	tops      map[string]bool                // functions that are no closures
	files     map[string][]*version          // by package and base name
	versions  map[string]map[string]*version // of files, by setting
	functions map[string]*Function
	done      map[*profile.Function]*Function
}

func newNamer(taken []Profiled, own func(pkg, file string) bool) *namer {
	n := &namer{
		own: own, symbols: map[string]symbol{}, pkgs: map[string]string{}, tops: map[string]bool{},
		files: map[string][]*version{}, versions: map[string]map[string]*version{},
		functions: map[string]*Function{}, done: map[*profile.Function]*Function{},
	}
	var settings []string
	bySetting := map[string][]*profile.Function{}
	for _, t := range taken {
		if bySetting[t.Setting] == nil {
			settings = append(settings, t.Setting)
		}
		bySetting[t.Setting] = append(bySetting[t.Setting], t.Profile.Function...)
		for _, f := range t.Profile.Function {
			if _, ok := n.symbols[f.Name]; !ok {
				n.symbols[f.Name] = parseSymbol(f.Name)
			}
			if s := n.symbols[f.Name]; s.around == nil && s.pkg != "" {
				// The runtime has functions that are linked as other packages'.
				if dir := path.Dir(f.Filename); n.pkgs[dir] == "" || strings.HasSuffix(dir, s.pkg) {
					n.pkgs[dir] = s.pkg
				}
				n.tops[s.pkg+"."+s.name] = true
			}
		}
	}
	for _, setting := range settings {
		n.see(setting, bySetting[setting])
	}
	return n
}

// see sorts the source files of a setting into those seen already.
func (n *namer) see(setting string, functions []*profile.Function) {
	seen := map[string]*version{}
	for _, f := range functions {
		s := n.symbols[f.Name]
		if s.pkg == "" || f.StartLine == 0 || s.around == nil && rangeBody(f.Name) {
			continue
		}
		file := n.file(f, s)
		v := seen[file]
		if v == nil {
			v = &version{map[string]int{}, map[string]map[int]bool{}}
			seen[file] = v
		}
		if s.around == nil {
			v.tops[s.name] = int(f.StartLine)
			continue
		}
		v.add(n.around(f, s), int(f.StartLine))
	}
	n.versions[setting] = map[string]*version{}
	for file, v := range seen {
		i := slices.IndexFunc(n.files[file], v.same)
		if i < 0 {
			n.files[file] = append(n.files[file], v)
			n.versions[setting][file] = v
			continue
		}
		old := n.files[file][i]
		maps.Copy(old.tops, v.tops)
		for around, lines := range v.closures {
			for line := range lines {
				old.add(around, line)
			}
		}
		n.versions[setting][file] = old
	}
}

// same reports whether two versions of a file may be one: no function that both have moved
// or, if there is none, some closure has not.
func (v *version) same(w *version) bool {
	shared := false
	for name, line := range v.tops {
		if other, ok := w.tops[name]; ok {
			if line != other {
				return false
			}
			shared = true
		}
	}
	if shared || len(v.closures) == 0 || len(w.closures) == 0 {
		return true
	}
	for around, lines := range v.closures {
		for line := range lines {
			if w.closures[around][line] {
				return true
			}
		}
	}
	return false
}

func (v *version) add(around string, line int) {
	if v.closures[around] == nil {
		v.closures[around] = map[int]bool{}
	}
	v.closures[around][line] = true
}

// file identifies a source file in all settings, whose directories differ.
func (n *namer) file(f *profile.Function, s symbol) string {
	return n.pkg(f, s) + "/" + path.Base(f.Filename)
}

// pkg is the package that a function was written in; an inlined closure is named for another.
func (n *namer) pkg(f *profile.Function, s symbol) string {
	dir := path.Dir(f.Filename)
	if p, ok := n.pkgs[dir]; ok && (s.around != nil || s.pkg == "") {
		return p
	}
	if _, in, ok := strings.Cut(dir, "/src/"); ok && s.pkg == "" { // assembly, such as indexbytebody
		return in
	}
	return s.pkg
}

// around is the function that a closure was written in.
func (n *namer) around(f *profile.Function, s symbol) string {
	last := len(s.around) - 1
	name := s.around[last]
	if last == 0 {
		return name
	}
	pkg, before := n.pkg(f, s), s.around[last-1]
	method := before + "." + name
	switch {
	case strings.HasPrefix(before, "("), n.tops[pkg+"."+method]:
		return method
	case n.tops[pkg+"."+name], n.tops[s.pkg+"."+before], last > 1, pkg != s.pkg:
		return name // inlined into the one before
	}
	return method
}

// function returns the one function that f is in all settings.
func (n *namer) function(setting string, f *profile.Function) *Function {
	if fn, ok := n.done[f]; ok {
		return fn
	}
	s, ok := n.symbols[f.Name]
	if !ok {
		s = parseSymbol(f.Name)
	}
	pkg, name := n.pkg(f, s), s.name
	if s.pkg != "" {
		name = s.pkg + "." + s.name
	}
	key := name
	if s.around != nil {
		key = n.closure(setting, f, s)
	}
	fn := n.functions[key]
	if fn == nil {
		fn = &Function{Name: name, Package: pkg, File: f.Filename, Line: int(f.StartLine)}
		fn.Own = n.own(pkg, f.Filename) && !strings.HasPrefix(s.name, "dynoProbe") && !strings.HasPrefix(s.name, "(*dynoProbe")
		n.functions[key] = fn
	}
	// Of its names the one that is not of a package it was inlined into, and the shortest.
	foreign := func(name string) int {
		if parseSymbol(name).pkg == pkg {
			return 0
		}
		return 1
	}
	if cmp.Or(foreign(name)-foreign(fn.Name), cmp.Compare(len(name), len(fn.Name)), cmp.Compare(name, fn.Name)) < 0 {
		fn.Name = name
	}
	n.done[f] = fn
	return fn
}

func (n *namer) closure(setting string, f *profile.Function, s symbol) string {
	around, file, line := n.around(f, s), n.file(f, s), int(f.StartLine)
	versions := n.files[file]
	mine := n.versions[setting][file]
	if mine == nil || line == 0 {
		return file + ":" + around + ".func"
	}
	if len(versions) == 1 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	for _, v := range versions {
		if k := len(v.closures[around]); k > 0 && k != len(mine.closures[around]) {
			return file + ":" + around + ".func"
		}
	}
	place := 0
	for other := range mine.closures[around] {
		if other < line {
			place++
		}
	}
	return fmt.Sprintf("%s:%s.func#%d", file, around, place)
}

func (n *namer) unknown() *Function {
	if n.functions[""] == nil {
		n.functions[""] = &Function{Name: "(unknown)"}
	}
	return n.functions[""]
}
