// Package own tells by a function's package and file whose code it is: the standard
// library's, a module's in the module cache, or the subject's own.
package own

import (
	"path"
	"slices"
	"strings"
)

// standard are the first elements of the standard library's packages.
var standard = strings.Fields(`archive arena bufio builtin bytes cmp compress container context crypto database debug
	embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak`)

// IsStandard reports whether a function is of the standard library: by its package, and by
// its file, as the toolchain or -trimpath has it. The two may differ: internal/bytealg.MakeNoZero
// is in runtime/slice.go. A name without a package is of assembly: then the file alone decides.
func IsStandard(pkg, file string) bool {
	if pkg != "" && !slices.Contains(standard, firstElement(pkg)) {
		return false
	}
	dir := path.Dir(file)
	if i := strings.LastIndex(dir, "/src/"); i >= 0 {
		dir = dir[i+len("/src/"):]
	}
	return file == "" && pkg != "" || slices.Contains(standard, firstElement(dir))
}

func firstElement(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// Is reports whether a function is the subject's own: of package main, or neither the
// standard library's, nor vendored, nor in the module cache, unless package main is
// there: module is its Module.
func Is(pkg, file, module string) bool {
	switch {
	case pkg == "main":
		return true
	case pkg == "" || file == "" || IsStandard(pkg, file) || strings.Contains(file, "/vendor/"):
		return false
	}
	in := Module(file)
	return in == "" || in == module
}

// Module returns the directory of a file's module in the module cache, or "".
func Module(file string) string {
	at := strings.Index(file, "@v")
	if at < 0 {
		return ""
	}
	end := strings.IndexByte(file[at:], '/')
	if end < 0 {
		return ""
	}
	return file[:at+end]
}

// Package returns the package of a function by its full name, such as
// example.org/a/b.(*T).m; "" of assembly, such as gcWriteBarrier.
func Package(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		return name[:slash+dot]
	}
	return ""
}
