// Package samecode tells which benchmarks of two test binaries run the same code. It walks through what the compiler
// made of both, beginning at a benchmark: each function, table and type that is referred to has to be the same, in its
// bytes and its references. Addresses are not yet in there. Names of files and numbers of lines, which only
// debuggers and stack traces show, do not count.
package samecode

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Reader compares binaries. It keeps the compiled packages that it has read.
type Reader struct {
	packages   map[string]*pkg     // by file
	references map[string][]string // of packages that are the same in both binaries, by name
}

// A Binary is what a test binary is linked from.
type Binary struct {
	Packages map[string]Package // by import path
	GoDebug  string             // GODEBUG as its module asks for it
}

// A Package is a compiled package.
type Package struct {
	File     string   // with its archive; one name has one content, as in the build cache
	Deps     []string // import paths of all packages that it imports, also through others
	Standard bool     // of the toolchain
}

// Sum is the same for the same content of binaries, by import path, in the same directory.
func Sum(binaries map[string]Binary) string {
	h := fnv.New64a()
	for _, path := range slices.Sorted(maps.Keys(binaries)) {
		b := binaries[path]
		fmt.Fprintln(h, path, b.GoDebug)
		for _, name := range slices.Sorted(maps.Keys(b.Packages)) {
			fmt.Fprintln(h, name, filepath.Base(b.Packages[name].File)) // its name is of its content
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// Benchmarks returns the benchmark functions of the package at path that two test binaries have. Same are the same code, with all
// that they can reach, and with all that is run before them. The error says that a compiled package cannot be read.
func (r *Reader) Benchmarks(path string, a, b Binary) (same, other []string, err error) {
	w := &walk{pairs: map[[2]symbol]*pair{}, meant: [2]map[symbol]symbol{{}, {}}}
	tests := []string{path, path + "_test"}
	for i, in := range []struct{ own, other Binary }{{a, b}, {b, a}} {
		if w.sides[i], err = r.open(in.own, in.other, tests); err != nil {
			return nil, nil, err
		}
	}
	defer func() {
		if recover() != nil {
			same, other, err = nil, nil, fmt.Errorf("compare the tests of %s: %w", path, errFormat)
		}
	}()
	before := w.before(tests) && a.GoDebug == b.GoDebug && math.Abs(w.sides[0].variables()-w.sides[1].variables()) <= muchMemory
	for _, p := range tests {
		for _, name := range benchmarksIn(w.sides[0], p) {
			if w.both(symbolPrefix(p)+"."+name) && before {
				same = append(same, name)
			} else {
				other = append(other, name)
			}
		}
	}
	return same, other, nil
}

// A side is a test binary, of packages that the other one does not have so, and of those with the tests.
type side struct {
	packages map[string]*pkg // by symbolPrefix of their path
	named    map[string]symbol
}

// open reads the packages that differ, those that import them, and those that refer to one of them by a name (go:linkname, assembly) without
// importing it.
func (r *Reader) open(own, other Binary, tests []string) (*side, error) {
	s := &side{packages: map[string]*pkg{}, named: map[string]symbol{}}
	differ, rest := map[string]bool{}, []string{}
	for _, path := range slices.Sorted(maps.Keys(own.Packages)) {
		if own.Packages[path].File == "" { // package unsafe
			continue
		}
		if differ[path] = own.Packages[path].File != other.Packages[path].File; !differ[path] {
			rest = append(rest, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(differ)) {
		if differ[path] || slices.Contains(tests, path) {
			if err := r.take(s, path, own); err != nil {
				return nil, err
			}
		}
	}
	for more := true; more; {
		more = false
		for _, path := range rest {
			p := own.Packages[path]
			if differ[path] {
				continue
			}
			linked, err := r.linked(s, p)
			if err != nil {
				return nil, err
			}
			if linked || slices.ContainsFunc(p.Deps, func(dep string) bool { return differ[dep] }) {
				differ[path], more = true, true
				if err := r.take(s, path, own); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, nil
}

// take makes a package part of a side.
func (r *Reader) take(s *side, path string, own Binary) error {
	p, err := r.read(own.Packages[path].File)
	if err != nil {
		return err
	}
	s.packages[symbolPrefix(path)] = p
	for name, sym := range p.named {
		if _, ok := s.named[name]; !ok {
			s.named[name] = sym
		}
	}
	return nil
}

// linked reports whether a package refers by name to a function or a variable that the side has. Of the standard library that is taken to be
// known.
func (r *Reader) linked(s *side, p Package) (bool, error) {
	if p.Standard {
		return false, nil
	}
	names, ok := r.references[p.File]
	if !ok {
		read, err := readArchive(p.File)
		if err != nil {
			return false, err
		}
		if names, err = read.references(); err != nil {
			return false, err
		}
		if r.references == nil {
			r.references = map[string][]string{}
		}
		r.references[p.File] = names
	}
	return slices.ContainsFunc(names, func(name string) bool {
		sym, ok := s.named[name]
		return ok && !sym.shared()
	}), nil
}

// variables is how many bytes the variables of a side have. Collections scan them, whoever uses them.
func (s *side) variables() (sum float64) {
	for _, p := range s.packages {
		for _, o := range p.objects {
			for i := range o.defs[3] {
				if v := (symbol{o, i}); v.typed() {
					sum += float64(v.size())
				}
			}
		}
	}
	return sum
}

// muchMemory is a difference in bytes of variables that collections take longer for.
const muchMemory = 4096

func (r *Reader) read(file string) (*pkg, error) {
	if p := r.packages[file]; p != nil {
		return p, nil
	}
	p, err := readArchive(file)
	if err != nil {
		return nil, err
	}
	if r.packages == nil {
		r.packages = map[string]*pkg{}
	}
	r.packages[file] = p
	return p, nil
}

// find returns what a reference means: a symbol of the packages that were read, or the target itself.
func (s *side) find(from *object, t target) (symbol, target) {
	switch p := s.packages[t.pkg]; { // which objects write as symbolPrefix does
	case t.symbol.o != nil:
		return t.symbol, target{}
	case t.pkg != "" && p != nil:
		if len(p.objects) == 0 || t.index >= p.objects[0].defs[0] {
			panic(errFormat)
		}
		return symbol{p.objects[0], t.index}, target{} // the compiler's object is the first, then those of assemblers
	case t.name != "":
		if sym, ok := from.p.named[t.name]; ok {
			return sym, target{}
		}
		if sym, ok := s.named[t.name]; ok {
			return sym, target{}
		}
	}
	return symbol{}, t
}

// A walk compares symbols of two binaries.
type walk struct {
	sides [2]*side
	pairs map[[2]symbol]*pair
	meant [2]map[symbol]symbol // what a definition of one side is on the other
}

// A pair of symbols is the same unless what it reaches differs.
type pair struct {
	differs bool
	from    []*pair // that refer to it
}

// before reports whether the same is run before the benchmarks of a package: what packages initialize, and TestMain.
func (w *walk) before(tests []string) bool {
	names := map[string]bool{}
	for _, s := range w.sides {
		for name := range s.packages {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var other [2][][]byte
		for i, s := range w.sides {
			if p := s.packages[name]; p != nil {
				other[i] = p.other
			}
		}
		if !slices.EqualFunc(other[0], other[1], bytes.Equal) { // C code, whose parts dyno does not tell apart
			return false
		}
		if !w.both(name+"..inittask") || !w.sameExports(name) {
			return false
		}
	}
	for _, path := range tests {
		if !w.both(symbolPrefix(path) + ".TestMain") {
			return false
		}
	}
	return true
}

// sameExports reports whether what C code of a package may call is the same.
func (w *walk) sameExports(name string) bool {
	names := map[string]bool{}
	for _, s := range w.sides {
		if p := s.packages[name]; p != nil && len(p.other) > 0 {
			for name := range p.named {
				if strings.HasPrefix(name, "_cgoexp_") {
					names[name[:strings.LastIndexByte(name, '<')]] = true
				}
			}
		}
	}
	for name := range names {
		if !w.both(name) {
			return false
		}
	}
	return true
}

// both reports whether the symbols of that name are the same. A symbol that is in neither side is.
func (w *walk) both(name string) bool {
	for _, abi := range []string{"<0>", "<1>"} { // of data, and of functions
		a, inA := w.sides[0].named[name+abi]
		b, inB := w.sides[1].named[name+abi]
		if inA != inB || inA && !w.same(a, b) {
			return false
		}
	}
	return true
}

// same compares two symbols and all that they reach.
func (w *walk) same(a, b symbol) bool {
	first := w.pairs[[2]symbol{a, b}]
	if first != nil {
		return !first.differs
	}
	first = w.pair(a, b)
	w.pairUp(a, b)
	for todo := [][2]symbol{{a, b}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		p := w.pairs[at]
		children, ok := w.compare(at[0], at[1])
		if !ok {
			p.spoil()
			continue
		}
		for _, c := range children {
			child := w.pairs[c]
			if child == nil {
				child = w.pair(c[0], c[1])
				w.pairUp(c[0], c[1])
				todo = append(todo, c)
			}
			child.from = append(child.from, p)
			if child.differs {
				p.spoil()
			}
		}
	}
	return !first.differs
}

func (w *walk) pair(a, b symbol) *pair {
	p := &pair{}
	w.pairs[[2]symbol{a, b}] = p
	return p
}

// pairUp notes that a is b on the other side. If another one was that already, it is not the same as before who refers to whom: with q = p in
// the place of q = &T{}, two variables have become one.
func (w *walk) pairUp(a, b symbol) {
	if a.hashed() || a.shared() || !alike(a, b) {
		return
	}
	for i, s := range [2][2]symbol{{a, b}, {b, a}} {
		if other, ok := w.meant[i][s[0]]; !ok {
			w.meant[i][s[0]] = s[1]
		} else if other != s[1] {
			w.pairs[[2]symbol{a, b}].spoil()
			first := [2]symbol{s[0], other}
			if i == 1 {
				first = [2]symbol{other, s[0]}
			}
			w.pairs[first].spoil()
		}
	}
}

// spoil marks a pair as different, and all that refer to it.
func (p *pair) spoil() {
	for todo := []*pair{p}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !p.differs {
			p.differs = true
			todo = append(todo, p.from...)
		}
	}
}

// compare compares two symbols, and returns the pairs that they refer to.
func (w *walk) compare(a, b symbol) (children [][2]symbol, ok bool) {
	if !bytes.Equal(a.head()[8:], b.head()[8:]) || !bytes.Equal(a.content(), b.content()) || a.hashed() != b.hashed() {
		return nil, false
	}
	// Code may write to a variable of one name and to one of another: these are not the same, though they look alike.
	if !a.hashed() && !alike(a, b) {
		return nil, false
	}
	of, to := a.refs(), b.refs()
	if len(of) != len(to) {
		return nil, false
	}
	for i := range of {
		inA, outA := w.sides[0].find(a.o, of[i].to)
		inB, outB := w.sides[1].find(b.o, to[i].to)
		if of[i].how != to[i].how || outA != outB || (inA.o == nil) != (inB.o == nil) || outA.pkg == "os/exec" { // what another program does is not known
			return nil, false
		}
		if inA.o != nil {
			children = append(children, [2]symbol{inA, inB})
		}
	}
	return children, true
}

// alike reports whether symbols have one name, but for a number of the compiler's.
func alike(a, b symbol) bool {
	return numbered.ReplaceAllString(a.name(), "$1") == numbered.ReplaceAllString(b.name(), "$1")
}

// numbered are names that the compiler numbers, whose numbers depend on what else is in a package or a function.
var numbered = regexp.MustCompile(`(\.\.stmp_|\.func|\.gowrap|\.deferwrap|-range|\.\.gobytes\.|\.\.dict|\.\.closure)\d+`)

// benchmarksIn returns the benchmark functions of a package, by name.
func benchmarksIn(s *side, path string) (names []string) {
	for name := range s.named {
		name, ok := strings.CutSuffix(name, "<1>")
		name, of := strings.CutPrefix(name, symbolPrefix(path)+".")
		rest, is := strings.CutPrefix(name, "Benchmark")
		next, _ := utf8.DecodeRuneInString(rest)
		if ok && of && is && !strings.Contains(rest, ".") && (rest == "" || !unicode.IsLower(next)) { // as testing has it
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// symbolPrefix is how an import path is written in names of symbols (cmd/internal/objabi/path.go, PathToPrefix).
func symbolPrefix(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c <= ' ' || i > slash && c == '.' || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
