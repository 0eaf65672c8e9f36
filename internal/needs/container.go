package needs

import (
	"cmp"
	"context"
	"crypto/rand"
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
	path   string
	podman bool
	here   map[string]string // images, as a plan names them, by the names that they have here
}

// engineNames are tried in this order.
var engineNames = []string{"docker", "podman", "nerdctl"}

// engineTime is how long an engine may take to say something of itself, or of a container.
const engineTime = 20 * time.Second

// findEngine returns the first engine that answers and can run containers as [engine] says. The error says why none can.
func findEngine(ctx context.Context) (*engine, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("elsewhere than on Linux the containers of docker and podman are on another machine, a virtual one")
	}
	why := ""
	for _, name := range engineNames {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		e := &engine{path: path, here: map[string]string{}}
		if err := e.usable(ctx); err == nil {
			return e, nil
		} else if why == "" {
			why = fmt.Sprintf("%s %v", name, err)
		}
	}
	return nil, errors.New(cmp.Or(why, "there is no docker, podman or nerdctl on this machine"))
}

// usable says why an engine cannot be used. docker info succeeds without a daemon: https://github.com/docker/cli/issues/5900.
func (e *engine) usable(ctx context.Context) error {
	version, err := e.ask(ctx, "--version")
	if err != nil {
		return err
	}
	e.podman = strings.Contains(version, "podman") // also where docker is podman
	if _, err := e.ask(ctx, "ps", "-q"); err != nil {
		return fmt.Errorf("does not answer: %w", err)
	}
	if e.podman {
		return nil
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix://") {
		return fmt.Errorf("runs containers on another machine (DOCKER_HOST=%s)", host)
	}
	info, err := e.ask(ctx, "info", "--format", "{{.SecurityOptions}} {{.OperatingSystem}}")
	for _, foreign := range []string{"rootless", "userns", "Docker Desktop"} {
		if err == nil && strings.Contains(info, foreign) {
			return fmt.Errorf("is %s, whose containers have another network or other users (consider: podman)", foreign)
		}
	}
	return nil
}

func (e *engine) name() string { return filepath.Base(e.path) }

// ask runs a command of the engine that answers at once.
func (e *engine) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	return e.run(ctx, args...)
}

// run runs a command of the engine and returns what it printed, or the end of what it complained of.
func (e *engine) run(ctx context.Context, args ...string) (string, error) {
	var out, said strings.Builder
	status, err := subject.RunTool(ctx, append([]string{e.path}, args...), nil, os.TempDir(), &out, &said)
	switch {
	case err != nil:
		return "", err
	case status != guard.StatusOK:
		return "", errors.New(cmp.Or(strings.TrimSpace(tail(said.String(), 2000)), status))
	}
	return strings.TrimSpace(out.String()), nil
}

// fetch makes an image be here. What it downloads is no part of any launch.
func (k *Keeper) fetch(ctx context.Context, e *engine, image string) error {
	if e.here[image] != "" {
		return nil
	}
	name := image
	if _, err := e.ask(ctx, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
		if e.podman { // which may know no registry for short names, or ask a terminal
			name = qualified(image)
		}
		k.tell("pulling %s", name)
		if _, err := e.run(ctx, "pull", "-q", name); err != nil {
			return fmt.Errorf("%s pull %s: %w", e.name(), name, err)
		}
	}
	e.here[image] = name
	return nil
}

// qualified is an image's name as docker understands it: https://pkg.go.dev/github.com/distribution/reference.
func qualified(image string) string {
	first, _, more := strings.Cut(image, "/")
	switch {
	case !more:
		return "docker.io/library/" + image
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return image
	}
	return "docker.io/" + image
}

// engineFor returns the engine of a need that is an image; nil if a program that is installed has to stand for it. The
// caller holds mu.
func (k *Keeper) engineFor(ctx context.Context, need *dyno.Need) (*engine, error) {
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
	return nil, fmt.Errorf("image %s cannot run: %w (consider: podman, or docker with the rights to use it)", need.Image, k.noEngine)
}

