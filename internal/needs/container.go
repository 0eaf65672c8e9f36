package needs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// An engine runs images in containers: docker, or a program with docker's command line.
//
// A container stands for a program: it has the host's network, dyno's directories at their own paths, and the user
// that the program would have. So all that is done with an installed Postgres is done with an image's, and no
// proxy of a mapped port is in the way of requests. The engine's process in the foreground is supervised as the
// program would be: its end ends the container, which is removed with it.
type engine struct {
	path string
	here map[string]bool // images
}

// engineNames are tried in this order.
var engineNames = []string{"docker", "podman", "nerdctl"}

// answerTime is how long an engine may take to say something of itself, or of a container.
const answerTime = 20 * time.Second

// findEngine returns the first engine that answers. The error says why there is none.
func findEngine(ctx context.Context) (*engine, error) {
	silent := ""
	for _, name := range engineNames {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		e := &engine{path: path, here: map[string]bool{}}
		if _, err = e.ask(ctx, "info", "--format", "{{.}}"); err == nil {
			e.sweep(ctx)
			return e, nil
		}
		silent = cmp.Or(silent, fmt.Sprintf("%s does not answer: %v", name, err))
	}
	return nil, errors.New(cmp.Or(silent, "there is no docker, podman or nerdctl on this machine"))
}

func (e *engine) name() string { return filepath.Base(e.path) }

// ask runs a command of the engine that answers at once.
func (e *engine) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return e.run(ctx, nil, args...)
}

// run runs a command of the engine and returns what it printed, or the end of what it complained of.
func (e *engine) run(ctx context.Context, env map[string]string, args ...string) (string, error) {
	var out, said strings.Builder
	status, err := subject.RunTool(ctx, append([]string{e.path}, args...), env, os.TempDir(), &out, &said)
	switch {
	case err != nil:
		return "", err
	case status != guard.StatusOK:
		return "", errors.New(cmp.Or(strings.TrimSpace(tail(said.String(), 2000)), status))
	}
	return strings.TrimSpace(out.String()), nil
}

// Containers are named after dyno's process, so that the next dyno can remove what one left that was killed while its
// containers did not listen to it.
const boxPrefix = "dyno-"

// sweep removes containers of dynos that are gone.
func (e *engine) sweep(ctx context.Context) {
	names, _ := e.ask(ctx, "ps", "-a", "--filter", "name="+boxPrefix, "--format", "{{.Names}}")
	for name := range strings.Lines(names) {
		name = strings.TrimSpace(name)
		owner, _, _ := strings.Cut(strings.TrimPrefix(name, boxPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err != nil || !strings.HasPrefix(name, boxPrefix) {
			continue
		}
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Signal(syscall.Signal(0))
		}
		if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
			e.ask(ctx, "rm", "-f", name)
		}
	}
}

// fetch makes an image be here. What it downloads is no part of any launch.
func (k *Keeper) fetch(ctx context.Context, e *engine, image string) error {
	if e.here[image] {
		return nil
	}
	if _, err := e.ask(ctx, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
		k.tell("pulling %s", image)
		if _, err := e.run(ctx, nil, "pull", "-q", image); err != nil {
			return fmt.Errorf("%s pull: %w", e.name(), err)
		}
	}
	e.here[image] = true
	return nil
}

// engineFor returns the engine of a need that is an image; nil if a program that is installed has to stand for it. The
// caller holds mu.
func (k *Keeper) engineFor(ctx context.Context, name string, need *dyno.Need) (*engine, error) {
	if need.Image == "" {
		return nil, nil
	}
	if k.engine == nil && k.noEngine == nil {
		k.engine, k.noEngine = findEngine(ctx)
	}
	kind, _ := need.Kind()
	switch {
	case k.engine != nil:
		return k.engine, k.fetch(ctx, k.engine, need.Image)
	case need.OrInstalled && slices.Contains(dyno.ServerKinds, kind):
		return nil, nil
	}
	return nil, fmt.Errorf("image %s cannot run: %w (consider: apt install podman, or a need that is installed: %s: {postgres: {}})", need.Image, k.noEngine, name)
}

