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
	packages map[string]*pkg // by file
}

// A Binary is what a test binary is linked from.
type Binary struct {
	Packages map[string]Package // by import path
	GoDebug  string             // GODEBUG as its module asks for it
}

// A Package is a compiled package.
type Package struct {
	File string   // with its archive; one name has one content, as in the build cache
	Deps []string // import paths of all packages that it imports, also through others
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
	w := &walk{pairs: map[[2]symbol]*pair{}}
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
	before := w.before(tests) && a.GoDebug == b.GoDebug
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

func (r *Reader) open(own, other Binary, tests []string) (*side, error) {
	s := &side{packages: map[string]*pkg{}, named: map[string]symbol{}}
	differs := func(path string) bool { return own.Packages[path].File != other.Packages[path].File }
	for _, path := range slices.Sorted(maps.Keys(own.Packages)) {
		p := own.Packages[path]
		if p.File == "" || !differs(path) && !slices.ContainsFunc(p.Deps, differs) && !slices.Contains(tests, path) {
			continue // it has no code, as package unsafe, or all that it reaches is the same
		}
		read, err := r.read(p.File)
		if err != nil {
			return nil, err
		}
		s.packages[symbolPrefix(path)] = read
		for name, sym := range read.named {
			if _, ok := s.named[name]; !ok {
				s.named[name] = sym
			}
		}
	}
	return s, nil
}

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
	switch p := s.packages[symbolPrefix(t.pkg)]; {
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
	for name := range names {
		var other [2][][]byte
		for i, s := range w.sides {
			if p := s.packages[name]; p != nil {
				other[i] = p.other
			}
		}
		if !slices.EqualFunc(other[0], other[1], bytes.Equal) { // C code, whose parts dyno does not tell apart
			return false
		}
		if !w.both(name + "..inittask") {
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
	if !a.hashed() && numbered.ReplaceAllString(a.name(), "$1") != numbered.ReplaceAllString(b.name(), "$1") {
		return nil, false
	}
	of, to := a.refs(), b.refs()
	if len(of) != len(to) {
		return nil, false
	}
	for i := range of {
		inA, outA := w.sides[0].find(a.o, of[i].to)
		inB, outB := w.sides[1].find(b.o, to[i].to)
		if of[i].how != to[i].how || outA != outB || (inA.o == nil) != (inB.o == nil) {
			return nil, false
		}
		if inA.o != nil {
			children = append(children, [2]symbol{inA, inB})
		}
	}
	return children, true
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
