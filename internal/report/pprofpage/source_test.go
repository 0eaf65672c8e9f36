package pprofpage

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// A profile names what files it likes. Of those only sources are shown: not what a
// link leads to, nor what lies where the server was started.
func TestSourceFiles(t *testing.T) {
	home := t.TempDir()
	run := filepath.Join(home, "run")
	if err := os.MkdirAll(run, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(run)
	secret := filepath.Join(home, "id_rsa")
	plain := filepath.Join(home, "plain.go")
	for name, text := range map[string]string{secret: "SECRET KEY", plain: "package plain // SHOWN", filepath.Join(run, "near.go"): "SECRET NEAR"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "big.go"), []byte("SECRET BIG\n"+strings.Repeat("\n", mostSource)), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.go": secret, "zero.go": "/dev/zero", "source.go": plain} {
		if err := os.Symlink(to, filepath.Join(run, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, shown := range map[string]bool{
		plain: true, filepath.Join(run, "source.go"): true,
		secret: false, filepath.Join(run, "link.go"): false, filepath.Join(run, "zero.go"): false, filepath.Join(home, "big.go"): false,
		"near.go": false, "link.go": false, "../id_rsa": false, "../plain.go": false,
		"/none/run/link.go": false, "/proc/self/cwd/link.go": false, "/proc/self/cwd" + plain: false, noFolder + plain: false,
		strings.TrimPrefix(plain, "/"): false,
	} {
		f := &profile.Function{ID: 1, Name: "main.f", SystemName: "main.f", Filename: name}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
			Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1000}}},
			Location:   []*profile.Location{l}, Function: []*profile.Function{f},
		}
		pages, err := Open("cpu", profiles.Sum{Profile: p, Requests: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []url.Values{{}, {"source_path": {run}}, {"trim_path": {"/none"}}} {
			more.Set("f", ".")
			got := pages.fetch("source", http.MethodGet, more)
			text := got.body.String()
			if strings.Contains(text, "SECRET") || strings.Contains(text, "SHOWN") != shown {
				t.Errorf("%s is %v: %.200s", name, !shown, text[strings.LastIndex(text, "<pre")+1:])
			}
		}
	}
}

// Stacks as no program has them are cut, before pprof draws them or we walk them.
func TestDeepStack(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "main.f"}
	l := &profile.Location{ID: 1}
	for range 5000 {
		l.Line = append(l.Line, profile.Line{Function: f})
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Value: []int64{1}}}, Location: []*profile.Location{l}, Function: []*profile.Function{f},
	}
	for range 5000 {
		p.Sample[0].Location = append(p.Sample[0].Location, l)
	}
	c := clean(p)
	if len(c.Sample[0].Location)*len(c.Location[0].Line) > mostInline*mostFrames {
		t.Errorf("%d × %d frames", len(c.Sample[0].Location), len(c.Location[0].Line))
	}
}