// programOf is the program of a need's server, and the engine that runs its image: nil if the program is installed. In an
// image it is a name, or "" for the image's own. The caller holds mu.
func (k *Keeper) programOf(ctx context.Context, need *dyno.Need) (program string, e *engine, err error) {
	if e, err = k.engineFor(ctx, need); err != nil {
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
	mounts      []string // what it sees beside that, read only, as FROM:TO
	own         bool     // it is not one of dyno's kinds: it has the image's own user, and sees no directory of dyno's
	publish     string   // HOST:PORT:INSIDE; "": it has the host's network
	env         map[string]string
}

// newBox names a container. The container of a known server sees the directories of its seed's files, since a file may include
// others. The caller holds mu.
func (k *Keeper) newBox(e *engine, name string, need *dyno.Need) *box {
	b := &box{engine: e, name: "dyno-" + strings.ToLower(name+"-"+rand.Text()[:10]), image: e.here[need.Image], root: k.dir}
	if _, conf := need.Kind(); conf != nil {
		for _, file := range conf.Seed {
			if m := filepath.Dir(file) + ":" + filepath.Dir(file); !slices.Contains(b.mounts, m) {
				b.mounts = append(b.mounts, m)
			}
		}
	}
	return b
}

// contain turns a job into one that runs in the box. Without a path, the image's own program is run.
func (b *box) contain(j *guard.Job, user *guard.User) {
	argv := []string{b.path, "run", "--rm", "--name", b.name, "--shm-size", "1g"}
	if b.publish == "" {
		argv = append(argv, "--network", "host")
	} else {
		argv = append(argv, "-p", b.publish)
	}
	if b.engine.name() != "nerdctl" { // else SELinux keeps it from the directories
		argv = append(argv, "--security-opt", "label=disable")
	}
	if !b.own {
		argv = append(append(argv, "-v", b.root+":"+b.root), b.as(user)...)
	}
	for _, m := range b.mounts {
		argv = append(argv, "-v", strings.TrimSuffix(m, ":ro")+":ro")
	}
	argv = append(argv, b.variables()...)
	if j.Path != "" {
		argv = append(argv, "--entrypoint", j.Path)
	}
	argv = append(append(argv, b.image), j.Args[1:]...)
	j.Path, j.Args, j.Env, j.User = b.path, argv, os.Environ(), nil
	j.Quit, j.Last = cmp.Or(j.Quit, syscall.SIGTERM), []string{b.path, "rm", "-f", "-v", b.name}
}

// as are the arguments by which a container has the user that its program would have.
func (b *box) as(user *guard.User) (args []string) {
	id := guard.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if user != nil {
		id = *user
	} else if id.UID == 0 {
		return nil
	} else if b.podman { // which maps users else
		args = []string{"--userns", "keep-id"}
	}
	passwd := filepath.Join(b.root, fmt.Sprintf("passwd-%d", id.UID)) // servers look their own user up
	text := fmt.Sprintf("root:x:0:0::/:/bin/sh\ndyno:x:%d:%d::/:/bin/sh\n", id.UID, id.GID)
	if err := os.WriteFile(passwd, []byte(text), 0o644); err == nil {
		args = append(args, "-v", passwd+":/etc/passwd:ro")
	}
	return append(args, "--user", fmt.Sprintf("%d:%d", id.UID, id.GID))
}

// variables are the arguments by which a container has its environment: a file, which other users cannot read, but for values
// that a file cannot have.
func (b *box) variables() (args []string) {
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(b.env)) {
		if strings.Contains(b.env[key], "\n") {
			args = append(args, "-e", key+"="+b.env[key])
			continue
		}
		lines.WriteString(key + "=" + b.env[key] + "\n")
	}
	file := filepath.Join(b.root, b.name+".env")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err == nil && lines.Len() > 0 {
		args = append(args, "--env-file", file)
	}
	return args
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

// pid is that of the first process in the box; 0 if no process of that number here is in the container, as where dyno itself
// is in one.
func (b *box) pid(ctx context.Context) int {
	text, _ := b.ask(ctx, "inspect", "--format", "{{.State.Pid}} {{.Id}}", b.name)
	number, id, _ := strings.Cut(text, " ")
	pid, err := strconv.Atoi(number)
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || id == "" || !strings.Contains(string(groups), id) {
		return 0
	}
	return pid
}
