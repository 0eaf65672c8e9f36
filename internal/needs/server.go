package needs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// A server is a need that runs.
type server struct {
	kind  kind
	need  *dyno.Need
	tree  *guard.Tree // nil if it ran already, or runs in a pod
	pod   *Hosted     // nil if it runs on this machine
	addr  string      // host:port where it serves
	outer string      // the same for subjects; "" if that is addr
	also  string      // another address of it, such as that of its counters; "" if it has none
	dir   string      // of its own; "" if it has none
	lines *lastlines.Lines

	program string          // "" if its image knows it
	engine  *engine         // nil: the program is installed
	box     *box            // its container; nil without an engine
	pid     int             // of its first process
	sought  *sought         // nil without ready_log
	asks    []string        // ready_command
	home    string          // of the subject, where fill runs
	back    func()          // gives its copy of a seed back; nil if it has none
	secret  string          // its password
	spaces  map[string]bool // of a shared server that are in use
	asked   int             // how often dyno itself connected to a Redis, to count
}

// start starts a server of one launch.
func (k *Keeper) start(ctx context.Context, name string, need *dyno.Need, block int, dir string, data map[string]map[string]string, log io.Writer) (*server, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.startHeld(ctx, name, need, block, dir, data, log)
}

// startHeld is start for who holds mu: servers start one after the other, as subjects do.
func (k *Keeper) startHeld(ctx context.Context, name string, need *dyno.Need, block int, dir string, data map[string]map[string]string, log io.Writer) (*server, error) {
	s := &server{kind: kindOf(need), need: need, lines: lastlines.New(log), home: dir}
	if need.URL != "" {
		u, err := hostOf(need.URL)
		s.addr = u
		return s, err
	}
	if k.Host != nil {
		return k.startPod(ctx, name, s, block, data)
	}
	var err error
	if s.addr, err = freeport.At("127.0.0.1"); err != nil {
		return nil, err
	}
	user, err := userOf(need, s.kind)
	if err != nil {
		return nil, err
	}
	if s.dir, err = k.newDir(name, user); err != nil {
		return nil, err
	}
	s.secret = k.secret
	if s.program, s.engine, err = k.programOf(ctx, need); err != nil {
		s.close()
		return nil, err
	}
	if s.engine != nil {
		s.box = k.newBox(s.engine, name, need)
	}
	if need.ReadyLog != "" {
		s.sought = newSought(need.ReadyLog, s.lines)
	}
	own := templateData(addressOf(s.addr), data)
	job, err := s.kind.job(ctx, k, name, s, user, own, dir)
	if err == nil {
		s.asks, err = expand(need.ReadyCommand, own)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	job.User, job.Quit = user, s.kind.quit()
	if s.box != nil {
		s.box.contain(job, user)
	}
	out := io.Writer(s.lines)
	if s.sought != nil {
		out = s.sought
	}
	if s.tree, err = guard.Start(*job, guard.IO{Stdout: out, Stderr: out, Before: k.guard}); err != nil {
		s.close()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(job.Path), err)
	}
	if err := s.await(ctx); err != nil {
		s.close()
		return nil, err
	}
	if s.pid = s.tree.PID; s.box != nil {
		s.pid = s.box.pid(ctx)
	}
	return s, nil
}

