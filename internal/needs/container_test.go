//go:build unix

package needs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// fakeEngine has docker's command line, and runs programs of this machine: those of an image are this test's own, unless the
// entrypoint is another. What it was asked is in the file asked beside it.
const fakeEngine = `#!/bin/sh
here=${0%%/*}
echo "$@" >>"$here/asked"
case $1 in
--version) echo Docker version 1;;
info) ;;
image) [ -e "$here/pulled" ];;
pull) >"$here/pulled";;
ps) %s;;
inspect) echo "$(cat "$here/pid-$4") /";; # each path of a control group has a slash
exec)
	shift
	while [ "$1" = -e ]; do shift 2; done
	shift
	exec "$@";;
run)
	shift 2
	name=$2 entry=%s
	while :; do
		case $1 in
		--entrypoint) entry=$2; shift 2;;
		-*) shift 2;;
		*) break;;
		esac
	done
	shift
	echo $$ >"$here/pid-$name"
	exec "$entry" "$@";;
esac
`

// withEngine lets docker be a fake, and podman and nerdctl be not there. It returns what tells what docker was asked.
func withEngine(t *testing.T, answer string) (asked func() string) {
	dir := t.TempDir()
	script := fmt.Sprintf(fakeEngine, answer, os.Args[0])
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range engineNames[1:] {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "asked"))
		return string(text)
	}
}

// An image is pulled once and runs as the program would. Its first process is watched, and its container is gone in the end.
func TestImage(t *testing.T) {
	asked := withEngine(t, "exit 0")
	t.Setenv("DYNO_TEST_NEED", "serve")
	k := keeper(t)
	needs := map[string]dyno.Need{"x": {Image: "serve:1", Args: []string{"{{.Addr}}", "hello"}, Env: map[string]string{"KEY": "secret"}}}
	o := mustOpen(t, k, 1, needs)
	if got := fetch(t, o, "x", "/"); got != "hello" {
		t.Errorf("it answers %q", got)
	}
	mustOpen(t, k, 1, needs)
	pid := o.Targets()[0].PID
	if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && !strings.Contains(string(args), "hello") {
		t.Errorf("its process is %q", args)
	}
	said := asked()
	if strings.Count(said, "pull") != 1 || strings.Contains(said, "secret") || !strings.Contains(said, "--env-file") {
		t.Errorf("the engine was asked\n%s", said)
	}
	o.Close()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d: %v", pid, err)
	}
	if !strings.Contains(asked(), "rm -f -v dyno-x-") {
		t.Errorf("the engine was not asked to remove the container:\n%s", asked())
	}
}

// Without an engine that answers, an image is an error with the reason.
func TestNoEngine(t *testing.T) {
	withEngine(t, "echo Cannot connect to the daemon >&2; exit 1")
	_, err := open(t, keeper(t), 1, map[string]dyno.Need{"x": {Image: "serve:1"}})
	if want := "need x: image serve:1 cannot run: docker does not answer: Cannot connect to the daemon (consider: podman"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A container has the user that the program would have, and no proxy before it unless it has its own port.
func TestContain(t *testing.T) {
	dir := t.TempDir()
	args := func(b *box, user *guard.User) string {
		b.engine, b.name, b.image, b.root = &engine{path: "/bin/docker"}, "box", "img", dir
		j := &guard.Job{Path: "postgres", Args: []string{"postgres", "-D", "x"}}
		b.contain(j, user)
		return strings.Join(j.Args, " ")
	}
	own := args(&box{mounts: []string{"/seeds:/seeds"}}, &guard.User{UID: 7, GID: 8})
	for _, want := range []string{"--network host", "-v " + dir + ":" + dir + " ", "--user 7:8", "-v /seeds:/seeds:ro", "--entrypoint postgres img -D x"} {
		if !strings.Contains(own, want) {
			t.Errorf("%q lacks %q", own, want)
		}
	}
	if got := args(&box{own: true, publish: "127.0.0.1:1:2"}, nil); strings.Contains(got, dir) || strings.Contains(got, "--network") || !strings.Contains(got, "-p 127.0.0.1:1:2 ") {
		t.Errorf("an image of somebody else has %q", got)
	}
}

// A need is ready when it has written the line, and when the command succeeds.
func TestReady(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	for want, change := range map[string]func(*dyno.Need){
		"":                          func(n *dyno.Need) { n.ReadyLog, n.ReadyCommand = "is ready", []string{"test", "-n", "{{.Addr}}"} },
		`it has not written "done"`: func(n *dyno.Need) { n.ReadyLog = "done" },
		"exit status 1":             func(n *dyno.Need) { n.ReadyCommand = []string{"test", "-e", flag} },
	} {
		n := dyno.Need{Command: []string{"/bin/sh", "-c", `echo it is; echo "it is ready"; exec "$0" "$@"`, os.Args[0], "{{.Addr}}"},
			Env: map[string]string{"DYNO_TEST_NEED": "serve"}, ReadyTimeout: dyno.Duration(time.Minute)}
		if change(&n); want != "" {
			n.ReadyTimeout = dyno.Duration(2 * time.Second)
		}
		_, err := open(t, keeper(t), 1, map[string]dyno.Need{"x": n})
		if got := fmt.Sprint(err); (err == nil) != (want == "") || err != nil && !strings.Contains(got, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A text is found wherever writes divide it.
func TestSought(t *testing.T) {
	for _, writes := range [][]string{{"is ready\n"}, {"it i", "s re", "ady"}, {"is rea", "is ready"}} {
		s := newSought("is ready", io.Discard)
		for _, text := range writes {
			if s.seen() {
				t.Errorf("%q: found before %q", writes, text)
			}
			s.Write([]byte(text))
		}
		if !s.seen() {
			t.Errorf("%q: not found", writes)
		}
	}
}

// podman is given whole names, which docker understands by itself.
func TestQualified(t *testing.T) {
	for name, want := range map[string]string{
		"postgres:17": "docker.io/library/postgres:17", "pgvector/pgvector:pg17": "docker.io/pgvector/pgvector:pg17",
		"ghcr.io/a/b": "ghcr.io/a/b", "localhost/x": "localhost/x", "registry:5000/x:1": "registry:5000/x:1",
	} {
		if got := qualified(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
