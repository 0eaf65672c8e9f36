package dynotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A recorder is a test that keeps what became of it.
type recorder struct {
	testing.TB
	failed, skipped bool
	text            string
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) Errorf(format string, args ...any) { r.failed = true; r.text += format }

func (r *recorder) Skipf(format string, args ...any) { r.skipped = true; r.text += format }

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		verdicts        string
		failed, skipped bool
	}{
		"all hold":       {`{"threshold":"a","verdict":"passed"}`, false, false},
		"unclear":        {`{"threshold":"a","verdict":"passed"},{"threshold":"b","verdict":"unclear"}`, false, true},
		"broken":         {`{"threshold":"a","verdict":"failed"},{"threshold":"b","verdict":"unclear"}`, true, false},
		"nothing judged": {``, true, false},
	} {
		run := t.TempDir()
		if err := os.WriteFile(filepath.Join(run, "summary.json"), []byte(`{"thresholds":[`+c.verdicts+`]}`), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &recorder{TB: t}
		judge(r, run, "")
		if r.failed != c.failed || r.skipped != c.skipped {
			t.Errorf("%s: failed %v, skipped %v: %s", name, r.failed, r.skipped, r.text)
		}
	}
}

func TestNoWorse(t *testing.T) {
	for metric, want := range map[string]Limit{"p99": "change(p99) < 5%", "req_per_s": "change(req_per_s) > -5%"} {
		if got := NoWorse(metric, 5); got != want {
			t.Errorf("%s: %s", metric, got)
		}
	}
}

// The example's regression, copies of every description for every request, fails the test; its cure passes.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds dyno and a service, and measures")
	}
	Program = filepath.Join(t.TempDir(), "dyno")
	if out, err := exec.Command("go", "build", "-o", Program, "../cmd/dyno").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := Service{
		Package: "../examples/search", Args: []string{"-addr", "{{.Addr}}", "-variant", "{{.arg.variant}}"},
		Path: "/search?term=topic&cnn=on&bbc=on&nyt=on", Flags: []string{"-X", "POST", "-d", "100ms", "-c", "2", "--repeat", "6"},
	}
	r := &recorder{TB: t}
	Compare(r, s, "arg.variant=without", "arg.variant=with", NoWorse("alloc_per_req", 5))
	if !r.failed || !strings.Contains(r.text, "does not hold") {
		t.Errorf("the regression: failed %v: %s", r.failed, r.text)
	}
	Compare(t, s, "arg.variant=with", "arg.variant=without", NoWorse("alloc_per_req", 5))
}
