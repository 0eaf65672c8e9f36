package needs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A kind is how servers of one kind are run. Methods that take a server are called when it runs.
type kind interface {
	program(version string) (path string, err error)
	users() []string      // who may run it where dyno is root, the best first; none: root
	quit() syscall.Signal // as guard.Job.Quit

	// job says how it is started, with its files in s.dir. It sets s.also.
	job(ctx context.Context, k *Keeper, name string, s *server, user *guard.User, data map[string]any, dir string) (*guard.Job, error)
	ready(ctx context.Context, s *server) error
	url(s *server, addr, space string) string

	open(ctx context.Context, s *server, name string) (space string, err error) // makes a part of a shared server that one subject has for itself
	drop(s *server, space string)
	count(ctx context.Context, s *server, space string) (probe.Count, error)
}

func kindOf(need *dyno.Need) kind {
	switch {
	case need.Postgres != nil:
		return postgres{}
	case need.Redis != nil:
		return redis{}
	case need.NATS != nil:
		return nats{}
	case need.MySQL != nil:
		return mysql{}
	case need.URL != "":
		return outside{}
	case need.Image != "":
		return boxed{}
	}
	return service{}
}

// describe tells two needs of one name apart, as levels make them differ.
func describe(need *dyno.Need) string {
	text, _ := json.Marshal(need) // has only what a plan can say
	return string(text)
}

// find returns the program name in one of the directories of patterns, the last in order, or on PATH.
func find(name, install string, patterns ...string) (string, error) {
	var found []string
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(filepath.Join(pattern, name))
		found = append(found, paths...)
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(numberIn(a), numberIn(b)), cmp.Compare(a, b)) })
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s %w (consider: %s)", name, errNoProgram, install)
}

// numberIn is the first number in a path, such as 9.6 of /usr/lib/postgresql/9.6/bin.
func numberIn(path string) float64 {
	n, _ := strconv.ParseFloat(regexp.MustCompile(`[0-9]+(\.[0-9]+)?`).FindString(path), 64)
	return n
}

// isVersion reports that a program is not of the version that is wanted: before it, what it says of itself has a
// mark. "" is any.
func isVersion(path, flag, mark, version, cure string) error {
	if version == "" {
		return nil
	}
	said, err := exec.Command(path, flag).Output()
	if err == nil && regexp.MustCompile(regexp.QuoteMeta(mark+version)+`\b`).Match(said) {
		return nil
	}
	return fmt.Errorf("version %s %w: %s says %q (consider: %s)", version, errNoProgram, path, strings.TrimSpace(string(said)), cure)
}

// A service is another program of the user's: a package or a command.
type service struct{ plain }

func (service) job(ctx context.Context, k *Keeper, name string, s *server, _ *guard.User, data map[string]any, dir string) (*guard.Job, error) {
	data["Dir"] = s.dir
	need := s.need
	argv, err := expand(append(slices.Clone(need.Command), need.Args...), data)
	if err != nil {
		return nil, err
	}
	env := map[string]string{"PORT": data["Port"].(string)}
	for key, value := range need.Env {
		if env[key], err = subject.Execute(value, data); err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("environment %s: %v", key, err)}
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	job := &guard.Job{Dir: dir, Env: subject.Environ(env, dir)}
	if need.Package != "" {
		built, err := k.Build(ctx, serviceOf(need, dir))
		if err != nil {
			return nil, err
		}
		job.Path, job.Args = built.Path, append([]string{built.Path}, argv...)
		return job, nil
	}
	path := argv[0]
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if job.Path, err = exec.LookPath(path); err != nil {
		return nil, err
	}
	job.Path, err = filepath.Abs(job.Path)
	job.Args = argv
	return job, err
}

func (service) ready(ctx context.Context, s *server) error {
	need := s.need
	if need.ReadyLog != "" && !s.sought.seen() {
		return fmt.Errorf("it has not written %q", need.ReadyLog)
	}
	if len(need.ReadyCommand) > 0 {
		if err := s.check(ctx); err != nil {
			return err
		}
	}
	if strings.HasPrefix(need.Ready, "/") {
		_, err := get(ctx, "http://"+s.addr+need.Ready)
		return err
	}
	return s.listens(ctx)
}

// A boxed service is an image that dyno does not know.
type boxed struct{ service }

func (boxed) job(_ context.Context, _ *Keeper, _ string, s *server, _ *guard.User, data map[string]any, dir string) (*guard.Job, error) {
	need := s.need
	if need.Port != 0 {
		s.box.publish = fmt.Sprintf("%s:%d", s.addr, need.Port)
		data["Port"] = strconv.Itoa(need.Port)
		data["Host"], data["Addr"] = "0.0.0.0", "0.0.0.0:"+strconv.Itoa(need.Port)
	}
	args, env, err := told(need, data)
	if err != nil {
		return nil, err
	}
	s.box.own, s.box.mounts, s.box.env = true, need.Mounts, env
	return &guard.Job{Args: append([]string{need.Image}, args...), Dir: s.dir}, nil
}

