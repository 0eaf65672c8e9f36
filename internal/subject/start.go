package subject

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// Options say where a subject's output goes, and how to launch it. The zero value discards the
// output.
type Options struct {
	Stdout, Stderr io.Writer // called as those of guard.IO

	Trace bool // adds gctrace=1 to the subject's GODEBUG

	// Pacer adds gcpacertrace=1 to Trace: the heap's goals to the byte. It makes the median pause
	// 1.8 times as long (doc/method/measuring.md), so it is not for trials that are compared.
	Pacer bool

	// Patience is after what time Start gives up if the subject is not ready, where that is less than
	// s.ReadyTimeout; 0 means that it is not.
	Patience time.Duration

	Needs map[string]map[string]string // what templates have of each need: {{.needs.NAME.KEY}}

	Host string // address of this machine that the subject serves at; "" means 127.0.0.1

	Limits  dyno.Limits // are those of the subject's own control group, which Grouped alone makes too
	Grouped bool
}

// A Process is a running subject. It must be stopped. Err says whether it ended before.
type Process struct {
	*guard.Tree
	Base     string        // scheme, host and port where it serves, such as http://127.0.0.1:8080
	Addr     string        // host:port of it
	Socket   string        // unix socket of the injected probe; "" if there is none
	Ready    time.Duration // from its launch until it was ready, to some 5 %
	Warnings dyno.Warnings // doubts about this launch

	Answering

	held   []int // the processes that listened where it serves, when it was ready; none if unknown
	told   told
	free   string // host:port that was chosen for it
	stderr *lastlines.Lines
	stdout *lastlines.Lines
	env    []string
}

// Start launches the subject and returns when it is ready: when s.Ready is answered with 2xx or,
// without s.Ready, when its port accepts connections. The context and s.ReadyTimeout bound the
// start only. Templates and the variable PORT tell the subject its free port of o.Host; {{.Dir}}
// in templates is a directory below [os.TempDir] that is made for this launch with s.Files and nothing
// else, and removed with all that is in it after the last process of the subject, also if dyno was killed.
//
// [WhyNotBeside] tells whether another instance may be the reason of an error. The error is that of Err if the subject ended, and a [*dyno.PlanError] for a bad template.
func Start(ctx context.Context, b *Built, s dyno.Subject, o Options) (*Process, error) {
	addr, err := freeport.At(cmp.Or(o.Host, "127.0.0.1"))
	if err != nil {
		return nil, fmt.Errorf("choose a port: %w", err)
	}
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	own := guard.TempName(temp)
	l, err := expand(s, addr, own, o.Needs)
	if err != nil {
		return nil, err
	}
	p := &Process{Base: l.base, Addr: l.addr, told: l.told, free: addr, stdout: lastlines.New(o.Stdout), stderr: lastlines.New(o.Stderr)}
	var scratch []string
	if l.told.dir {
		scratch = append(scratch, own)
	}
	if b.Injected {
		probe := guard.TempName(temp)
		if len(probe) > 90 { // a socket's path is limited to 104 or 108 bytes
			probe = guard.TempName("/tmp")
		}
		scratch = append(scratch, probe)
		p.Socket = filepath.Join(probe, "probe")
	}
	debug := ""
	if o.Trace {
		debug = "gctrace=1"
		if o.Pacer {
			debug += ",gcpacertrace=1"
		}
	}
	p.env = environ(l.env, dir, p.Socket, debug)
	j := guard.Job{Path: b.Path, Args: append([]string{b.Path}, l.args...), Dir: dir, Env: p.env, Scratch: scratch, Files: l.files}
	if o.Grouped || o.Limits != (dyno.Limits{}) {
		j.Confine = confine(o.Limits)
		p.Warnings = limitDoubts(o.Limits.CPU, b.Path, p.env, runtime.NumCPU())
	}
	p.Tree, err = guard.Start(j, guard.IO{Stdout: p.stdout, Stderr: p.stderr})
	if err != nil {
		return nil, fmt.Errorf("start subject: %w", err)
	}
	launched := time.Now()
	if err := p.await(ctx, s, o.Patience); err != nil {
		p.Stop(0)
		return nil, err
	}
	p.Ready = time.Since(launched)
	p.answers(ctx, b)
	if p.Socket != "" {
		if err := hello(p.Socket); err != nil {
			p.Warnings.Add(dyno.WarnNotInjected, "the injected probe does not answer (%v): measured from outside only", err)
			p.Socket = ""
		}
	}
	return p, nil
}

// Err says how the subject ended by itself, with its last lines or how the kernel killed it for want
// of memory. It is nil if the subject runs or was stopped.
func (p *Process) Err() error {
	select {
	case <-p.Done:
		if p.Alone {
			f := p.fails(killedForMemory(p.Memory, p.Status, p.env))
			f.limit = f.why != "" && p.Memory.Reached
			f.mute = f.why != "" // who is killed for memory mostly has no time to write
			if p.Broken != "" {
				f.why = "subject ended, as its supervisor " + p.Broken
			}
			f.why = cmp.Or(f.why, "subject ended: "+p.Status)
			if where, cure := unreached(cmp.Or(f.lines, f.out)); where != "" {
				f.why, f.cure = f.why+"; it could not connect to "+where, cure
			}
			return f
		}
	default:
	}
	return nil
}

