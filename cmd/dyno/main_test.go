package main

import (
	"archive/zip"
	"errors"
	_ "expvar"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dynolab/dyno/internal/subject/awake"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	awake.Main()
	testscript.Main(m, map[string]func(){
		"dyno": func() { os.Exit(mainStatus()) },
		"svc":  svc,
	})
}

// TestScripts runs testdata/*.txtar. Beside the usual commands they have dyno,
// the service svc as $SVC, services of which one instance can run in $SINGLE, runs of a former version in $RUNS, serve, which starts a server at $URL, requests and profiles,
// which make run directories, collect, which takes what --otlp pushes, and publish, after which the go command knows a version of a module.
func TestScripts(t *testing.T) {
	goEnv := goEnviron(t)
	single, err1 := filepath.Abs("../../internal/subject/testdata/single")
	runs, err2 := filepath.Abs(filepath.Join(formerRuns, "2bb5b5f"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			path, err := exec.LookPath("svc")
			if err != nil {
				return err
			}
			env.Vars = append(env.Vars, goEnv...)
			env.Setenv("SVC", path)
			env.Setenv("SINGLE", single)
			env.Setenv("RUNS", runs)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"serve": serve, "requests": requests, "targets": targets, "profiles": makeProfiles, "status": status, "collect": collect, "steps": cutSteps, "publish": publish},
	})
}

// goEnviron lets scripts build without a home directory and without a network.
func goEnviron(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1], "GOPATH=" + dirs[2], "GOPROXY=off", "GOFLAGS=", "GOTOOLCHAIN=local"}
}

// serve starts a server whose address is $URL until the script ends. Below /own
// it publishes what expvar and pprof have.
func serve(ts *testscript.TestScript, _ bool, _ []string) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/own/"):
			http.StripPrefix("/own", http.DefaultServeMux).ServeHTTP(w, r)
		case r.URL.Path == "/missing", strings.HasPrefix(r.URL.Path, "/debug/"), r.URL.Path == "/metrics":
			http.NotFound(w, r)
		case r.URL.Path == "/sometimes" && n.Add(1)%20 == 0:
			http.Error(w, "no", http.StatusServiceUnavailable)
		default:
			io.WriteString(w, "hello")
		}
	}))
	ts.Setenv("URL", s.URL)
	ts.Defer(s.Close)
}

// status runs a command that has to end with an exit status: status 99 dyno load …
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s: exit status %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// collect starts a collector whose address is $COLLECTOR, which writes what is pushed
// to it to otlp.json, a line each.
func collect(ts *testscript.TestScript, _ bool, _ []string) {
	out, err := os.Create(ts.MkAbs("otlp.json"))
	ts.Check(err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/metrics" {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		out.Write(append(body, '\n'))
	}))
	ts.Setenv("COLLECTOR", s.URL)
	ts.Defer(func() { s.Close(); out.Close() })
}

// publish puts a directory where the go command looks for modules, as one version: publish example.org/x@v1.0.0 dir.
func publish(ts *testscript.TestScript, _ bool, args []string) {
	name, dir := args[0], ts.MkAbs(args[1])
	path, version, _ := strings.Cut(name, "@")
	root := ts.MkAbs("proxy")
	at := filepath.Join(root, path, "@v")
	ts.Check(os.MkdirAll(at, 0o777))
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	ts.Check(err)
	z := zip.NewWriter(packed)
	ts.Check(filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		w, err := z.Create(name + "/" + filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}))
	ts.Check(errors.Join(z.Close(), packed.Close()))
	ts.Check(os.WriteFile(filepath.Join(at, version+".mod"), []byte(ts.ReadFile(filepath.Join(dir, "go.mod"))), 0o666))
	ts.Check(os.WriteFile(filepath.Join(at, version+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version), 0o666))
	list, err := os.OpenFile(filepath.Join(at, "list"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	ts.Check(err)
	_, err = fmt.Fprintln(list, version)
	ts.Check(errors.Join(err, list.Close()))
	for variable, value := range map[string]string{"GOPROXY": "file://" + root, "GONOSUMDB": "*", "GOMODCACHE": ts.MkAbs("modcache"), "GOFLAGS": "-modcacherw"} {
		ts.Setenv(variable, value)
	}
}

// svc is a service with faults to choose from.
func svc() {
	addr := flag.String("addr", "127.0.0.1:"+os.Getenv("PORT"), "")
	fault := flag.String("fault", "", "mute, refuse, unreached, die, hang, deaf, flood, child")
	after := flag.Int64("after", 100, "requests before the fault")
	upstream := flag.String("upstream", "", "address of another that is asked for each answer")
	flag.Parse()
	switch *fault {
	case "mute":
		time.Sleep(time.Hour)
	case "refuse":
		fmt.Fprintln(os.Stderr, "svc: no database at db:5432")
		os.Exit(3)
	case "unreached":
		fmt.Fprintln(os.Stderr, "svc: dial tcp 127.0.0.1:5432: connect: connection refused")
		os.Exit(1)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "flood":
		go func() {
			line := strings.Repeat("x", 1000) + "\n"
			for {
				os.Stderr.WriteString(line)
			}
		}()
	case "child":
		child := exec.Command("sleep", "3600")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		child.Start()
	}
	var n atomic.Int64
	var garbage atomic.Pointer[[]byte]
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "svc:", err)
		os.Exit(1)
	}
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *fault != "" && n.Add(1) > *after {
			switch *fault {
			case "die":
				fmt.Fprintln(os.Stderr, "panic: out of cheese")
				os.Exit(2)
			case "hang":
				<-r.Context().Done()
			}
		}
		if *upstream != "" {
			resp, err := http.Get("http://" + *upstream)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		b := make([]byte, 64<<10)
		garbage.Store(&b)
		fmt.Fprintf(w, `{"id":%q,"path":%q}`, r.Header.Get("X-Client"), r.URL.Path)
	}))
}

// targets writes a file of requests to the server of serve, in vegeta's format.
func targets(ts *testscript.TestScript, _ bool, _ []string) {
	text := fmt.Sprintf("GET %[1]s/a\nX-Id: 7\n\nPOST %[1]s/b\n", ts.Getenv("URL"))
	ts.Check(os.WriteFile(ts.MkAbs("targets.txt"), []byte(text), 0o666))
}
