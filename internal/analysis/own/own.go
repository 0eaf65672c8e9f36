package profiles

import (
	"path"
	"slices"
	"strings"
)

// standard are the first elements of the standard library's packages.
var standard = strings.Fields(`archive arena bufio builtin bytes cmp compress container context crypto database debug
	embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak`)

// isStandard reports whether a function is of the standard library: by its package, and by
// its file, as the toolchain or -trimpath has it. The two may differ: internal/bytealg.MakeNoZero
// is in runtime/slice.go.
func isStandard(pkg, file string) bool {
	if !slices.Contains(standard, firstElement(pkg)) {
		return false
	}
	dir := path.Dir(file)
	if i := strings.LastIndex(dir, "/src/"); i >= 0 {
		dir = dir[i+len("/src/"):]
	}
	return file == "" || slices.Contains(standard, firstElement(dir))
}

func firstElement(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// guessOwn takes for the subject's own what is package main, and what is neither the
// standard library's, nor vendored, nor in the module cache, unless package main is there.
func guessOwn(taken []Profiled) func(pkg, file string) bool {
	module := ""
	for _, t := range taken {
		for _, f := range t.Profile.Function {
			if strings.HasPrefix(f.Name, "main.") {
				module = versioned(f.Filename)
				break
			}
		}
	}
	return func(pkg, file string) bool {
		switch {
		case pkg == "main":
			return true
		case pkg == "" || file == "" || isStandard(pkg, file) || strings.Contains(file, "/vendor/"):
			return false
		}
		in := versioned(file)
		return in == "" || in == module
	}
}

// versioned returns the directory of a file's module in the module cache, or "".
func versioned(file string) string {
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
