package findings

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/store"
)

func envelope() answer.Envelope[answer.Setting, string] {
	h := answer.Head{Dyno: "test", Plan: &dyno.Experiment{Name: "svc"}, Made: time.Unix(1e9, 0).UTC()}
	return answer.New(certify.AnswerKind, certify.Schema, h, []answer.Setting{answer.SettingNamed("GOGC=50 rev=main")}, []string{"a note"})
}

// A certificate comes back as it was, and one of another schema does not.
func TestCertificateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b.json")
	if _, err := ReadCertificate(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	c := &certify.Certificate{Envelope: envelope(), Service: "./svc", Base: &certify.Base{CPU: 1}, Outcomes: []certify.Outcome{
		{Judged: certify.Judged{Label: "a1", Seen: []certify.Seen{{Metric: "p99-sec", Ratio: 1.5}}}, Change: certify.Change{Kind: certify.CPU, Size: 0.1}, Found: true},
	}}
	for range 2 { // it is replaced
		if err := WriteCertificate(path, c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadCertificate(path)
	text, _ := json.Marshal(got)
	if want, _ := json.Marshal(c); err != nil || string(text) != string(want) {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	c.Schema++
	if err := WriteCertificate(path, c); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCertificate(path); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("of a later schema: %v", err)
	}
	os.WriteFile(path, []byte(`{"schema": 1, "outco`), 0o666)
	if _, err := ReadCertificate(path); err == nil {
		t.Error("of half a file")
	}
}

// A service has one place, however its package is written.
func TestCertificatePath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "svc"), 0o777); err != nil {
		t.Fatal(err)
	}
	place := func(s dyno.Subject) string {
		path, err := CertificatePath(&s)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := place(dyno.Subject{Package: filepath.Join(dir, "svc")})
	for name, s := range map[string]dyno.Subject{
		"relative": {Dir: dir, Package: "./svc"}, "within": {Dir: filepath.Join(dir, "svc"), Package: "."},
	} {
		if got := place(s); got != here {
			t.Errorf("%s: %s, not %s", name, got, here)
		}
	}
	if !strings.HasPrefix(here, dir) || !strings.HasPrefix(filepath.Base(here), "svc-") {
		t.Errorf("kept in %s", here)
	}
	if a, b := place(dyno.Subject{Module: "example.org/x@v1"}), place(dyno.Subject{Module: "example.org/x@v2"}); a != b || a == here {
		t.Errorf("two versions of a module: %s and %s", a, b)
	}
}

// What changes nothing of what is measured leaves the identity as it is.
func TestIdentities(t *testing.T) {
	host := store.Host{Kernel: "6.1", CPU: "EPYC", CPUs: 2}
	plan := func(change func(*dyno.Experiment)) *dyno.Experiment {
		e := &dyno.Experiment{Subject: dyno.Subject{Package: "./svc", Args: []string{"-addr", "{{.Addr}}"}}, Load: dyno.Load{Concurrency: 2}}
		change(e)
		return e
	}
	results := []*dyno.Result{{Subject: "go1.26.8 abc", Sum: "s1", Turns: 3}, {Subject: "go1.26.8 abc", Sum: "s1", Turns: 3}}
	of := Identities(plan(func(*dyno.Experiment) {}), host, results)
	if len(of) != 1 || of[0].Subject != "go1.26.8 abc" || of[0].Build != "s1" || of[0].Alone || of[0].Kernel != "6.1" {
		t.Fatalf("%+v", of)
	}
	c := certify.Certificate{Of: of[0]}
	for name, test := range map[string]struct {
		change func(*dyno.Experiment)
		why    []certify.Expiry
	}{
		"longer":    {func(e *dyno.Experiment) { e.Load.Duration, e.Within, e.Repeats = 1e10, 1e11, 7 }, nil},
		"varied":    {func(e *dyno.Experiment) { e.Factors = dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}} }, nil},
		"defaults":  {func(e *dyno.Experiment) { *e = e.Resolved() }, nil},
		"clients":   {func(e *dyno.Experiment) { e.Load.Concurrency = 3 }, []certify.Expiry{certify.OtherLoad}},
		"path":      {func(e *dyno.Experiment) { e.Load.Client.Loop = []dyno.Step{{Path: "/x"}} }, []certify.Expiry{certify.OtherLoad}},
		"arguments": {func(e *dyno.Experiment) { e.Subject.Args = nil }, []certify.Expiry{certify.OtherService}},
		"limit":     {func(e *dyno.Experiment) { e.Limits.Memory = 1 << 30 }, []certify.Expiry{certify.OtherService}},
	} {
		if why := c.Expired(Identities(plan(test.change), host, results)...); !reflect.DeepEqual(why, test.why) {
			t.Errorf("%s: %v, want %v", name, why, test.why)
		}
	}
	alone := []*dyno.Result{{Subject: "go1.26.8 abc", Sum: "s1"}}
	if why := c.Expired(Identities(plan(func(*dyno.Experiment) {}), host, alone)...); !reflect.DeepEqual(why, []certify.Expiry{certify.OtherTurns}) {
		t.Errorf("alone: %v", why)
	}
}

