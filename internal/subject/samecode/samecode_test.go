package samecode

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module has benchmarks of package m/a, which imports m/b, which imports m/c.
var module = map[string]string{
	"go.mod": "module m\n\ngo 1.24\n\nrequire ext v0.0.0\n\nreplace ext => EXT\n",
	"a/a.go": `package a

import (
	"os/exec"
	"runtime"

	"ext/mid"
	"m/b"
	"m/yaml.v3"
)

var one, two int

type thing struct{ n [100]int }

type big [1 << 20]int

var p, q = &thing{}, &thing{}

var table [10]*int

func Plain() int  { return b.Twice(1) }
func Other() int  { return b.Deep(1) }
func Table() int  { return int(b.Names[1][0]) }
func Method() int { return describe(b.T{N: 1}) }
func Lit() int    { f := func() int { one++; return one }; return f() }
func Count() int  { two++; return two }
func Gen() int    { return b.Max(1, 2) }
func Asm()        { asm() }
func Dotted() int { return yaml.Get() }
func Alias() int  { p.n[0]++; return q.n[0] }
func Linked() int { return mid.Get() }
func Alive()      { t := new(big); use(t); runtime.KeepAlive(t); none() }
func Other2() int { return len(table) }
func Exec() error { return exec.Command("true").Run() }

//go:noinline
func use(*big) {}

//go:noinline
func none() {}

func asm()

type describer interface{ Describe() int }

func describe(d describer) int { return d.Describe() }
`,
	"a/a.s": "TEXT ·asm(SB),4,$0-0\n\tRET\n",
	"a/a_test.go": `package a

import "testing"

func BenchmarkPlain(b *testing.B)  { for b.Loop() { Plain() } }
func BenchmarkOther(b *testing.B)  { for b.Loop() { Other() } }
func BenchmarkTable(b *testing.B)  { for b.Loop() { Table() } }
func BenchmarkMethod(b *testing.B) { b.Run("sub", func(b *testing.B) { for b.Loop() { Method() } }) }
func BenchmarkLit(b *testing.B)    { for b.Loop() { Lit() } }
func BenchmarkCount(b *testing.B)  { for b.Loop() { Count() } }
func BenchmarkGen(b *testing.B)    { for b.Loop() { Gen() } }
func BenchmarkAsm(b *testing.B)    { for b.Loop() { Asm() } }
func BenchmarkDotted(b *testing.B) { for b.Loop() { Dotted() } }
func BenchmarkAlias(b *testing.B)  { for b.Loop() { Alias() } }
func BenchmarkLinked(b *testing.B) { for b.Loop() { Linked() } }
func BenchmarkAlive(b *testing.B)  { for b.Loop() { Alive() } }
func BenchmarkExec(b *testing.B)   { for b.Loop() { Exec() } }
func Benchmarkless(b *testing.B)   { Other2() }
`,
	"a/x_test.go": `package a_test

import (
	"testing"

	"m/a"
)

func BenchmarkOutside(b *testing.B) { for b.Loop() { a.Plain() } }
`,
	"b/b.go": `package b

import (
	_ "embed"

	"m/c"
)

var Names = []string{"one", "two"}

//go:noinline
func Twice(n int) int { return 2 * n }

//go:noinline
func Pulled() int { return 7 }

//go:noinline
func Deep(n int) int { return c.Add(n) }

type T struct{ N int }

func (t T) Describe() int { return t.N + 1 }

//go:noinline
func Max[E int | string](a, b E) E { if a > b { return a }; return b }

//go:noinline
func Unused(n int) int { x := []int{n, n + 1, 7}; return x[n%3] }
`,
	"yaml.v3/yaml.go": "package yaml\n\n//go:noinline\nfunc Get() int { return 1 }\n",
	"c/c.go":          "package c\n\n//go:noinline\nfunc Add(n int) int { return n + 1 }\n",
}

// ext is a module in a place of its own, so that what the compiler made of it is the same for all. A package of it knows one of m by name.
var ext = map[string]string{
	"go.mod":     "module ext\n\ngo 1.24\n",
	"mid/mid.go": "package mid\n\nimport _ \"unsafe\"\n\n//go:linkname pulled m/b.Pulled\nfunc pulled() int\n\nfunc Get() int { return pulled() }\n",
	"mid/mid.s":  "",
}

