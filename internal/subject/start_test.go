//go:build linux

package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// start launches the service in a mode and stops it when the test ends.
func start(t testing.TB, mode string, change func(*dyno.Subject), o Options) (*Process, error) {
	t.Helper()
	b, s := service(t, mode)
	if change != nil {
		change(&s)
	}
	p, err := Start(context.Background(), b, s, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.Stop(0) })
	return p, nil
}

func mustStart(t testing.TB, mode string, change func(*dyno.Subject), o Options) *Process {
	t.Helper()
	p, err := start(t, mode, change, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(t testing.TB, p *Process, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + p.Addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// gone reports whether no process has the ID, or only a zombie of others'.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestServe(t *testing.T) {
	t.Setenv("GODEBUG", "madvdontneed=1")
	t.Setenv("PORT", "1")
	t.Setenv("DYNO_PROBE", "/nowhere")
	p := mustStart(t, "", func(s *dyno.Subject) {
		s.Ready = "/healthz"
		s.Env = map[string]string{"WHERE": "{{.Host}} {{.arg.size}}", "GOGC": "off"}
		s.Arg = map[string]string{"size": "7"}
	}, Options{Trace: true})
	_, port, _ := net.SplitHostPort(p.Addr)
	for name, want := range map[string]string{
		"WHERE": "127.0.0.1 7", "GOGC": "off", "PORT": port, "DYNO_PROBE": "",
		"GODEBUG": "madvdontneed=1,gctrace=1",
	} {
		if got := get(t, p, "/env?name="+name); got != want {
			t.Errorf("%s is %q in the subject, want %q", name, got, want)
		}
	}
	if p.Socket == "" || len(p.Warnings) > 0 {
		t.Errorf("no probe: %q", p.Warnings)
	}
	if p.Err() != nil {
		t.Errorf("error while it runs: %v", p.Err())
	}
	p.Stop(10 * time.Second)
	p.Stop(0)
	if <-p.Done; p.Err() != nil || !gone(p.PID) || exists(p.Socket) {
		t.Errorf("after Stop: error %v, gone %t, socket there %t", p.Err(), gone(p.PID), exists(p.Socket))
	}
}

// Each launch has an empty directory of its own where a template asks for one, and leaves none,
// however it ends.
func TestDir(t *testing.T) {
	temp := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	withDir := func(s *dyno.Subject) {
		s.Env = map[string]string{"DATA": "{{.Dir}}/{{.arg.name}}"}
		s.Arg = map[string]string{"name": "db"}
	}
	seen := map[string]bool{}
	for name, end := range map[string]func(*Process){
		"stop":   func(p *Process) { p.Stop(time.Minute) },
		"kill":   func(p *Process) { p.Stop(0) },
		"dies":   func(p *Process) { http.Get("http://" + p.Addr + "/die") },
		"paused": func(p *Process) { p.Pause(); p.Stop(time.Minute) },
	} {
		p := mustStart(t, "", withDir, Options{})
		path := get(t, p, "/env?name=DATA")
		dir := filepath.Dir(path)
		if filepath.Base(path) != "db" || filepath.Dir(dir) != temp || seen[dir] {
			t.Errorf("%s: the directory is %s, want a new one in %s", name, dir, temp)
		}
		seen[dir] = true
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: it has %v, error %v; want it empty", name, files, err)
		}
		writeFiles(t, dir, "db/a/1", "x", "db/2", "y")
		end(p)
		if <-p.Done; exists(dir) {
			t.Errorf("%s: the directory is left", name)
		}
	}
	_, err := start(t, "die", withDir, Options{})
	wantError(t, err, "exit status 3")
	mustStart(t, "", nil, Options{}).Stop(0) // needs none
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// Only who asks for a directory has one.
func TestTold(t *testing.T) {
	for _, c := range []struct {
		text      string
		port, dir bool
	}{
		{"", false, false}, {":8080", false, false}, {"{{.Addr}}", true, false}, {":{{.Port}}", true, false},
		{"{{.Host}}", false, false}, {`{{printf "%s/x" .Dir}}`, false, true},
	} {
		for _, s := range []dyno.Subject{{Args: []string{c.text, "-v"}}, {Env: map[string]string{"A": c.text, "B": ""}}} {
			l, err := expand(s, "127.0.0.1:8080", "/tmp/own", nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := (told{c.port, c.dir}); l.told != want {
				t.Errorf("%+v is told %+v, want %+v", s, l.told, want)
			}
		}
	}
}

// A service with TLS, or with an address of its own, is ready there.
func TestAddr(t *testing.T) {
	own := must(t, func() (string, error) { return freeport.At("127.0.0.1") })
	for _, c := range []struct{ addr, tells, base string }{
		{"https://{{.Addr}}", "{{.Addr}}", "https://127.0.0.1:"},
		{"https://" + own, own, "https://" + own},
	} {
		p := mustStart(t, "tls", func(s *dyno.Subject) {
			s.Addr, s.Args[1], s.Ready = c.addr, c.tells, "/healthz"
		}, Options{})
		if p.Base != "https://"+p.Addr || !strings.HasPrefix(p.Base, c.base) {
			t.Errorf("%s: it serves at %s, %s", c.addr, p.Base, p.Addr)
		}
		p.Stop(0)
	}
	b, s := service(t, "")
	s.Addr = "https://{{.Addr}}/path"
	_, err := Start(t.Context(), b, s, Options{})
	wantError(t, err, "addr: ", "is not an address (want for example https://{{.Addr}} or https://127.0.0.1:8443)")
}

// A service at a unix socket is ready there, and is known to be the one that answers.
func TestUnixSocket(t *testing.T) {
	p := mustStart(t, "", func(s *dyno.Subject) {
		s.Addr, s.Args[1], s.Ready = "http://unix:{{.Dir}}/x.sock", "{{.Dir}}/x.sock", "/healthz"
	}, Options{})
	if p.Base != "http://unix:"+p.Addr || !strings.HasSuffix(p.Addr, "/x.sock") {
		t.Errorf("it serves at %s, %s", p.Base, p.Addr)
	}
	if got, known := guard.Listening(p.Addr, p.Processes()); !known || !slices.Equal(got, []int{p.PID}) {
		t.Errorf("of the subject %v listen, %t; want %d", got, known, p.PID)
	}
	_, err := start(t, "", func(s *dyno.Subject) { s.Addr = "http://unix:/" + strings.Repeat("x", 200) }, Options{})
	wantError(t, err, "the path of the unix socket has 201 bytes", "want at most 107")
}

// Files are in the directory before the program begins, and end with it.
func TestFiles(t *testing.T) {
	b, s := service(t, "") // built before TMPDIR is another
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	p := mustStart(t, "", func(s *dyno.Subject) {
		s.Args = []string{"-config", "{{.Dir}}/etc/service.conf"}
		s.Files = map[string]string{"etc/service.conf": "{{.Host}}:{{.Port}}\n", "other": "{{.Dir}} {{.arg.size}}"}
		s.Arg = map[string]string{"size": "7"}
	}, Options{})
	other := must(t, func() ([]string, error) { return filepath.Glob(filepath.Join(temp, "*", "other")) })
	if len(other) != 1 {
		t.Fatalf("files %q, want one", other)
	}
	if text, err := os.ReadFile(other[0]); string(text) != filepath.Dir(other[0])+" 7" {
		t.Errorf("%q, %v", text, err)
	}
	p.Stop(0)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	s.Files = map[string]string{"a.yaml": "a: 1\nb: {{$x}}\n"}
	_, err := Start(t.Context(), b, s, Options{})
	wantError(t, err, "file a.yaml: ", ":2: ", `two braces of its own are {{"{{"}}`)
}

func TestNoProbe(t *testing.T) {
	_, s := service(t, "")
	s.NoInject = true
	b := mustBuild(t, must(t, shared), s)
	pretended := *b
	pretended.Injected = true // as when go ignored the overlay
	p, err := Start(context.Background(), &pretended, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(0)
	if p.Socket != "" || len(p.Warnings) != 1 {
		t.Errorf("socket %q, warnings %q; want none and one", p.Socket, p.Warnings)
	}
}

func TestPortVariable(t *testing.T) {
	mustStart(t, "port", func(s *dyno.Subject) { s.Args = []string{"-mode", "port"} }, Options{})
}

func TestNeverReady(t *testing.T) {
	_, err := start(t, "never", func(s *dyno.Subject) { s.ReadyTimeout = dyno.Duration(3 * time.Second) }, Options{})
	wantError(t, err, "not ready after 3s", "; it listens on no TCP port (consider: a longer ready_timeout: (--ready-timeout))", "\tservice: mode never")
	_, err = start(t, "", func(s *dyno.Subject) {
		s.Ready, s.ReadyTimeout = "/nosuch", dyno.Duration(3*time.Second)
	}, Options{})
	wantError(t, err, "GET /nosuch: 404")
	if strings.Contains(err.Error(), "it listens at") {
		t.Errorf("it listens where it was told: %v", err)
	}
	_, err = start(t, "elsewhere", func(s *dyno.Subject) { s.ReadyTimeout = dyno.Duration(3 * time.Second) }, Options{})
	wantError(t, err, "not ready after 3s", "connection refused; it listens at 127.0.0.1:")
}

// Who is not ready in time is told where it listens, and what to change.
func TestElsewhere(t *testing.T) {
	plain, secure := mustStart(t, "", nil, Options{}), mustStart(t, "tls", func(s *dyno.Subject) { s.Addr = "https://{{.Addr}}" }, Options{})
	for _, c := range []struct {
		p           *Process
		base, addr  string // where it was awaited
		where, cure string
	}{
		{plain, "http://127.0.0.1:1", "127.0.0.1:1", "; it listens at " + plain.Addr, "addr: http://" + plain.Addr + " (--addr)"},
		{secure, "http://127.0.0.1:1", "127.0.0.1:1", "; it listens at " + secure.Addr, "addr: https://" + secure.Addr + " (--addr)"},
		{plain, "http://127.0.0.1:1", "127.0.0.1:1", "", "{{.Addr}} in its arguments (after --), in env: (--env) or in files:, or "},
		{secure, "http://" + secure.Addr, secure.Addr, "; it speaks TLS there", "addr: https://{{.Addr}} (--addr)"},
		{plain, "http://" + plain.Addr, plain.Addr, "; it listens there", "another path for ready: (--ready), or a longer ready_timeout: (--ready-timeout)"},
	} {
		p := *c.p
		p.Base, p.Addr = c.base, c.addr
		if where, cure := p.elsewhere(dyno.Subject{}); !strings.Contains(where, c.where) || !strings.Contains(cure, c.cure) {
			t.Errorf("awaited at %s: %q, %q; want %q, %q", c.base, where, cure, c.where, c.cure)
		}
	}
}

func TestNotStarted(t *testing.T) {
	_, s := service(t, "")
	for path, want := range map[string]string{
		"/nosuch/file": "start subject: /nosuch/file: no such file or directory",
		os.DevNull:     "permission denied",
	} {
		_, err := Start(context.Background(), &Built{Path: path, Injected: true}, s, Options{})
		wantError(t, err, want)
	}
	b, s := service(t, "never")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, b, s, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	s.Args = []string{"{{.arg.nosuch}}"}
	_, err := Start(context.Background(), b, s, Options{})
	wantError(t, err, `no entry for key "nosuch"`, "want {{.Addr}}, {{.Host}}, {{.Port}}, {{.Dir}}, {{.arg.NAME}} or {{.needs.NAME.URL}}")
}

func TestDies(t *testing.T) {
	_, err := start(t, "die", func(s *dyno.Subject) { s.Ready = "/healthz" }, Options{})
	wantError(t, err, "subject ended: exit status 3\nlast lines of its stderr:\n", "\tservice: cannot find my database")
	var out bytes.Buffer
	_, err = start(t, "die on stdout", nil, Options{Stdout: &out})
	wantError(t, err, "subject ended: exit status 3\n", "\nlast lines of its stdout:\n\tservice: ·[31mcannot find my database")
	if !strings.Contains(out.String(), "\x1b[31mcannot") {
		t.Errorf("stdout is passed on as %q", &out)
	}

	p := mustStart(t, "", nil, Options{Trace: true})
	http.Get("http://" + p.Addr + "/die")
	<-p.Done
	wantError(t, p.Err(), "exit status 2", "\tpanic: asked to die")

	p = mustStart(t, "", nil, Options{})
	syscall.Kill(p.PID, syscall.SIGKILL)
	<-p.Done
	wantError(t, p.Err(), "signal: killed")
	if p.Stop(time.Minute); p.Err() == nil {
		t.Error("Stop hides that it died by itself")
	}
}

func TestStop(t *testing.T) {
	var out bytes.Buffer
	p := mustStart(t, "graceful", nil, Options{Stdout: &out})
	if p.Stop(time.Minute); out.String() != "goodbye\n" {
		t.Errorf("stdout %q: it was not asked to end", &out)
	}
	p = mustStart(t, "stubborn", nil, Options{})
	if p.Stop(100 * time.Millisecond); !gone(p.PID) {
		t.Error("it ignores SIGTERM and lives")
	}
}

// A grandchild in a session of its own ends with the subject, and its hold on
// the stderr pipe keeps nobody waiting.
func TestGrandchild(t *testing.T) {
	for _, end := range []func(*Process){
		func(p *Process) { p.Stop(time.Minute) },
		func(p *Process) { syscall.Kill(p.PID, syscall.SIGKILL) },
	} {
		p := mustStart(t, "fork", nil, Options{})
		family := guard.Descendants(p.PID)
		if len(family) == 0 {
			t.Fatal("no grandchild")
		}
		end(p)
		<-p.Done
		for _, pid := range append(family, p.PID) {
			if !gone(pid) {
				t.Errorf("process %d is left", pid)
			}
		}
	}
}

// A flood on stderr arrives write by write, and stops with the subject.
func TestFlood(t *testing.T) {
	var mu sync.Mutex
	writes, odd := 0, ""
	enough := make(chan struct{})
	p := mustStart(t, "flood", nil, Options{Stderr: writerFunc(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes == 20000 {
			close(enough)
		}
		if writes > 1 && len(b) != 100 {
			odd = string(b)
		}
	})})
	<-enough
	p.Stop(0)
	if odd != "" {
		t.Errorf("a write of 100 bytes arrived as %q", odd)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// A port that somebody else took meanwhile does not make the subject ready.
func TestOthersListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := mustStart(t, "", nil, Options{})
	for addr, want := range map[string]int{l.Addr().String(): os.Getpid(), p.Addr: p.PID} {
		if got, known := guard.Listening(addr, p.Processes()); !known || (len(got) == 0) != (want != p.PID) {
			t.Errorf("of the subject %v listen on %s, %t", got, addr, known)
		}
		if got := guard.Listener(addr); got != want {
			t.Errorf("process %d listens on %s, want %d", got, addr, want)
		}
	}
}