// A run has a copy of the certificate, and says whether it holds.
func TestCertificateOfARun(t *testing.T) {
	host := store.Host{Kernel: "6.1", CPU: "EPYC", CPUs: 2}
	e := &dyno.Experiment{Name: "svc", Subject: dyno.Subject{Package: "./svc"}, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}, Repeats: 1}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Plan: e, Host: host, Settings: []string{"GOGC=100", "GOGC=50"}})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	trial := e.Trials()[0]
	if err := dir.Add(&dyno.Result{Trial: trial, Subject: "go1.26.8", Sum: "s1", Values: dyno.Values{{Metric: "p50-sec", Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	read := func() *Findings {
		f, err := Read(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := read(); f.Certificate != nil {
		t.Errorf("of a run without one: %+v", f.Certificate)
	}
	c := &certify.Certificate{Envelope: envelope(), Of: Identities(e, host, dir.Results())[0]}
	for _, test := range []struct {
		kernel string
		why    []certify.Expiry
	}{{"6.1", nil}, {"6.0", []certify.Expiry{certify.OtherKernel}}} {
		c.Of.Kernel = test.kernel
		if err := WriteCertificate(filepath.Join(dir.Path, CertificateFile), c); err != nil {
			t.Fatal(err)
		}
		if f := read(); f.Certificate == nil || !reflect.DeepEqual(f.Expired, test.why) {
			t.Errorf("made with kernel %s: %v, want %v", test.kernel, f.Expired, test.why)
		}
	}
}

// A gate on a busy machine judges response times only if the certificate of this machine and load shows that they can be seen,
// whatever became of the service's code since.
func TestRobust(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	host := store.Host{Kernel: "6.1", CPU: "EPYC", CPUs: 2}
	e := &dyno.Experiment{Subject: dyno.Subject{Package: "./svc", Dir: t.TempDir()}, Load: dyno.Load{Concurrency: 2}}
	always := []string{"cpu/req", "alloc/req", "allocs/req", "rss-peak"}
	if got, seen := Robust(e, host); !slices.Equal(got, always) || seen != nil {
		t.Errorf("without a certificate: %v, %v", got, seen)
	}
	path, err := CertificatePath(&e.Subject)
	if err != nil {
		t.Fatal(err)
	}
	c := &certify.Certificate{Envelope: envelope(), Of: Identities(e, host, nil)[0]}
	c.Of.Build, c.Of.Subject = "another", "go1.26.8 abc"
	for _, p99 := range []dyno.Number{0.3, 0.04, 0.5} {
		c.Outcomes = append(c.Outcomes, certify.Outcome{Judged: certify.Judged{Seen: []certify.Seen{{Metric: "p50-sec", Visible: 0.04}, {Metric: "p99-sec", Visible: p99}}}})
	}
	for kernel, want := range map[string][]string{"6.1": append(slices.Clone(always), "p50"), "6.0": always} {
		c.Of.Kernel = kernel
		if err := WriteCertificate(path, c); err != nil {
			t.Fatal(err)
		}
		if got, seen := Robust(e, host); !slices.Equal(got, want) || len(seen) != len(want)-len(always) {
			t.Errorf("of kernel %s: %v, %v; want %v", kernel, got, seen, want)
		}
	}
}