func (p *Process) fails(why string) *failure {
	return &failure{why: why, lines: p.stderr.String(), out: p.stdout.String(), addr: p.free, told: p.told}
}

// await returns when the subject is ready. patience is as Options.Patience.
func (p *Process) await(ctx context.Context, s dyno.Subject, patience time.Duration) error {
	whole := time.Duration(s.ReadyTimeout.Or(dyno.DefaultReadyTimeout))
	limit := min(whole, cmp.Or(patience, whole))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	dial := func(ctx context.Context) (net.Conn, error) {
		network := "tcp"
		if strings.HasPrefix(p.Addr, "/") {
			network = "unix"
		}
		return new(net.Dialer).DialContext(ctx, network, p.Addr)
	}
	client := &http.Client{
		// Whether its certificate is to be trusted is for the load to say.
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var last error // why it was not ready, for as long as there was time to try
	for began := time.Now(); ; {
		err := attempt(ctx, client, dial, p.Base, s.Ready)
		if err == nil {
			p.held, err = p.holders()
		}
		if err == nil {
			return nil
		}
		// The end of the time is no answer. The context's own timer may be later than that of a connection.
		if end, _ := ctx.Deadline(); last == nil || ctx.Err() == nil && time.Now().Before(end) {
			last = err
		}
		select {
		case <-p.Done:
			return p.Err()
		case <-time.After(min(max(time.Since(began)/20, time.Millisecond), 50*time.Millisecond)):
			continue
		case <-ctx.Done():
		}
		if context.Cause(ctx) != errLate {
			return ctx.Err()
		}
		if limit < whole {
			return p.fails(fmt.Sprintf("subject is not ready after %v, although the one beside it was ready much sooner: %v", limit.Round(time.Millisecond), last))
		}
		where, cure := p.elsewhere(s)
		f := p.fails(fmt.Sprintf("subject is not ready after %v: %v%s", limit, last, where))
		f.cure = cure
		return f
	}
}

var errLate = errors.New("not ready in time")

// mostPorts bounds the addresses that are said of a subject.
const mostPorts = 8

// elsewhere says where a subject listens that is not ready, and what to change.
func (p *Process) elsewhere(s dyno.Subject) (where, cure string) {
	const tell = "{{.Addr}} in its arguments (after --), in env: (--env) or in files:"
	at := guard.Listens(p.PID)
	at = at[:min(len(at), mostPorts)]
	_, port, _ := net.SplitHostPort(p.Addr)
	here := slices.IndexFunc(at, func(addr string) bool { return strings.HasSuffix(addr, ":"+port) })
	scheme, _, _ := strings.Cut(p.Base, ":")
	if len(at) > 0 && speaksTLS(at[max(here, 0)]) {
		scheme = "https"
	}
	switch {
	case here >= 0 && !strings.HasPrefix(p.Base, scheme+":"):
		return "; it speaks TLS there", "addr: https://{{.Addr}} (--addr)"
	case here >= 0:
		return "; it listens there", "another path for ready: (--ready), or a longer ready_timeout: (--ready-timeout)"
	case len(at) > 0:
		return "; it listens at " + strings.Join(at, ", "), fmt.Sprintf("%s, or addr: %s://%s (--addr) if it serves there", tell, scheme, at[0])
	case runtime.GOOS == "linux":
		where = "; it listens on no TCP port"
	}
	if cure = "a longer ready_timeout: (--ready-timeout)"; !p.told.port && s.Addr == "" {
		cure = tell + ", or " + cure
	}
	return where, cure
}

func speaksTLS(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	return err == nil || strings.Contains(err.Error(), "remote error: tls: ") // it may want a certificate
}

func attempt(ctx context.Context, client *http.Client, dial func(context.Context) (net.Conn, error), base, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if path == "" {
		conn, err := dial(ctx)
		if err == nil {
			conn.Close()
		}
		return err
	}
	if before, _, ok := strings.Cut(base, dyno.SocketHost); ok { // the socket is not a part of the request
		base = before + "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", base+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return nil
}

func hello(socket string) error {
	conn, err := net.DialTimeout("unix", socket, 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprintln(conn, "hello")
	var answer string
	if _, err := fmt.Fscan(conn, &answer); err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("answer %q", answer)
	}
	return nil
}

// A launch is what a subject is launched with: templates with their values.
type launch struct {
	args       []string
	env        map[string]string // and the variable PORT
	files      map[string]string // by their absolute paths
	base, addr string            // as Process has them
	told       told
}

// told says what arguments, environment and files tell a subject, beside the variable PORT.
type told struct {
	port bool
	dir  bool // {{.Dir}} is in some of them, so it is to be made
}

// needless stands for the needs of a subject before they are started.
func needless(s dyno.Subject) map[string]map[string]string {
	needs := map[string]map[string]string{}
	for name := range s.Needs {
		needs[name] = map[string]string{"URL": "http://127.0.0.1:1", "Addr": "127.0.0.1:1", "Host": "127.0.0.1", "Port": "1", "Dir": "/dir", "Prefix": "dyno", "User": "dyno", "Password": "x", "Database": "app", "DSN": "dyno@tcp(127.0.0.1:1)/app"}
	}
	return needs
}

// expand executes the templates of s. dir is a path that nothing else has; needs are as Options.Needs.
func expand(s dyno.Subject, addr, dir string, needs map[string]map[string]string) (*launch, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	arg := s.Arg
	if arg == nil {
		arg = map[string]string{} // so that {{.arg.NAME}} is a missing key
	}
	data := map[string]any{"Addr": addr, "Host": host, "Port": port, "Dir": dir, "arg": arg, "needs": needs}
	l := &launch{env: map[string]string{"PORT": port}, files: map[string]string{}}
	value := func(text string) (string, error) {
		v, err := Execute(text, data)
		l.told.port = l.told.port || v != text && strings.Contains(v, port)
		l.told.dir = l.told.dir || strings.Contains(v, dir)
		return v, err
	}
	for _, a := range s.Args {
		a, err := value(a)
		if err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("argument %v", err)}
		}
		l.args = append(l.args, a)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		if l.env[k], err = value(s.Env[k]); err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("environment %s: %v", k, err)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if l.files[filepath.Join(dir, name)], err = value(s.Files[name]); err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("file %s: %v", name, err)}
		}
		l.told.dir = true
	}
	if l.base, err = Execute(cmp.Or(s.Addr, "http://{{.Addr}}"), data); err == nil && !dyno.IsAddress(l.base) {
		err = fmt.Errorf("%q is not an address (want for example https://{{.Addr}} or https://127.0.0.1:8443)", l.base)
	}
	if err != nil {
		return nil, &dyno.PlanError{Msg: fmt.Sprintf("addr: %v", err)}
	}
	u, _ := url.Parse(l.base) // IsAddress could
	u, _ = dyno.Service(u)
	l.base, l.addr = u.String(), net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if u.Path != "" {
		l.addr = u.Path
	}
	if len(u.Path) > mostSocket {
		return nil, &dyno.PlanError{Msg: fmt.Sprintf("addr: the path of the unix socket has %d bytes, %s (want at most %d; consider: a shorter TMPDIR)", len(u.Path), u.Path, mostSocket)}
	}
	return l, nil
}

