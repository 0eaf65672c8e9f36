package profiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// recordedProfile reads a profile of testdata.
func recordedProfile(t *testing.T, name string) *profile.Profile {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseSymbol(t *testing.T) {
	for _, x := range []struct{ full, pkg, name, around string }{
		{"main.main", "main", "main", ""},
		{"example.com/v2/names/inner.Burn", "example.com/v2/names/inner", "Burn", ""},
		{"gopkg.in/yaml%2ev3.(*Decoder).Decode", "gopkg.in/yaml.v3", "(*Decoder).Decode", ""},
		{"a/b.Sum[go.shape.int]", "a/b", "Sum[...]", ""},
		{"a/b.(*T[go.shape.struct { x/y.Z int; A []int }]).Put", "a/b", "(*T[...]).Put", ""},
		{"a/b.(*T[...]).Put.func1", "a/b", "(*T[...]).Put.func1", "(*T[...]) Put"},
		{"main.(*S).Work-fm", "main", "(*S).Work", ""},
		{"main.main.gowrap2", "main", "main", ""},
		{"main.work.deferwrap1", "main", "work", ""},
		{"main.main-range1", "main", "main", ""},
		{"main.main-range1-range1", "main", "main", ""},
		{"main.main-range1.func2", "main", "main.func2", "main"},
		{"main.init.0", "main", "init.0", ""},
		{"main.init.0.func1", "main", "init.0.func1", "init.0"},
		{"main.init.func1", "main", "init.func1", "init"},
		{"main.main.func1.2", "main", "main.func1.2", "main"},
		{"main.main.Seq.func7", "main", "main.Seq.func7", "main Seq"},
		{"main.outer.outer.helper.func3.func4", "main", "outer.outer.helper.func3.func4", "outer outer helper"},
		{"indexbytebody", "", "indexbytebody", ""},
		{"", "", "", ""},
	} {
		s := parseSymbol(x.full)
		if s.pkg != x.pkg || s.name != x.name || strings.Join(s.around, " ") != x.around {
			t.Errorf("%s is %q %q around %q, want %q %q %q", x.full, s.pkg, s.name, s.around, x.pkg, x.name, x.around)
		}
	}
}

func FuzzParseSymbol(f *testing.F) {
	f.Add("main.(*T[a.B]).m.func1.2-range1.gowrap1")
	f.Add("glob..func1")
	f.Add("a.[.].)")
	f.Add("a.gowrap1..b")
	f.Fuzz(func(t *testing.T, s string) {
		sym := parseSymbol(s)
		if sym.around != nil && sym.around[len(sym.around)-1] == "" && !strings.Contains(s, "..") && !strings.Contains(s, "-range") {
			t.Errorf("%q is a closure of nothing", s)
		}
	})
}

// The functions of one program, compiled by three toolchains, are the same.
func TestNamesSurviveToolchains(t *testing.T) {
	var taken []Profiled
	for _, v := range []string{"1.23.12", "1.26.8", "1.27.4"} {
		taken = append(taken, Profiled{Setting: v, Block: 1, Requests: 1, Profile: recordedProfile(t, "names-go"+v)})
	}
	p, err := New("cpu", taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names [3][]string
	for i, s := range p.Settings {
		for _, r := range p.Top(s, ByCum).Rows {
			if r.Function.Own {
				names[i] = append(names[i], r.Name)
			}
		}
		slices.Sort(names[i])
	}
	want := []string{
		"example.com/names/inner.Burn", "example.com/names/inner.Seq.1", "example.com/names/inner.Sum[...]",
		"main.helper.func1", "main.helper.func1.func1", "main.init.func1", "main.main",
		"main.main.func1", "main.main.func2", "main.main.func3", "main.main.func4", "main.main.func5",
		"main.outer", "main.outer.func1.func1", "main.work", "main.work2",
	}
	for i, got := range names {
		if !slices.Equal(got, want) {
			t.Errorf("go%s: %q\nwant %q", p.Settings[i], got, want)
		}
	}
}

// moved is a profile of closures of one function that begin at these lines, in
// a file in which other begins at another.
func moved(other int64, lines ...int64) *profile.Profile {
	main := &profile.Function{ID: 1, Name: "main.other", Filename: "/r/main.go", StartLine: other}
	b := &builder{}
	b.add(1, line{main, other + 1})
	for i, l := range lines {
		f := &profile.Function{ID: uint64(i + 2), Name: "main.main.func" + string(rune('1'+i)), Filename: "/r/main.go", StartLine: l}
		b.add(int64(10*(i+1)), line{f, l + 1})
	}
	return b.profile("cpu")
}

func TestClosuresWhereLinesMoved(t *testing.T) {
	for _, x := range []struct {
		name string
		a, b *profile.Profile
		want string // the functions that changed, the greatest change first
	}{
		{"not moved, one of them not seen", moved(5, 20, 30), moved(5, 30), "main.main.func1 (main.go:20) main.main.func1 (main.go:30)"},
		{"moved", moved(5, 20, 30), moved(9, 24, 34), ""},
		{"moved, one of them not seen", moved(5, 20, 30), moved(9, 34), "main.main.func1"},
	} {
		p, err := New("cpu", []Profiled{{"a", 1, 1, x.a, ""}, {"b", 1, 1, x.b, ""}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Difference("a", "b", ByOwn, 0).Rows {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: %q changed, want %q", x.name, got, x.want)
		}
	}
}

func TestGuessOwn(t *testing.T) {
	own := guessOwn(nil)
	for _, x := range []struct {
		pkg, file string
		want      bool
	}{
		{"main", "/home/u/x/main.go", true},
		{"project/search", "/home/u/x/search/rss.go", true},
		{"example.com/x", "example.com/x/y.go", true}, // -trimpath
		{"net/http", "/usr/local/go/src/net/http/server.go", false},
		{"net/http", "/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.27.4.linux-amd64/src/net/http/server.go", false},
		{"net/http", "net/http/server.go", false},
		{"internal/bytealg", "/usr/local/go/src/runtime/slice.go", false},
		{"github.com/a/b", "/go/pkg/mod/github.com/a/b@v1.2.3/c.go", false},
		{"github.com/a/b", "github.com/a/b@v1.2.3/c.go", false},
		{"github.com/a/b", "/home/u/x/vendor/github.com/a/b/c.go", false},
		{"log/custom", "/home/u/log/custom/x.go", true},
		{"", "/usr/local/go/src/internal/bytealg/indexbyte_amd64.s", false},
	} {
		if got := own(x.pkg, x.file); got != x.want {
			t.Errorf("%s in %s: %v", x.pkg, x.file, got)
		}
	}
}
