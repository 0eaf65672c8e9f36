package needs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	switch os.Getenv("DYNO_TEST_NEED") {
	case "serve":
		serve()
	case "refuse":
		fmt.Fprintln(os.Stderr, "refuse: no license")
		os.Exit(3)
	case "mute":
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// serve answers with its arguments, and ends when it is asked to.
func serve() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.Join(os.Args[2:], " ")) })
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "serve: asked to die")
		os.Exit(4)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
	os.Exit(1)
}

// program is a need that this test binary plays.
func program(how string, args ...string) dyno.Need {
	return dyno.Need{Command: append([]string{os.Args[0], "{{.Addr}}"}, args...), Env: map[string]string{"DYNO_TEST_NEED": how}}
}

func keeper(t *testing.T) *Keeper {
	k := new(Keeper)
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if k.dir != "" {
			if _, err := os.Stat(k.dir); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", k.dir, err)
			}
		}
	})
	return k
}

func open(t *testing.T, k *Keeper, block int, needs map[string]dyno.Need) (*Opened, error) {
	o, err := k.Open(t.Context(), &dyno.Trial{Block: block, Subject: dyno.Subject{Dir: ".", Needs: needs}}, func(string) io.Writer { return io.Discard })
	if err == nil {
		t.Cleanup(o.Close)
	}
	return o, err
}