// told are the arguments and the environment of an image.
func told(need *dyno.Need, data map[string]any) (args []string, env map[string]string, err error) {
	if args, err = expand(need.Args, data); err != nil {
		return nil, nil, err
	}
	env = map[string]string{}
	if need.Port == 0 {
		env["PORT"] = data["Port"].(string)
	}
	for key, value := range need.Env {
		if env[key], err = subject.Execute(value, data); err != nil {
			return nil, nil, &dyno.PlanError{Msg: fmt.Sprintf("environment %s: %v", key, err)}
		}
	}
	return args, env, nil
}

// outside is a server that runs already.
type outside struct{ plain }

func (outside) job(context.Context, *Keeper, string, *server, *guard.User, map[string]any, string) (*guard.Job, error) {
	return nil, errNoProgram
}

// url is that of the plan, with the relay's address if there is one.
func (outside) url(s *server, addr, _ string) string {
	u, err := url.Parse(s.need.URL)
	if addr == s.addr || err != nil {
		return s.need.URL
	}
	u.Host = addr
	return u.String()
}

// hostOf is the host and port of a URL.
func hostOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", &dyno.PlanError{Msg: fmt.Sprintf("bad URL %q (want for example postgres://db.test:5432/app)", text)}
	}
	known := map[string]string{"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "redis": "6379", "nats": "4222", "mysql": "3306", "amqp": "5672"}
	port := cmp.Or(u.Port(), known[u.Scheme])
	if port == "" {
		return "", &dyno.PlanError{Msg: fmt.Sprintf("the URL %q has no port", text)}
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// plain is what servers do that have nothing special.
type plain struct{}

func (plain) program(string) (string, error)                                 { return "", nil }
func (plain) users() []string                                                { return nil }
func (plain) quit() syscall.Signal                                           { return 0 }
func (plain) ready(ctx context.Context, s *server) error                     { return dial(ctx, s.addr) }
func (plain) url(_ *server, addr, _ string) string                           { return "http://" + addr }
func (plain) open(_ context.Context, _ *server, name string) (string, error) { return name, nil }
func (plain) drop(*server, string)                                           {}
func (plain) count(context.Context, *server, string) (probe.Count, error) {
	return probe.Count{}, nil
}

// A nats server has its counters on a port of their own: https://docs.nats.io/running-a-nats-service/nats_admin/monitoring.
type nats struct{ plain }

func (nats) program(version string) (string, error) {
	path, err := find("nats-server", "apt install nats-server, or go install github.com/nats-io/nats-server/v2@latest")
	if err != nil {
		return "", err
	}
	return path, isVersion(path, "-v", "v", version, "leave out version")
}

// users: it needs none of root's rights.
func (nats) users() []string { return []string{"nats", "nobody"} }

func (k nats) job(_ context.Context, _ *Keeper, _ string, s *server, user *guard.User, _ map[string]any, _ string) (*guard.Job, error) {
	path := s.program
	var err error
	if s.also, err = freeport.At("127.0.0.1"); err != nil {
		return nil, err
	}
	at, counters := addressOf(s.addr), addressOf(s.also)
	conf, err := s.write("nats.conf", "authorization { token: "+s.secret+" }\n", user)
	if err != nil {
		return nil, err
	}
	args := []string{path, "-c", conf, "-a", at["Host"], "-p", at["Port"], "-m", counters["Port"], "-sd", s.dir}
	return &guard.Job{Path: path, Args: append(args, s.need.NATS.Args...), Dir: s.dir, Env: os.Environ()}, nil
}

func (nats) ready(ctx context.Context, s *server) error {
	_, err := get(ctx, "http://"+s.also+"/healthz")
	return err
}

func (nats) url(s *server, addr, _ string) string { return "nats://" + s.secret + "@" + addr }

// sharedCount is why a server's own counters say nothing of one setting.
const sharedCount = "it counts for all settings that share it (consider: per: launch)"

// count: who shares a server cannot tell its own messages from others'.
func (nats) count(ctx context.Context, s *server, space string) (c probe.Count, err error) {
	if space != "" {
		c.Unknown = sharedCount
		return c, nil
	}
	text, err := get(ctx, "http://"+s.also+"/varz")
	if err != nil {
		return c, err
	}
	var varz struct {
		In          float64 `json:"in_msgs"`
		Out         float64 `json:"out_msgs"`
		Connections float64 `json:"connections"`
		Opened      float64 `json:"total_connections"`
	}
	if err := json.Unmarshal(text, &varz); err != nil {
		return c, fmt.Errorf("read /varz: %w", err)
	}
	c.Connections, c.HasConnections = varz.Connections, true
	c.Opened, c.HasOpened = varz.Opened, true
	c.Statements = map[string]dyno.Statement{"in": {Text: "messages in", Calls: varz.In}, "out": {Text: "messages out", Calls: varz.Out}}
	return c, nil
}
