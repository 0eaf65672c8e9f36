//go:build machine && linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/how"
)

// serveGo is the part that all services of these tests have.
const serveGo = `package main

import (
	"net/http"
	"os"
	"sync/atomic"
)

var sink, keep atomic.Pointer[[][]byte]

func serve() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		all := make([][]byte, 40)
		for i := range all {
			all[i] = make([]byte, 1000)
		}
		sink.Store(&all)
		w.Write(all[0])
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`

// depGo is a dependency that sets what nobody expects of it.
const depGo = `package dep

import (
	"runtime"
	"runtime/debug"
)

func Percent() { debug.SetGCPercent(60) }
func Procs()   { runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2)) }
func Limit()   { debug.SetMemoryLimit(9 << 30 / 10) }
`

// A service is its own part of main.go: imports and the rest; or an executable file made from it.
type service struct {
	imports []string
	code    string // before serve(), or whole functions after "}"
	script  string // run instead, with the built service as ./svc; "binary" runs that itself
	build   []string
	args    []string // of dyno run
	vary    string
	want    string // "" means that nothing is overridden
	often   bool   // .ci/run tries it, and not only .ci/long
}

func (s *service) write(t *testing.T) (target string) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	imports := ""
	for _, i := range s.imports {
		if !strings.HasSuffix(i, `"`) {
			i = `"` + i + `"`
		}
		imports += "import " + i + "\n"
	}
	put("go.mod", "module example.com/svc\n\ngo 1.24\n\nrequire example.com/dep v0.0.0\n\nreplace example.com/dep => ./dep\n")
	put("dep/go.mod", "module example.com/dep\n\ngo 1.24\n")
	put("dep/dep.go", depGo)
	main := "package main\n\n" + imports + "\nfunc main() {\n" + s.code + "\n\tserve()\n}\n"
	if strings.HasPrefix(s.code, "package") {
		main = s.code
	} else {
		put("serve.go", serveGo)
	}
	put("main.go", main)
	goCommand := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, text)
		}
	}
	goCommand("mod", "tidy")
	if s.script == "" {
		return dir
	}
	goCommand(append(append([]string{"build", "-o", "svc"}, s.build...), ".")...)
	if s.script == "binary" {
		return filepath.Join(dir, "svc")
	}
	put("run.sh", "#!/bin/sh\n"+strings.ReplaceAll(s.script, "./svc", filepath.Join(dir, "svc"))+"\n")
	return filepath.Join(dir, "run.sh")
}

// mark is a variable of the environment by which processes of a test are told from others.
const mark = "DYNO_TEST_MARK"

func (s *service) run(t *testing.T) (rs []dyno.Result, said string, err error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args := append([]string{"run", s.write(t), "--vary", s.vary, "-c", "2", "--env", mark + "=" + out, "--out", out}, s.args...)
	if !slices.Contains(args, "--slice") {
		args = append(args, "-d", "600ms", "--repeat", "1")
	}
	cmd := exec.Command("dyno", args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	lines, _ := os.ReadFile(filepath.Join(out, "results.jsonl"))
	for line := range strings.Lines(string(lines)) {
		var r dyno.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	if len(rs) == 0 {
		t.Errorf("no results: %s", &stderr)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := marked(mark + "=" + out)
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("processes are left: %q", left)
			break
		}
	}
	return rs, stderr.String(), err
}

// marked are the processes whose environment has a variable.
func marked(variable string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if slices.ContainsFunc(bytes.Split(text, []byte{0}), func(kv []byte) bool { return string(kv) == variable }) {
			found = append(found, file)
		}
	}
	return found
}

const gogcs = "GOGC=150,400"

// Each way to override a setting is named within the first block, with its place where there is a source.
func TestMachineOverridden(t *testing.T) { testOverridden(t, true) }

func TestLongOverridden(t *testing.T) { testOverridden(t, false) }

