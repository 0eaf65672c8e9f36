package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

const exp124 = `package buildcfg

func ParseGOEXPERIMENT(goos, goarch, goexp string) (*ExperimentFlags, error) {
	baseline := goexperiment.Flags{
		RegabiWrappers:   regabiSupported,
		RegabiArgs:       regabiSupported,
		CoverageRedesign: true,
		AliasTypeParams:  true,
		SwissMap:         true,
		SpinbitMutex:     haveXchg8,
	}
	return nil, nil
}
`

const exp127 = `package buildcfg

func ParseGOEXPERIMENT(goos, goarch, goexp string) (*ExperimentFlags, error) {
	baseline := goexperiment.Flags{
		RegabiWrappers: regabiSupported,
		Dwarf5:         dwarf5Supported,
		SwissMap:       true,
		JSONv2:         true,
		Off:            false,
	}
	return nil, nil
}
`

func TestBaseline(t *testing.T) {
	for src, want := range map[string][]string{
		exp124: {"coverageredesign", "aliastypeparams", "swissmap", "spinbitmutex"},
		exp127: {"dwarf5", "swissmap", "jsonv2"},
	} {
		if got, err := Baseline([]byte(src)); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	for _, src := range []string{"", "package x", "package x\nfunc f() { baseline := 1 }", "package x\nfunc f() { baseline := A{1, b.c: true} }"} {
		if got, _ := Baseline([]byte(src)); len(got) > 0 {
			t.Errorf("%q: got %v", src, got)
		}
	}
}

const table127 = `package godebugs

var All = []Info{
	{Name: "containermaxprocs", Package: "runtime", Changed: 25, Old: "0"},
	{Name: "execerrdot", Package: "os/exec"},
	{Name: "httplaxcontentlength", Package: "net/http", Changed: 22, Old: "1"},
	{Name: "tlsmlkem", Package: "crypto/tls", Changed: 24, Old: "0", Opaque: true},
	//{Name: "multipartfiles", Package: "mime/multipart"},
	{Name: "tracebacklabels", Package: "runtime", Changed: 27, Old: "0", Opaque: true},
}

var Removed = []RemovedInfo{
	{Name: "tls3des", Removed: 27, Old: one}, // Old: "1"
	{Name: "asynctimerchan", Removed: 27, Old: func(s string) bool { return s == "1" || s == "2" }},
	{Name: "x509sha1", Removed: 24},
}

func zero(s string) bool { return s == "0" }
func one(s string) bool  { return s == "1" }
`

func TestTable(t *testing.T) {
	table, err := ReadTable([]byte(table127))
	if err != nil || len(table.Settings) != 5 || len(table.Removed) != 3 {
		t.Fatalf("got %+v, %v", table, err)
	}
	for pair, want := range map[string]string{
		"tlsmlkem=0": "", "default=go1.21": "", "tls3des=1": "removed in Go 1.27", "tls3des=0": "", "asynctimerchan=2": "removed in Go 1.27",
		"asynctimerchan=0": "", "x509sha1=0": "removed in Go 1.24", "multipartfiles=1": "unknown to it",
	} {
		name, value, _ := strings.Cut(pair, "=")
		if got := table.Refuses(name, value); got != want {
			t.Errorf("%s: got %q, want %q", pair, got, want)
		}
	}
	for _, test := range []struct {
		name           string
		oldGo, newGo   int
		oldSet, newSet string
		want           []string
	}{
		{"the go line stays old", 26, 27, "containermaxprocs=0,httplaxcontentlength=1,tlsmlkem=0", "containermaxprocs=0,httplaxcontentlength=1,tlsmlkem=0,tracebacklabels=0", nil},
		{"the go line is raised", 26, 27, "containermaxprocs=0", "", []string{"containermaxprocs", "tracebacklabels"}},
		{"an old toolchain has no newer settings", 23, 27, "", "", []string{"containermaxprocs", "tlsmlkem", "tracebacklabels"}},
		{"the program keeps one", 26, 27, "containermaxprocs=0", "containermaxprocs=0", []string{"tracebacklabels"}},
	} {
		var got []string
		for _, s := range table.Changed(ReadDefaults(test.oldGo, test.oldSet), ReadDefaults(test.newGo, test.newSet)) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	if _, err := ReadTable([]byte("package godebugs")); err == nil {
		t.Error("a table without settings is read")
	}
}

func TestLines(t *testing.T) {
	goLine, toolchain, lines := ModLines("go.mod", []byte("module x // go 9\n\ngo 1.24.0\n\ntoolchain go1.26.1\n\ngodebug default=go1.21\ngodebug (\n\ttls3des=1 // why\n\n)\nrequire (\n\ta v1\n)\n"))
	if goLine != "1.24.0" || toolchain != "go1.26.1" || len(lines) != 2 || lines[1] != (Line{"go.mod", 9, "godebug tls3des=1", "tls3des", "1"}) {
		t.Errorf("got %q, %q, %+v", goLine, toolchain, lines)
	}
	lines = SourceLines("main.go", []byte("// Text.\n\n//go:debug tls3des=1\npackage main\n//go:debug x=1\n"))
	if len(lines) != 1 || lines[0].N != 3 || lines[0].Name != "tls3des" {
		t.Errorf("got %+v", lines)
	}
	if Minor("go1.27.4") != 27 || Minor("go1.28rc1") != 28 || Minor("devel go1.28-x") != 0 {
		t.Error("minor versions are wrong")
	}
}

// A survey is made from what the go command and the toolchains' files say.
func TestSurvey(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for dir, exp := range map[string]string{"old": exp124, "new": exp127} {
		write(dir+"/src/internal/buildcfg/exp.go", exp)
		write(dir+"/src/internal/godebugs/table.go", table127)
	}
	mod := write("m/go.mod", "module m\ngo 1.24\n")
	write("m/main.go", "package main\n")
	vendored := false
	run := Runner(func(_ context.Context, s dyno.Subject, args ...string) (string, error) {
		what := strings.Join(args, " ")
		_, raised := s.Deps["go"]
		switch {
		case args[0] == "list" && strings.HasSuffix(what, "go@1.27"):
			return "1.27.4\n", nil
		case args[0] == "env" && s.Go == "":
			return "go1.24.1\n" + root + "/old\n" + mod + "\n0\nv1\n\n\n\n", nil
		case args[0] == "env":
			return "go1.27.4\n" + root + "/new\n" + mod + "\n0\nv3\n\n\n\n", nil
		case strings.Contains(what, "-find"):
			return filepath.Dir(mod) + "\tmain.go\n", nil
		case raised && vendored:
			return "", &dyno.PlanError{Msg: "dep:go: a workspace is in force"}
		case strings.Contains(what, "DefaultGODEBUG") && raised:
			return "\t1.27.4\n", nil
		case strings.Contains(what, "DefaultGODEBUG") && s.Go != "":
			return "containermaxprocs=0,tracebacklabels=0\t1.24\n", nil
		case strings.Contains(what, "DefaultGODEBUG"):
			return "\t1.24\n", nil
		case strings.Contains(what, "-deps") && raised:
			return "runtime\t\nencoding/json\t\nb/x\tb\tv1.1.0\nm\t\n", nil
		case strings.Contains(what, "-deps"):
			return "runtime\t\nencoding/json\t\nb/x\tb\tv1.0.0\nm\t\n", nil
		}
		t.Errorf("go %s", what)
		return "", nil
	})
	v, err := run.Survey(t.Context(), dyno.Subject{}, []string{"go1.27"})
	want := "toolchain go1.24.1 → go1.27.4|go line 1.24 → 1.27.4|on by default now, and can be turned off (GOEXPERIMENT=noNAME): dwarf5, jsonv2|" +
		"GODEBUG settings whose default changes, with the value as before: containermaxprocs=0, tracebacklabels=0|" +
		"settings of the build: CGO_ENABLED=0 GOAMD64=v1 → CGO_ENABLED=0 GOAMD64=v3|b v1.0.0 → v1.1.0"
	if got := strings.Join(v.Notes(), "|"); err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	vendored = true
	if v, err := run.Survey(t.Context(), dyno.Subject{}, []string{"go1.27"}); err != nil || v.Kept == nil || v.New.GoLine != "1.24" || len(v.Changed) > 0 {
		t.Errorf("a go line that stays: got %+v, %v", v, err)
	}
	write("m/main.go", "//go:debug tls3des=1\npackage main\n")
	if v, err := run.Survey(t.Context(), dyno.Subject{}, []string{"go1.27"}); err != nil || len(v.Refused) != 1 || !strings.HasSuffix(v.Notes()[0], "m/main.go:1: go1.27.4: //go:debug tls3des=1, removed in Go 1.27") {
		t.Errorf("a refused line: got %+v, %v", v, err)
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte(table127))
	f.Add([]byte(exp127))
	f.Fuzz(func(t *testing.T, src []byte) {
		ReadTable(src)
		Baseline(src)
		ModLines("go.mod", src)
		SourceLines("x.go", src)
	})
}
