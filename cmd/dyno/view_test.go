package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/store"
)

// A viewing is a dyno view that a test started.
type viewing struct {
	visit   string // the address that it prints
	address string // that without the secret
	stderr  *strings.Builder
	end     func() int // as Ctrl-C does; returns the exit status
}

func startView(t *testing.T, args ...string) viewing {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	v := viewing{stderr: new(strings.Builder)}
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"view"}, args...), w, v.stderr)
		w.Close()
	}()
	v.end = func() int { cancel(interrupt.Err); return <-status }
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v; %s", err, v.stderr)
	}
	v.visit = strings.TrimSpace(line)
	v.address, _, _ = strings.Cut(v.visit, "?secret=")
	return v
}

// browser keeps cookies.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func fetch(t *testing.T, client *http.Client, address string) (status int, body string) {
	t.Helper()
	defer client.CloseIdleConnections()
	res, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// viewable makes a run directory with two settings and no results.
func viewable(t *testing.T, path string) {
	t.Helper()
	e := &dyno.Experiment{
		Name: "search", Repeats: 1, Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
	}
	d, err := store.Create(path, store.Run{Dyno: "test", Plan: e, Settings: []string{"GOGC=100", "GOGC=50"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// A view prints its address first, serves the folder, and ends well by Ctrl-C, also
// while somebody asks.
func TestView(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := t.TempDir()
	viewable(t, filepath.Join(root, "a b"))
	t.Chdir(root)
	v := startView(t, ".")
	u, err := url.Parse(v.visit)
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/" {
		t.Fatalf("the address is %s", v.address)
	}
	client := browser(t)
	if status, _ := fetch(t, client, v.address); status != http.StatusForbidden {
		t.Errorf("without the secret: status %d", status)
	}
	if status, body := fetch(t, client, v.visit); status != 200 || !strings.Contains(body, `href="/runs/a%20b/"`) || !strings.Contains(body, "interrupted") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := fetch(t, client, "http://localhost:"+u.Port()+"/?"+u.RawQuery); status != 200 || !strings.Contains(body, "<code>"+root+"</code>") {
		t.Errorf("by localhost: status %d; or it does not say which folder it shows", status)
	}
	// The port is taken now.
	var stderr strings.Builder
	if got := run(t.Context(), []string{"view", root, "--addr", u.Host}, io.Discard, &stderr); got != exitFailed || !strings.Contains(stderr.String(), "address already in use (consider: --addr 127.0.0.1:0") {
		t.Errorf("a second one: %d, %s", got, &stderr)
	}
	open, err := net.Dial("tcp", u.Host) // and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if got := v.end(); got != exitDone || v.stderr.String() != "" {
		t.Errorf("status %d, %s", got, v.stderr)
	}
	if _, err := net.Dial("tcp", u.Host); err == nil {
		t.Error("it still listens")
	}
	// Started again, it knows the browsers that were there.
	v = startView(t, ".", "--addr", u.Host)
	if status, _ := fetch(t, client, v.address); status != 200 {
		t.Errorf("after a restart: status %d", status)
	}
	v.end()
}

// A run directory by itself has the address of its page.
func TestViewOfARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x y")
	viewable(t, path)
	v := startView(t, path, "--addr", "localhost:0")
	if !strings.HasPrefix(v.address, "http://localhost:") || !strings.HasSuffix(v.address, "/runs/x%20y/") {
		t.Errorf("the address is %s", v.address)
	}
	if status, body := fetch(t, browser(t), v.visit); status == 404 {
		t.Errorf("status %d: %s", status, body)
	}
	v.end()
}

// Who listens beyond this machine is told so, and can be asked by its names. A
// browser that is not there is no failure.
func TestViewForOthers(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	root := t.TempDir()
	v := startView(t, root, "--addr", "0.0.0.0:0", "--host", "tunnel:9000", "--open")
	if status, _ := fetch(t, browser(t), v.visit); status != 200 {
		t.Errorf("status %d", status)
	}
	r, err := http.NewRequest("GET", v.visit, nil)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"tunnel:9000": http.StatusSeeOther, "tunnel:9001": http.StatusMisdirectedRequest} {
		r.Host = host
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("by %s: status %d", host, res.StatusCode)
		}
	}
	v.end()
	for _, part := range []string{"note: anyone who can read the network traffic", "note: no browser was opened"} {
		if !strings.Contains(v.stderr.String(), part) {
			t.Errorf("%q is not in %s", part, v.stderr)
		}
	}
}