func testOverridden(t *testing.T, often bool) {
	const both = "GOGC=150 and GOGC=400 did not take effect: "
	for name, s := range map[string]service{
		"main":       {often: true, imports: []string{"runtime/debug"}, code: "debug.SetGCPercent(75)", vary: gogcs, want: both + "75 is in force (debug.SetGCPercent, main.go:6)"},
		"init":       {imports: []string{"runtime/debug"}, code: "serve()\n}\n\nfunc init() {\n\tdebug.SetGCPercent(75)\n}\n\nfunc never() {", vary: gogcs, want: both + "75 is in force (debug.SetGCPercent, main.go:10)"},
		"dependency": {imports: []string{"example.com/dep"}, code: "dep.Percent()", vary: gogcs, want: both + "60 is in force (debug.SetGCPercent, example.com/dep@v0.0.0/dep.go:8)"},
		"later": {often: true, imports: []string{"runtime/debug", "time"}, code: "go func() { for i := 75; ; i++ { debug.SetGCPercent(i); time.Sleep(20 * time.Millisecond) } }()", vary: gogcs,
			want: both + "it changed while the subject ran, such as to "}, // whenever dyno looks
		"off":    {imports: []string{"runtime/debug"}, code: "debug.SetGCPercent(-1)", vary: gogcs, args: []string{"-r", "500/s"}, want: both + "off is in force (debug.SetGCPercent, main.go:6)"},
		"limit":  {often: true, imports: []string{"runtime/debug"}, code: "debug.SetMemoryLimit(1 << 28)", vary: "GOMEMLIMIT=1GiB,2GiB", want: "GOMEMLIMIT=1GiB and GOMEMLIMIT=2GiB did not take effect: 256MiB is in force (debug.SetMemoryLimit, main.go:6)"},
		"procs":  {often: true, imports: []string{"runtime"}, code: "runtime.GOMAXPROCS(1)", vary: "GOMAXPROCS=1,3", want: "GOMAXPROCS=3 did not take effect: 1 is in force (runtime.GOMAXPROCS, main.go:6)"},
		"quota":  {imports: []string{"example.com/dep"}, code: "dep.Procs()", vary: "GOMAXPROCS=5,7", want: "GOMAXPROCS=5 and GOMAXPROCS=7 did not take effect: "},
		"memory": {imports: []string{"example.com/dep"}, code: "dep.Limit()", vary: "GOMEMLIMIT=1GiB,off", want: "did not take effect: 966367641B is in force (debug.SetMemoryLimit, example.com/dep@v0.0.0/dep.go:10)"},
		"again": {imports: []string{"os", "syscall"}, vary: gogcs, want: both + "the process that answers was started with 75 (os.Setenv, main.go:8)",
			code: "if os.Getenv(\"AGAIN\") == \"\" {\n\tos.Setenv(\"GOGC\", \"75\")\n\tos.Setenv(\"AGAIN\", \"1\")\n\tself, _ := os.Executable()\n\tsyscall.Exec(self, os.Args, os.Environ())\n\t}"},
		"wrapper": {often: true, script: "export GOGC=75\nexec ./svc", vary: gogcs, want: both + "the process that answers was started with 75"},
		"forking": {script: "GOGC=75 ./svc &\nwait", vary: gogcs, want: both + "the process that answers was started with 75"},
		"tuner": {imports: []string{"runtime", "runtime/debug"}, vary: gogcs, want: both + "it changed while the subject ran, such as to ",
			code: "tune(nil)\n\tserve()\n}\n\ntype stone struct{ p *int }\n\nvar n int\n\nfunc tune(*stone) {\n\tn++\n\tdebug.SetGCPercent(50 + n%100)\n\truntime.SetFinalizer(&stone{new(int)}, tune)\n}\n\nfunc never() {"},
		"traced":        {often: true, imports: []string{"runtime/debug"}, code: "debug.SetGCPercent(75)", script: "binary", vary: "GOGC=200,400", want: "did not take effect: the goals of collections are those of about "},
		"traced, procs": {imports: []string{"runtime"}, code: "runtime.GOMAXPROCS(1)", script: "binary", vary: "GOMAXPROCS=2,3", want: "did not take effect: 1 is in force"},
		"published": {often: true, imports: []string{"runtime/debug", "net/http", "github.com/prometheus/client_golang/prometheus/promhttp"}, script: "binary", vary: gogcs,
			code: "http.Handle(\"/metrics\", promhttp.Handler())\n\tdebug.SetGCPercent(75)", args: []string{"--prometheus", "/metrics"}, want: both + "75 is in force"},
	} {
		if s.often != often {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, said, err := s.run(t)
			if err == nil || !strings.Contains(said, s.want) || !strings.Contains(said, "so the run ends (consider: ") {
				t.Errorf("%v: got %s\nwant %s", err, said, s.want)
			}
			for _, r := range rs {
				if len(r.Overridden) == 0 && name != "procs" {
					t.Errorf("%s is not overridden: %v", r.Trial.Setting, r.InForce)
				}
			}
		})
	}
}