// await returns when the server is ready.
func (s *server) await(ctx context.Context) error {
	limit := s.need.ReadyTimeout.Or(dyno.DefaultReadyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	var why error
	for began := time.Now(); ; {
		err := s.kind.ready(ctx, s)
		if err == nil {
			return nil
		}
		if why == nil || ctx.Err() == nil { // else it may say no more than that the time is over
			why = err
		}
		select {
		case <-s.done():
			return s.err("it")
		case <-ctx.Done():
			if context.Cause(ctx) != errLate {
				return context.Cause(ctx)
			}
			return fmt.Errorf("it is not ready after %v: %w (consider: a longer ready_timeout)%s", limit, why, s.said())
		case <-time.After(min(max(time.Since(began)/20, time.Millisecond), 50*time.Millisecond)):
		}
	}
}

var errLate = errors.New("not ready in time")

// done is closed when a server has ended; it is nil of one that ran already.
func (s *server) done() <-chan struct{} {
	switch {
	case s.pod != nil:
		return s.pod.Done
	case s.tree != nil:
		return s.tree.Done
	}
	return nil
}

func (s *server) said() string {
	if lines := s.lines.String(); lines != "" {
		return "\nlast lines of it:\n" + lines
	}
	return " (it wrote nothing)"
}

// ended reports whether the server has ended.
func (s *server) ended() bool {
	select {
	case <-s.done():
		return true
	default:
		return false
	}
}

// err says how a server ended by itself; nil if it was stopped.
func (s *server) err(name string) error {
	if s.pod != nil {
		return fmt.Errorf("%s ended: %w%s", name, s.pod.Err(), s.said())
	}
	if !s.tree.Alone {
		return nil
	}
	return fmt.Errorf("%s ended: %s%s", name, cmp.Or(s.tree.Broken, s.tree.Status), s.said())
}

// close ends the server and removes its files.
func (s *server) close() {
	if s.tree != nil {
		s.tree.Stop(0)
	}
	if s.pod != nil {
		s.pod.Stop()
	}
	if s.back != nil {
		s.back()
		s.back = nil
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// data is what templates have of a server at an address.
func (s *server) data(addr, space string) map[string]string {
	data := addressOf(addr)
	data["URL"] = s.kind.url(s, addr, space)
	if s.pod == nil {
		data["Dir"] = s.dir
	}
	if u, err := url.Parse(data["URL"]); err == nil { // many services want its parts
		data["User"], data["Database"] = u.User.Username(), strings.TrimPrefix(u.Path, "/")
		data["Password"], _ = u.User.Password()
	}
	if s.need.MySQL != nil {
		data["DSN"] = mysql{}.dsn(s, addr, space)
	}
	return data
}

// addressOf is what templates have of an address.
func addressOf(addr string) map[string]string {
	host, port, _ := net.SplitHostPort(addr)
	return map[string]string{"Addr": addr, "Host": host, "Port": port}
}

// templateData is what a need's own templates have: of itself, and of the needs before it.
func templateData(own map[string]string, needs map[string]map[string]string) map[string]any {
	data := map[string]any{"needs": needs}
	for key, value := range own {
		data[key] = value
	}
	return data
}

func expand(texts []string, data map[string]any) (out []string, err error) {
	for _, text := range texts {
		text, err := subject.Execute(text, data)
		if err != nil {
			return nil, &dyno.PlanError{Msg: err.Error()}
		}
		out = append(out, text)
	}
	return out, nil
}

// environment is that of commands which fill a server or reset it, where other users of the machine cannot see its password.
func (s *server) environment(data map[string]string) map[string]string {
	env := map[string]string{"PGPASSWORD": s.secret, "MYSQL_PWD": s.secret, "REDISCLI_AUTH": s.secret}
	for key, value := range data {
		env["NEED_"+strings.ToUpper(key)] = value
	}
	return env
}

// runTool runs a program of a need to its end.
func runTool(ctx context.Context, argv []string, env map[string]string, dir, what string) error {
	var said bytes.Buffer
	status, err := subject.RunTool(ctx, argv, env, dir, &said, &said)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: %w (consider: install %s)", what, err, argv[0])
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case status != guard.StatusOK:
		return fmt.Errorf("%s: %s: %s\n%s", what, argv[0], status, strings.TrimSpace(tail(said.String(), 2000)))
	}
	return nil
}

func tail(s string, most int) string { return s[max(0, len(s)-most):] }

// userOf is who runs a server. Only root can choose: others run it themselves.
func userOf(need *dyno.Need, k kind) (*guard.User, error) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		return nil, nil
	}
	names := k.users()
	if need.User != "" {
		names = []string{need.User}
	}
	for _, name := range names {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &guard.User{UID: uint32(uid), GID: uint32(gid)}, errors.Join(err1, err2)
	}
	if len(names) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no user %s on this machine (consider: user: NAME)", names[0])
}

// write makes a file that only the server may read.
func (s *server) write(name, text string, user *guard.User) (path string, err error) {
	path = filepath.Join(s.dir, name)
	if err = os.WriteFile(path, []byte(text), 0o600); err == nil && user != nil {
		err = os.Chown(path, int(user.UID), int(user.GID))
	}
	return path, err
}

// dial tells whether something accepts connections at an address.
func dial(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	return err
}

// get reads a page.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}