func mustOpen(t *testing.T, k *Keeper, block int, needs map[string]dyno.Need) *Opened {
	t.Helper()
	o, err := open(t, k, block, needs)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func fetch(t *testing.T, o *Opened, name, path string) string {
	t.Helper()
	text, err := get(t.Context(), o.Data[name]["URL"]+path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A need that uses another starts after it, with its address; a directory of its own is gone in the end.
func TestOrder(t *testing.T) {
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{
		"a": program("serve", "{{.needs.b.Addr}}", "{{.Dir}}"),
		"b": program("serve"),
	})
	addr, dir, _ := strings.Cut(fetch(t, o, "a", "/"), " ")
	if addr != o.Data["b"]["Addr"] {
		t.Errorf("a got %q, b serves at %q", addr, o.Data["b"]["Addr"])
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	o.Close()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory of a is left: %v", err)
	}
	if got := fetch(t, o, "b", "/"); !strings.Contains(got, "refused") {
		t.Errorf("b answers after the end: %q", got)
	}
}

// An error names the need, and has its last lines.
func TestNotReady(t *testing.T) {
	late := program("mute")
	late.ReadyTimeout = dyno.Duration(200 * time.Millisecond)
	for want, need := range map[string]dyno.Need{
		"need x: it ended: exit status 3\nlast lines of it:\n\trefuse: no license": program("refuse"),
		"need x: it is not ready after 200ms: ":                                    late,
		"need x: exec: \"no-such-program\"":                                        {Command: []string{"no-such-program"}},
		"need x: \"{{.Adr}}\"":                                                     {Command: []string{os.Args[0], "{{.Adr}}"}},
	} {
		if _, err := open(t, keeper(t), 1, map[string]dyno.Need{"x": need}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A need that ends by itself is said with its last lines; one that is closed is no error.
func TestEnds(t *testing.T) {
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": program("serve")})
	if err := o.Err(); err != nil {
		t.Fatal(err)
	}
	fetch(t, o, "x", "/die")
	<-o.Done
	if err := o.Err(); err == nil || err.Error() != "x ended: exit status 4\nlast lines of it:\n\tserve: asked to die" {
		t.Errorf("error %v", err)
	}
	o = mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": program("serve")})
	o.Close()
	if <-o.Done; o.Err() != nil {
		t.Error(o.Err())
	}
}

// A need that does not answer any more hangs; one that answers does not, and neither does one that has ended.
func TestHung(t *testing.T) {
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": program("serve"), "y": program("serve")})
	if err := o.Hung(); err != nil {
		t.Fatal(err)
	}
	fetch(t, o, "y", "/die")
	<-o.Done
	if err := o.Hung(); err != nil {
		t.Errorf("with one that has ended: %v", err)
	}
	defer func(before time.Duration) { hangTime = before }(hangTime)
	hangTime = 50 * time.Millisecond
	need := program("serve")
	need.Ready = "/"
	o = mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": need})
	pid := o.Targets()[0].PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	awaitStop(t, pid)
	if err := o.Hung(); err == nil || !strings.HasPrefix(err.Error(), "x hangs: ") {
		t.Errorf("of one that hangs: error %v", err)
	}
}

// awaitStop returns when all threads of a process are stopped. One of them has to get a CPU for that; until then the others may answer.
func awaitStop(t *testing.T, pid int) {
	t.Helper()
	for {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none on other systems
		if !slices.ContainsFunc(stats, func(stat string) bool {
			text, err := os.ReadFile(stat)
			return err == nil && !strings.Contains(string(text), ") T ") // proc_pid_stat(5)
		}) {
			return
		}
		runtime.Gosched()
	}
}

// Settings of a block share a need, or all of a run do; one that has ended is started anew.
func TestShared(t *testing.T) {
	k := keeper(t)
	with := func(per string) map[string]dyno.Need {
		n := program("serve")
		n.Per = per
		return map[string]dyno.Need{"x": n}
	}
	addr := func(per string, block int) string { return mustOpen(t, k, block, with(per)).Data["x"]["Addr"] }
	if a, b := addr(dyno.PerLaunch, 1), addr(dyno.PerLaunch, 1); a == b {
		t.Error("launches share their need")
	}
	one, two, three := mustOpen(t, k, 1, with(dyno.PerBlock)), mustOpen(t, k, 1, with(dyno.PerBlock)), addr(dyno.PerBlock, 2)
	if one.Data["x"]["Addr"] != two.Data["x"]["Addr"] || one.Data["x"]["Addr"] == three {
		t.Errorf("of two launches in a block and one in another the needs are %s, %s, %s", one.Data["x"]["Addr"], two.Data["x"]["Addr"], three)
	}
	if a, b := addr(dyno.PerRun, 1), addr(dyno.PerRun, 2); a != b {
		t.Error("blocks do not share the need of the run")
	}
	fetch(t, one, "x", "/die")
	<-one.Done
	if again := addr(dyno.PerBlock, 1); again == one.Data["x"]["Addr"] {
		t.Error("a need that has ended is handed out")
	}
}

// A relay that drops breaks a connection at each message, once it is due.
func TestRelayDrops(t *testing.T) {
	drop := dyno.Fraction(1)
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": func() dyno.Need { n := program("serve"); n.Drop = &drop; return n }()})
	conn, err := net.Dial("tcp", o.Data["x"]["Addr"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, error %v, want a reset", n, err)
	}
}

// A relay ends with connections open.
func TestRelayCloses(t *testing.T) {
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{"x": func() dyno.Need { n := program("serve"); n.Delay = dyno.Duration(time.Hour); return n }()})
	conn, err := net.Dial("tcp", o.Data["x"]["Addr"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	o.Close()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("%d bytes, error %v", n, err)
	}
}

// Redis answers in the forms of its protocol.
func TestRedisReply(t *testing.T) {
	for text, want := range map[string]string{
		"+OK\r\n": "OK <nil>", ":7\r\n": "7 <nil>", "$5\r\na\r\nbc\r\n": "a\r\nbc <nil>", "$-1\r\n": " <nil>", "*2\r\n$1\r\na\r\n:2\r\n": "2 <nil>",
		"-ERR unknown command\r\n": " redis: ERR unknown command", "": " EOF", "$5\r\nab": "ab\x00\x00\x00 unexpected EOF",
	} {
		got, err := (&redisConn{in: bufio.NewReader(strings.NewReader(text))}).reply()
		if fmt.Sprint(got, " ", err) != want {
			t.Errorf("%q: got %q %v, want %q", text, got, err, want)
		}
	}
}

// A copy has the files, links and modes of a directory.
func TestMirror(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	os.MkdirAll(filepath.Join(from, "a/b"), 0o700)
	os.WriteFile(filepath.Join(from, "a/b/c"), []byte("text"), 0o640)
	os.Symlink("b/c", filepath.Join(from, "a/link"))
	is := func(when string) {
		t.Helper()
		if err := mirror(to, from, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(to, "a/link"))
		info, _ := os.Stat(filepath.Join(to, "a/b/c"))
		files, _ := filepath.Glob(filepath.Join(to, "*/*"))
		if string(text) != "text" || err != nil || info.Mode().Perm() != 0o640 || len(files) != 2 {
			t.Errorf("%s: %q, %v, mode %v, files %v", when, text, err, info.Mode(), files)
		}
	}
	is("new")
	secret := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(secret, []byte("mine"), 0o600)
	for when, change := range map[string]func() error{
		"as it was":   func() error { return nil },
		"a new file":  func() error { return os.WriteFile(filepath.Join(to, "a/new"), nil, 0o600) },
		"other text":  func() error { return os.WriteFile(filepath.Join(to, "a/b/c"), []byte("tEXt"), 0o600) },
		"other mode":  func() error { return os.Chmod(filepath.Join(to, "a/b/c"), 0o600) },
		"a file away": func() error { return os.Remove(filepath.Join(to, "a/b/c")) },
		"all away":    func() error { return os.RemoveAll(filepath.Join(to, "a")) },
		"a link in the place of a file": func() error {
			os.Remove(filepath.Join(to, "a/b/c"))
			return os.Symlink(secret, filepath.Join(to, "a/b/c"))
		},
		"a hard link in the place of a file": func() error {
			os.Remove(filepath.Join(to, "a/b/c"))
			return os.Link(secret, filepath.Join(to, "a/b/c"))
		},
		"a file in the place of a directory": func() error {
			os.RemoveAll(filepath.Join(to, "a"))
			return os.WriteFile(filepath.Join(to, "a"), nil, 0o600)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		is(when)
	}
	if text, _ := os.ReadFile(secret); string(text) != "mine" {
		t.Errorf("a file elsewhere was overwritten: %q", text)
	}
}

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://db.test:5433/app": "db.test:5433", "postgres://db.test/app": "db.test:5432", "redis://[::1]": "[::1]:6379", "db.test": "",
	} {
		if got, _ := hostOf(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	n := dyno.Need{URL: "postgres://u@db.test:5433/app"}
	if got := (outside{}).url(&server{need: &n, addr: "db.test:5433"}, "127.0.0.1:9", ""); got != "postgres://u@127.0.0.1:9/app" {
		t.Errorf("with a relay it is %s", got)
	}
}