// mostSocket is the longest path of a unix socket, in bytes (sockaddr_un, unix(7)).
const mostSocket = 107

// Execute executes a template of a plan.
func Execute(text string, data any) (string, error) {
	var b strings.Builder
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		if lines := strings.SplitN(text, "\n", 2); len(lines) > 1 { // a file: the error has the line's number
			text = lines[0] + "…"
		}
		return "", fmt.Errorf("%q: %s (want {{.Addr}}, {{.Host}}, {{.Port}}, {{.Dir}}, {{.arg.NAME}} or {{.needs.NAME.URL}}; two braces of its own are {{\"{{\"}})",
			text, strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), nil
}

// A Told is what a subject is told that another program than Start launches.
type Told struct {
	Args []string
	Env  map[string]string // and the variable PORT
	Base string            // where it serves, such as http://10.0.0.7:8080
	Dir  bool              // {{.Dir}} is in some of it
}

// Tell executes the templates of s with an address, a directory and what they have of needs, as Start does.
func Tell(s dyno.Subject, addr, dir string, needs map[string]map[string]string) (*Told, error) {
	l, err := expand(s, addr, dir, needs)
	if err != nil {
		return nil, err
	}
	return &Told{l.args, l.env, l.base, l.told.dir}, nil
}

// ofRepository are the variables that bind git to one repository, and not those of its settings (git rev-parse --local-env-vars). Git sets them
// for its hooks.
var ofRepository = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// environ is the subject's environment: dyno's own, vars, and what the probes need, each name once.
func environ(vars map[string]string, dir, socket, debug string) []string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	maps.Copy(env, vars)
	env["PWD"] = dir
	delete(env, "DYNO_PROBE") // if dyno is itself a subject
	delete(env, "DYNO_TOKEN") // who has it can send load from all agents
	if socket != "" {
		env["DYNO_PROBE"] = socket
	}
	if debug != "" {
		// The last one counts; see parsegodebug in runtime/runtime1.go.
		env["GODEBUG"] = strings.TrimPrefix(env["GODEBUG"]+","+debug, ",")
	}
	return pairs(env)
}

// Environ is dyno's own environment without what a hook of git has, with vars added, for a program that is no service and runs in dir.
func Environ(vars map[string]string, dir string) []string {
	return slices.DeleteFunc(environ(vars, dir, "", ""), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, given := vars[name]
		return slices.Contains(ofRepository, name) && !given
	})
}

func pairs(env map[string]string) []string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}