// Nobody is accused whose settings work.
func TestMachineInForce(t *testing.T) { testInForce(t, true) }

func TestLongInForce(t *testing.T) { testInForce(t, false) }

func testInForce(t *testing.T, often bool) {
	const prom = "github.com/prometheus/client_golang/prometheus/promhttp"
	for name, s := range map[string]service{
		"plain":             {often: true, vary: "GOGC=50,400"},
		"off":               {vary: "GOGC=off,-1", args: []string{"--env", "GOMEMLIMIT=256MiB"}},
		"limits":            {vary: "GOMEMLIMIT=1GiB,1073741824,1024MiB,off"},
		"procs":             {vary: "GOMAXPROCS=1,2,9"},
		"debug":             {vary: "GODEBUG=madvdontneed=1,gcstoptheworld=1", args: []string{"--env", "GOGC=70"}},
		"container":         {often: true, vary: "limit.cpu=none,1", args: []string{"--env", "GOGC=70", "--env", "GOMEMLIMIT=200MiB", "--limit", "memory=256MiB"}},
		"argument":          {vary: "arg.gc=80,160", args: []string{"--env", "GOGC={{.arg.gc}}"}},
		"empty":             {often: true, imports: []string{"os", "runtime/debug"}, code: "if os.Getenv(\"GOGC\") == \"\" {\n\tdebug.SetGCPercent(75)\n}", vary: "GOGC=,200"},
		"not asked":         {imports: []string{"runtime/debug"}, code: "debug.SetGCPercent(75)", vary: "GOMAXPROCS=1,2"},
		"read":              {imports: []string{"runtime", "runtime/debug"}, code: "println(runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1))", vary: "GOMAXPROCS=1,2"},
		"while it starts":   {often: true, imports: []string{"runtime/debug"}, code: "old := debug.SetGCPercent(-1)\n\tall := make([][]byte, 20000)\n\tfor i := range all {\n\t\tall[i] = make([]byte, 1000)\n\t}\n\tkeep.Store(&all)\n\tdebug.SetGCPercent(old)", vary: gogcs},
		"forced":            {often: true, imports: []string{"runtime", "runtime/debug", "time"}, code: "go func() {\n\tfor range time.Tick(50 * time.Millisecond) {\n\truntime.GC()\n\tdebug.FreeOSMemory()\n\t}\n}()", vary: gogcs},
		"memory":            {vary: gogcs, args: []string{"--memory", "--idle", "500ms"}},
		"slices":            {vary: gogcs, args: []string{"--slice", "300ms", "--repeat", "3"}},
		"overridden slices": {imports: []string{"runtime/debug"}, code: "debug.SetGCPercent(75)", vary: gogcs, args: []string{"--slice", "300ms", "--repeat", "3"}},
		"static":            {script: "binary", build: []string{"-ldflags=-s -w"}, vary: "GOGC=25,400"},
		"traced, large":     {often: true, script: "binary", code: "all := make([][]byte, 40000)\n\tfor i := range all {\n\t\tall[i] = make([]byte, 1000)\n\t}\n\tkeep.Store(&all)", vary: "GOGC=20,100"},
		"traced, forced":    {imports: []string{"runtime", "time"}, script: "binary", code: "go func() {\n\tfor range time.Tick(20 * time.Millisecond) {\n\truntime.GC()\n\t}\n}()", vary: "GOGC=50,400"},
		"traced, procs":     {script: "binary", vary: "GOMAXPROCS=1,2"},
		"published":         {imports: []string{"net/http", prom}, script: "binary", code: "http.Handle(\"/metrics\", promhttp.Handler())", vary: gogcs, args: []string{"--prometheus", "/metrics", "--probe", "proc,prometheus"}},
		"wrapper":           {script: "export OTHER=1\nexec ./svc", vary: gogcs},
		"forking":           {often: true, script: "./svc & wait", vary: gogcs},
		"automaxprocs":      {often: true, imports: []string{`_ "go.uber.org/automaxprocs"`}, vary: "GOMAXPROCS=1,2"},
		"automemlimit":      {imports: []string{"os", "example.com/dep"}, code: "if _, set := os.LookupEnv(\"GOMEMLIMIT\"); !set {\n\tdep.Limit()\n}", vary: "GOMEMLIMIT=512MiB,1GiB"}, // as that module does
		"no probe":          {vary: gogcs, args: []string{"--inject=false", "--probe", "proc"}},
	} {
		if s.often != often {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, said, err := s.run(t)
			if err != nil {
				t.Errorf("%v\n%s", err, said)
			}
			for _, r := range rs {
				if len(r.Overridden) > 0 || r.Err != "" && !strings.Contains(r.Err, "dyno was late") { // for a slice, as the machine was busy
					t.Errorf("%s: accused of %v, error %q", r.Trial.Setting, how.Overridden(r.Overridden), r.Err)
				}
			}
		})
	}
}