// The browser is given a file that only this user can read: others see its arguments.
func TestViewOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser is opened otherwise")
	}
	bin, root := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\n/bin/stat -c %a \"$1\" >" + bin + "/mode; /bin/cat \"$1\" >" + bin + "/page; echo \"$@\" >" + bin + "/args.part; /bin/mv " + bin + "/args.part " + bin + "/args\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	v := startView(t, root, "--open")
	read := func(name string) string { text, _ := os.ReadFile(filepath.Join(bin, name)); return string(text) }
	for deadline := time.Now().Add(time.Minute); read("args") == "" && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if v.end(); !strings.HasPrefix(read("args"), root+"/.dyno-view-") || read("mode") != "600\n" || !strings.Contains(read("page"), `url=`+v.visit+`"`) {
		t.Errorf("opened %s with mode %s: %s", read("args"), read("mode"), read("page"))
	}
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

func TestHostsOf(t *testing.T) {
	for _, x := range []struct{ at, asked, hosts string }{
		{"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080 localhost:8080 [::1]:8080"},
		{"127.0.0.1:8080", "localhost:0", "localhost:8080 127.0.0.1:8080 [::1]:8080"},
		{"[::1]:80", "[::1]:80", "[::1]:80 [::1] 127.0.0.1:80 127.0.0.1 localhost:80 localhost"},
		{"192.0.2.1:99", "192.0.2.1:99", "192.0.2.1:99"},
	} {
		at, err := net.ResolveTCPAddr("tcp", x.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(hostsOf(at, x.asked), " "); got != x.hosts {
			t.Errorf("%s, %s: %s", x.at, x.asked, got)
		}
	}
	all := hostsOf(&net.TCPAddr{IP: net.IPv4zero, Port: 99}, ":99")
	if name, err := os.Hostname(); all[0] != "127.0.0.1:99" || err == nil && !slices.Contains(all, net.JoinHostPort(name, "99")) {
		t.Errorf("for all: %s", all)
	}
}

// A profile of a setting is the sum of its trials', with their requests.
func TestSumProfiles(t *testing.T) {
	e := &dyno.Experiment{
		Name: "search", Repeats: 1, Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}, Probes: dyno.Probes{Pprof: "/debug/pprof"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}, Profile: []string{"cpu"}, ProfileRepeats: 2,
	}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, trial := range e.Trials() {
		path, err := dir.TrialDir(trial.N)
		if err != nil {
			t.Fatal(err)
		}
		if trial.For == dyno.ForProfile {
			writeProfile(t, filepath.Join(path, "cpu.pb.gz"), 10)
		}
		if err := dir.Add(&dyno.Result{Trial: trial, Sent: dyno.Sent{Requests: 100}}); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := findings.SumProfiles(dir, "cpu", "GOGC=50")
	if err != nil || sum.Requests != 200 || sum.Profile.Sample[0].Value[0] != 20 {
		t.Errorf("%v, %v", sum, err)
	}
	for kind, setting := range map[string]string{"heap": "GOGC=50", "cpu": "GOGC=51"} {
		if _, err := findings.SumProfiles(dir, kind, setting); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of %s: %v", kind, setting, err)
		}
	}
}

// writeProfile writes a profile of one function.
func writeProfile(t *testing.T, path string, value int64) {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.main"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{value}}},
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(out), out.Close()); err != nil {
		t.Fatal(err)
	}
}
