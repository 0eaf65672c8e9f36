package needs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A near host plays pods by processes of this machine. Subjects reach them at 127.0.0.2, and dyno at 127.0.0.1.
type near struct {
	programs map[string][]string // of images that have one of their own
	path     string              // where the images' programs are, before PATH
	user     *guard.User
	pods     []*Pod
	left     int // pods that are not stopped
}

func (*near) Any() string { return "0.0.0.0" }

func (n *near) Run(ctx context.Context, p *Pod) (*Hosted, error) {
	n.pods = append(n.pods, p)
	argv := slices.Concat(p.Command, p.Args)
	if p.Command == nil {
		program, ok := n.programs[p.Image]
		if !ok {
			return nil, errors.New("there is no image " + p.Image)
		}
		argv = slices.Concat(program, p.Args)
	}
	dir, err := os.MkdirTemp("", "pod")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		return nil, err
	}
	swaps := []string{DataDir, dir}
	h := &Hosted{Host: "127.0.0.2"}
	for i, port := range p.Ports {
		addr, err := freeport.At("127.0.0.1")
		if err != nil {
			return nil, err
		}
		_, free, _ := net.SplitHostPort(addr)
		swaps = append(swaps, strconv.Itoa(port), free)
		p.Ports[i], _ = strconv.Atoi(free)
		h.Addrs = append(h.Addrs, addr)
	}
	swap := strings.NewReplacer(swaps...).Replace
	env := append(os.Environ(), "PATH="+n.path+":"+os.Getenv("PATH"))
	for key, value := range p.Env {
		env = append(env, key+"="+swap(value))
	}
	for i := range argv {
		argv[i] = swap(argv[i])
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	tree, err := guard.Start(guard.Job{Path: path, Args: argv, Dir: dir, Env: env, User: n.user}, guard.IO{Stdout: p.Log, Stderr: p.Log})
	if err != nil {
		return nil, err
	}
	n.left++
	h.Done, h.Err = tree.Done, func() error { return errors.New(tree.Status) }
	h.Stop = func() { n.left--; tree.Stop(0); os.RemoveAll(dir) }
	h.Usage = func(context.Context) (float64, float64, error) { return 1, 2, nil }
	for end := time.Now().Add(time.Minute); dial(ctx, h.Addrs[0]) != nil; time.Sleep(10 * time.Millisecond) {
		select {
		case <-tree.Done:
			h.Stop()
			return nil, errors.New("it ended: " + tree.Status)
		default:
		}
		if time.Now().After(end) {
			h.Stop()
			return nil, errors.New("it does not listen")
		}
	}
	return h, nil
}

// inPods is a keeper whose servers run in pods.
func inPods(t *testing.T, host *near) *Keeper {
	k := &Keeper{Host: host}
	t.Cleanup(func() {
		if err := k.Close(); err != nil || host.left != 0 || k.dir != "" {
			t.Errorf("%d pods are left, directory %q, error %v", host.left, k.dir, err)
		}
	})
	return k
}

// A subject is given the address of a pod, and commands of this machine that by which dyno reaches it.
func TestPod(t *testing.T) {
	host := &near{programs: map[string][]string{"serve:1": {os.Args[0]}}}
	k := inPods(t, host)
	told := filepath.Join(t.TempDir(), "told")
	image := dyno.Need{Image: "serve:1", Args: []string{"{{.Addr}}", "{{.needs.b.Addr}}"}, Env: map[string]string{"DYNO_TEST_NEED": "serve"}, Ready: "/",
		Reset: []string{"/bin/sh", "-c", "echo {{.Addr}} $NEED_URL >" + told}}
	other := dyno.Need{Image: "serve:1", Args: []string{"{{.Addr}}"}, Env: map[string]string{"DYNO_TEST_NEED": "serve"}, Per: dyno.PerRun}
	needs := map[string]dyno.Need{"a": image, "b": other}
	one := mustOpen(t, k, 1, needs)
	two := mustOpen(t, k, 2, needs)
	if got := fetch(t, one, "a", "/"); got != one.Data["b"]["Addr"] || !strings.HasPrefix(got, "127.0.0.2:") {
		t.Errorf("a got %q, and b serves at %q", got, one.Data["b"]["Addr"])
	}
	if one.Data["a"]["Addr"] == two.Data["a"]["Addr"] || one.Data["b"]["Addr"] != two.Data["b"]["Addr"] {
		t.Errorf("addresses %v and %v", one.Data, two.Data)
	}
	text, err := os.ReadFile(told)
	if want := strings.Replace(two.Data["a"]["Addr"], "127.0.0.2", "127.0.0.1", 1); err != nil || string(text) != want+" http://"+want+"\n" {
		t.Errorf("reset was told %q, %v, want %s", text, err, want)
	}
	target := one.Targets()[1]
	if cpu, rss, err := target.Usage(t.Context()); target.PID != 0 || cpu != 1 || rss != 2 || err != nil {
		t.Errorf("used %v and %v, error %v, process %d", cpu, rss, err, target.PID)
	}
	if _, ok := one.Data["a"]["Dir"]; ok {
		t.Error("the subject is told a directory of a pod")
	}
	fetch(t, one, "a", "/die")
	<-one.Done
	if err := fmt.Sprint(one.Err()); !strings.Contains(err, "a ended: exit status 4") || !strings.Contains(err, "serve: asked to die") {
		t.Errorf("the end is told as %q", err)
	}
}

// A pod that does not start says its last lines.
func TestPodFails(t *testing.T) {
	host := &near{programs: map[string][]string{"serve:1": {os.Args[0]}}}
	_, err := open(t, inPods(t, host), 1, map[string]dyno.Need{"x": {Image: "serve:1", Args: []string{"{{.Addr}}"}, Env: map[string]string{"DYNO_TEST_NEED": "refuse"}}})
	if text := fmt.Sprint(err); !strings.Contains(text, "need x: it ended: exit status 3") || !strings.Contains(text, "refuse: no license") {
		t.Errorf("error %v", err)
	}
	_, err = open(t, inPods(t, host), 1, map[string]dyno.Need{"db": {Redis: &dyno.Server{Version: "6"}}})
	if err == nil || err.Error() != "need db: there is no image docker.io/library/redis:6" {
		t.Errorf("error %v", err)
	}
}

// Without psql, what only psql understands is refused before anything starts.
func TestPodSeed(t *testing.T) {
	for text, plain := range map[string]bool{"create table x (n int);\n-- \\ here\n": true, "COPY x FROM stdin;\n1\n\\.\n": false, "\\set a 1\n": false} {
		if psqlCommand.MatchString(text) == plain {
			t.Errorf("%q is plain: %t", text, !plain)
		}
	}
	err := preparePod("db", &dyno.Need{Redis: &dyno.Server{Seed: []string{"/no/such/file"}}})
	if err == nil || !strings.Contains(err.Error(), "seed of need db") {
		t.Errorf("error %v", err)
	}
}