// Who answers is measured, together where they are several, and what cannot be measured of them is left out. Each
// request takes 300 µs of CPU time, wherever.
func TestLongWhoAnswers(t *testing.T) {
	const burn = `
func burn() {
	x := 0
	for end := time.Now().Add(300 * time.Microsecond); time.Now().Before(end); {
		x++
	}
}
`
	const server = `package main

import (
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { burn() })
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
` + burn
	fasthttp := func(reuse string) string {
		return `package main

import (
	"os"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

func main() {
	s := &fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) { burn() }}
	p := prefork.New(s)
	p.Reuseport = ` + reuse + `
	panic(p.ListenAndServe("127.0.0.1:" + os.Getenv("PORT")))
}
` + burn
	}
	const fiber = `package main

import (
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
)

func main() {
	app := fiber.New(fiber.Config{Prefork: true, DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error { burn(); return nil })
	panic(app.Listen("127.0.0.1:" + os.Getenv("PORT")))
}
` + burn
	const detached = `package main

import (
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("CHILD") == "" {
		self, _ := os.Executable()
		c := exec.Command(self)
		c.Env, c.SysProcAttr = append(os.Environ(), "CHILD=1"), &syscall.SysProcAttr{Setsid: true}
		c.Start()
		c.Wait()
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { burn() })
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
` + burn
	for name, c := range map[string]struct {
		service
		heap bool // is measured, by the trace
		said string
	}{
		"alone":            {service{code: server}, true, ""},
		"forking wrapper":  {service{code: server, script: "./svc & wait"}, true, ""},
		"own session":      {service{code: detached}, false, "requests are answered by process "},
		"fasthttp":         {service{code: fasthttp("true")}, false, "processes of the subject: CPU time and memory are measured of all together"},
		"fasthttp, one fd": {service{code: fasthttp("false")}, false, " answer"},
		"fiber":            {service{code: fiber}, false, "processes of the subject: CPU time and memory are measured of all together"},
	} {
		t.Run(name, func(t *testing.T) {
			c.vary, c.args = "ROUND=1,2", []string{"-r", "300/s", "-w", "500ms"}
			rs, said, err := c.run(t)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, r := range rs {
				cpu, measured := r.Values.Get("cpu-sec/req")
				_, heap := r.Values.Get("gc-cycles")
				if !measured && name != "fasthttp, one fd" || measured && (cpu < 250e-6 || cpu > 1500e-6) || heap && !c.heap {
					t.Errorf("%s: %v s of CPU a request (%t), heap %t; %v", r.Trial.Setting, cpu, measured, heap, r.Warnings.Texts())
				}
				if text := strings.Join(r.Warnings.Texts(), "\n"); !strings.Contains(text, c.said) {
					t.Errorf("%s: warnings %q", r.Trial.Setting, text)
				}
			}
		})
	}
}
