package samecode

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Tree is a repository's files, by their paths in it.
type Tree struct {
	Root  string
	Files []string
}

// Data compares the files that benchmarks may read. It returns the name of one that differs, or is in one tree only; "" if there is none.
func Data(a, b Tree) string {
	of, to := slices.DeleteFunc(slices.Clone(a.Files), unread), slices.DeleteFunc(slices.Clone(b.Files), unread)
	slices.Sort(of)
	slices.Sort(to)
	for i, name := range of {
		if i >= len(to) || to[i] != name {
			return name
		}
		if !equal(filepath.Join(a.Root, name), filepath.Join(b.Root, name)) {
			return name
		}
	}
	if len(to) > len(of) {
		return to[len(of)]
	}
	return ""
}

// State is the same as long as no file changes that benchmarks may read.
func (t Tree) State() string {
	h := fnv.New64a()
	for _, name := range t.Files {
		if unread(name) {
			continue
		}
		if in, err := os.Stat(filepath.Join(t.Root, name)); err == nil {
			fmt.Fprintln(h, name, in.Size(), in.ModTime().UnixNano())
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// code has the extensions of what a package is compiled from.
var code = []string{".go", ".s", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".F", ".f90", ".S", ".swig", ".swigcxx", ".syso"}

// unread reports whether no benchmark is expected to read a file: code, what says how to build, and texts for people.
func unread(name string) bool {
	elems := strings.Split(name, "/")
	base := elems[len(elems)-1]
	switch {
	case slices.Contains(elems, "testdata"):
		return false
	case slices.ContainsFunc(elems, func(e string) bool { return strings.HasPrefix(e, ".") }):
		return true
	case slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum", "Makefile", "Dockerfile", "LICENSE", "NOTICE", "AUTHORS", "CONTRIBUTORS", "CODEOWNERS", "PATENTS"}, base):
		return true
	case path.Ext(base) == ".md": // else an input, as of a parser
		return len(elems) == 1 || base == "README.md" || slices.Contains([]string{"doc", "docs"}, elems[0])
	}
	return slices.Contains(code, path.Ext(base)) || name == "vendor/modules.txt"
}

func equal(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	if errA != nil || errB != nil || inA.Size() != inB.Size() || inA.IsDir() || inB.IsDir() { // a directory is a submodule
		return os.IsNotExist(errA) && os.IsNotExist(errB) // and was removed, but git has it
	}
	textA, errA := os.ReadFile(a)
	textB, errB := os.ReadFile(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}