var all = []string{"Alias", "Alive", "Asm", "Count", "Dotted", "Gen", "Linked", "Lit", "Method", "Other", "Outside", "Plain", "Table"}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// write makes the module in a directory, with the first text of each change replaced by the second in a file, or the file added.
func write(t *testing.T, extDir string, changes ...[3]string) string {
	t.Helper()
	dir := t.TempDir()
	files := maps.Clone(module)
	for _, c := range changes {
		if !strings.Contains(files[c[0]], c[1]) {
			t.Fatalf("%s has no %q", c[0], c[1])
		}
		files[c[0]] = strings.Replace(files[c[0]], c[1], c[2], 1)
	}
	files["go.mod"] = strings.Replace(files["go.mod"], "EXT", extDir, 1)
	writeFiles(t, dir, files)
	return dir
}

// compiled is what the tests of m/a in a directory are linked from.
func compiled(t *testing.T, dir string, flags ...string) Binary {
	t.Helper()
	cmd := exec.Command("go", slices.Concat([]string{"list", "-test", "-deps", "-export", "-json"}, flags, []string{"./a"})...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	b := Binary{Packages: map[string]Package{}}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l struct {
			ImportPath, Export, DefaultGODEBUG string
			Standard                           bool
			Deps                               []string
		}
		if err := dec.Decode(&l); err == io.EOF {
			return b
		} else if err != nil {
			t.Fatal(err)
		}
		if l.ImportPath == "m/a.test" {
			b.GoDebug = l.DefaultGODEBUG
			continue
		}
		path, _, variant := strings.Cut(l.ImportPath, " [")
		if _, ok := b.Packages[path]; !ok || variant {
			b.Packages[path] = Package{File: l.Export, Deps: l.Deps, Standard: l.Standard}
		}
	}
}

// What a change does not reach is the same code, and nothing else is.
func TestBenchmarks(t *testing.T) {
	extDir := t.TempDir()
	writeFiles(t, extDir, ext)
	base := compiled(t, write(t, extDir))
	but := func(changed ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(changed, name) })
	}
	for _, c := range []struct {
		name    string
		changes [][3]string
		same    []string
	}{
		{"nothing", nil, all},
		{"comments and lines", [][3]string{{"b/b.go", "package b\n", "// Package b is new.\npackage b\n\n// Here.\n"}, {"a/a_test.go", "import", "// A comment.\nimport"}}, all},
		{"a function that none calls", [][3]string{{"b/b.go", "n + 1, 7}", "n + 2, 7, 8}"}}, all},
		{"new functions and tables", [][3]string{{"b/b.go", "type T", "var more = [...]string{\"x\", \"y\"}\n\nfunc More(n int) func() string { return func() string { return more[n] } }\n\ntype T"}}, all},
		{"a function", [][3]string{{"b/b.go", "2 * n", "3 * n"}}, but("Plain", "Outside")},
		{"a function of a package that another one imports", [][3]string{{"c/c.go", "n + 1", "n + 2"}}, but("Other")},
		{"a table", [][3]string{{"b/b.go", `"two"`, `"too"`}}, but("Table")},
		{"a method behind an interface", [][3]string{{"b/b.go", "t.N + 1", "t.N + 2"}}, but("Method")},
		{"a generic function", [][3]string{{"b/b.go", "a > b", "a >= b"}}, but("Gen")},
		{"a literal", [][3]string{{"a/a.go", "{ one++;", "{ one += 2;"}}, but("Lit")},
		{"another variable", [][3]string{{"a/a.go", "two++; return two", "one++; return one"}}, but("Count")},
		{"a package with a dot in its name", [][3]string{{"yaml.v3/yaml.go", "return 1", "return 2"}}, but("Dotted")},
		{"two variables that become one", [][3]string{{"a/a.go", "&thing{}, &thing{}", "&thing{}, func() *thing { return p }()"}}, but("Alias")},
		{"another table", [][3]string{{"a/a.go", "var p, q = &thing{}, &thing{}", "var p = &thing{}\nvar q = p"}}, but("Alias")},
		{"a function that another module knows by name", [][3]string{{"b/b.go", "return 7 }", "return 8 }"}}, but("Linked")},
		{"how long something is alive", [][3]string{{"a/a.go", "runtime.KeepAlive(t); none() }", "none(); runtime.KeepAlive(t) }"}}, but("Alive")},
		{"a variable that all collections look at", [][3]string{{"a/a.go", "var table [10]*int", "var table [10000]*int"}}, nil},
		{"assembly", [][3]string{{"a/a.s", "RET\n", "RET\n\tRET\n"}}, but("Asm")},
		{"a benchmark", [][3]string{{"a/a_test.go", "Other()", "Other(); Table()"}}, but("Other")},
		{"an initialization", [][3]string{{"c/c.go", "package c\n", "package c\n\nvar m = map[int]int{}\n\nfunc init() { m[1]++ }\n"}}, nil},
		{"TestMain", [][3]string{{"a/a_test.go", "func BenchmarkPlain", "func TestMain(m *testing.M) { Plain(); m.Run() }\n\nfunc BenchmarkPlain"}}, nil},
		{"a benchmark that is new", [][3]string{{"a/a_test.go", "func BenchmarkPlain", "func BenchmarkNew(b *testing.B) {}\n\nfunc BenchmarkPlain"}}, all},
		{"a setting of GODEBUG", [][3]string{{"go.mod", "go 1.24\n", "go 1.24\n\ngodebug panicnil=1\n"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, flags := range [][]string{nil, {"-trimpath"}} {
				a, b := base, compiled(t, write(t, extDir, c.changes...), flags...)
				if flags != nil {
					a = compiled(t, write(t, extDir), flags...)
				}
				same, other, err := new(Reader).Benchmarks("m/a", a, b)
				if err != nil {
					t.Fatal(err)
				}
				for i := range same {
					same[i] = strings.TrimPrefix(same[i], "Benchmark")
				}
				slices.Sort(same)
				if !slices.Equal(same, c.same) || len(same)+len(other) != len(all)+1 { // and what runs other programs
					t.Errorf("%v: the same are %v, want %v; others %v", flags, same, c.same, other)
				}
			}
		})
	}
}