// programOf is the program of a need's server, and the engine that runs its image: nil if the program is installed. In an
// image it is a name, or "" for the image's own. The caller holds mu.
func (k *Keeper) programOf(ctx context.Context, name string, need *dyno.Need) (program string, e *engine, err error) {
	if e, err = k.engineFor(ctx, name, need); err != nil {
		return "", nil, err
	}
	_, conf := need.Kind()
	switch {
	case e != nil && need.Postgres != nil:
		return "postgres", e, nil
	case e != nil && need.MySQL != nil && strings.Contains(need.Image, "mariadb"):
		return "mariadbd", e, nil
	case e != nil && need.MySQL != nil:
		return "mysqld", e, nil
	case e != nil || conf == nil:
		return "", e, nil
	}
	program, err = kindOf(need).program(conf.Version)
	return program, nil, err
}

// A box is the container of a server.
type box struct {
	*engine
	name, image string
	root        string   // the keeper's directory, which it sees
	mounts      []string // what it sees beside that, read only, as PATH or FROM:TO
	own         bool     // it is not one of dyno's kinds: it has the image's own user, and sees no directory of dyno's
	publish     string   // HOST:PORT:INSIDE; "": it has the host's network
	env         []string
}

// newBox names a container. The caller holds mu.
func (k *Keeper) newBox(e *engine, name string, need *dyno.Need) *box {
	name = fmt.Sprintf("%s%d-%s-%d", boxPrefix, os.Getpid(), strings.ToLower(name), k.numbers.Add(1))
	return &box{engine: e, name: name, image: need.Image, root: k.dir}
}

// contain turns a job into one that runs in the box. Without a path, the image's own program is run.
func (b *box) contain(j *guard.Job, user *guard.User) {
	argv := []string{b.path, "run", "--rm", "--name", b.name, "--shm-size", "1g"}
	if b.publish == "" {
		argv = append(argv, "--network", "host")
	} else {
		argv = append(argv, "-p", b.publish)
	}
	if b.engine.name() == "podman" { // else SELinux keeps it from the directories
		argv = append(argv, "--security-opt", "label=disable")
	}
	if !b.own {
		argv = append(append(argv, "-v", b.root+":"+b.root), b.as(user)...)
	}
	for _, m := range b.mounts {
		if !strings.Contains(m, ":") {
			m += ":" + m
		}
		argv = append(argv, "-v", m+":ro")
	}
	for _, v := range b.env {
		key, _, _ := strings.Cut(v, "=")
		argv = append(argv, "-e", key) // its value is in the environment of the engine's process, which other users do not see
	}
	if j.Path != "" {
		argv = append(argv, "--entrypoint", j.Path)
	}
	argv = append(append(argv, b.image), j.Args[1:]...)
	j.Path, j.Args, j.Env, j.User = b.path, argv, append(os.Environ(), b.env...), nil
	j.Quit, j.Last = cmp.Or(j.Quit, syscall.SIGTERM), []string{b.path, "rm", "-f", b.name}
}

// as are the arguments by which a container has the user that its program would have.
func (b *box) as(user *guard.User) (args []string) {
	id := guard.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if user != nil {
		id = *user
	} else if id.UID == 0 || runtime.GOOS != "linux" {
		return nil
	} else if b.engine.name() == "podman" { // which maps users else
		args = []string{"--userns", "keep-id"}
	}
	passwd := filepath.Join(b.root, fmt.Sprintf("passwd-%d", id.UID)) // servers look their own user up
	text := fmt.Sprintf("root:x:0:0::/:/bin/sh\ndyno:x:%d:%d::/:/bin/sh\n", id.UID, id.GID)
	if err := os.WriteFile(passwd, []byte(text), 0o644); err == nil {
		args = append(args, "-v", passwd+":/etc/passwd:ro")
	}
	return append(args, "--user", fmt.Sprintf("%d:%d", id.UID, id.GID))
}

// tool is the command line of a program that belongs to a server, with names of variables that it is given: in a container
// it is the image's.
func (s *server) tool(argv []string, env map[string]string) []string {
	if s.box == nil {
		return argv
	}
	line := []string{s.box.path, "exec"}
	for _, key := range slices.Sorted(maps.Keys(env)) {
		line = append(line, "-e", key)
	}
	return append(append(line, s.box.name), argv...)
}

// pid is that of the first process in the box; 0 if it is not one of this machine's, as on a Mac.
func (b *box) pid(ctx context.Context) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	text, _ := b.ask(ctx, "inspect", "--format", "{{.State.Pid}}", b.name)
	pid, _ := strconv.Atoi(text)
	return pid
}