// Object files of an unknown format, or broken ones, are errors.
func TestBroken(t *testing.T) {
	extDir := t.TempDir()
	writeFiles(t, extDir, ext)
	dir := write(t, extDir)
	a, b := compiled(t, dir), compiled(t, write(t, extDir))
	text, err := os.ReadFile(b.Packages["m/b"].File)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "broken.a")
	for name, broken := range map[string]string{
		"no archive":     "hello",
		"another format": strings.ReplaceAll(string(text), objectMagic, "\x00go999ld"),
		"cut off":        string(text[:len(text)*2/3]),
		"other indexes":  strings.ReplaceAll(string(text), "\x00\x00\x00\x00", "\x00\xff\xff\x00"),
	} {
		if err := os.WriteFile(file, []byte(broken), 0o666); err != nil {
			t.Fatal(err)
		}
		b.Packages["m/b"] = Package{File: file}
		if same, _, err := new(Reader).Benchmarks("m/a", a, b); err == nil && len(same) > 0 {
			t.Errorf("%s: the same are %v", name, same)
		}
	}
	b.Packages["m/b"] = Package{File: filepath.Join(dir, "none")}
	if _, _, err := new(Reader).Benchmarks("m/a", a, b); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestData(t *testing.T) {
	for _, c := range []struct {
		name, a, b string // contents of a file
		file       string
		differs    bool
	}{
		{"data", "1", "2", "testdata/x.json", true},
		{"equal data", "1", "1", "testdata/x.json", false},
		{"data in one tree", "1", "", "data.bin", true},
		{"data in the other tree", "", "1", "data.bin", true},
		{"as long", "12", "21", "sub/table.txt", true},
		{"code", "1", "2", "sub/x.go", false},
		{"code that is data", "1", "2", "sub/testdata/x.go", true},
		{"a text", "1", "2", "README.md", false},
		{"a text that is data", "1", "2", "testdata/README.md", true},
		{"settings of a tool", "1", "2", ".github/workflows/ci.yaml", false},
		{"modules", "1", "2", "go.sum", false},
		{"modules that are vendored", "1", "2", "vendor/modules.txt", false},
		{"data of a vendored module", "1", "2", "vendor/x/data.txt", true},
		{"a text that may be parsed", "1", "2", "benchmarks/large.md", true},
	} {
		trees := [2]Tree{{Root: t.TempDir()}, {Root: t.TempDir()}}
		for i, text := range []string{c.a, c.b} {
			name := filepath.Join(trees[i].Root, c.file)
			if text == "" {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
				t.Fatal(err)
			}
			trees[i].Files = append(trees[i].Files, c.file)
		}
		if got := Data(trees[0], trees[1]); (got == c.file) != c.differs || got != "" && !c.differs {
			t.Errorf("%s: %q differs", c.name, got)
		}
	}
}
