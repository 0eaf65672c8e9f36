// Package needs starts what a subject uses: databases, caches, other services. It owns their seeds, their
// directories and their processes, and knows of each kind how it is found, seeded, asked whether it is ready, and
// asked what it did. It puts no load on them and judges nothing.
package needs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/needs/relay"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Keeper keeps the servers of a run, and the seeds from which they are made. It must be closed.
type Keeper struct {
	Build func(ctx context.Context, s dyno.Subject) (*subject.Built, error) // of services that are needs
	Tell  func(step string)                                                 // what takes time; nil: it is not reported
	Host  Host                                                              // where servers run; nil: on this machine

	numbers atomic.Int64 // of directories and spaces

	mu     sync.Mutex // of what follows; held while a seed or a shared server is made
	dir    string     // of all files; "" until it is needed
	secret string     // the password of all servers: other users of this machine can reach them
	guard  *guard.Tree
	seeds  map[string]*seed
	shared map[string]*shared
	kept   []*Opened // of Environment

	engine   *engine // of containers; nil if none was wanted yet
	noEngine error   // why no engine can be used
}

// A shared server serves the settings of a block, or all of a run.
type shared struct {
	*server
	block int // 0: of the run
	users int // subjects that have a space there
	log   *switchable
}

// A switchable passes what a shared server writes on to the launch that came last, while that lasts.
type switchable struct {
	mu sync.Mutex
	to io.Writer // nil: nowhere
}

func (s *switchable) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.to.Write(p)
	}
	return len(p), nil
}

func (s *switchable) lead(to io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

// leave is for who closes a writer.
func (s *switchable) leave(from io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == from {
		s.to = nil
	}
}

// Close ends all servers and removes their files.
func (k *Keeper) Close() error {
	k.mu.Lock()
	kept := k.kept
	k.kept = nil
	k.mu.Unlock()
	for _, o := range kept {
		o.Close()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, s := range k.shared {
		s.close()
		delete(k.shared, key)
	}
	if k.guard == nil {
		return nil
	}
	k.guard.Stop(0)
	k.guard = nil
	return os.RemoveAll(k.dir) // what the guard could not remove
}

// root is the directory of all files, which is made when it is needed. The caller holds mu.
func (k *Keeper) root() (string, error) {
	if k.guard != nil {
		return k.dir, nil
	}
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	dir := guard.TempName(temp)
	tree, err := guard.Start(guard.Job{Scratch: []string{dir}}, guard.IO{})
	if err != nil {
		return "", fmt.Errorf("make a directory for needs: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // servers of other users have directories in it
		tree.Stop(0)
		return "", err
	}
	k.dir, k.guard = dir, tree
	k.begin()
	return dir, nil
}

// begin makes what all servers share, once. The caller holds mu.
func (k *Keeper) begin() {
	if k.secret == "" {
		k.secret, k.seeds, k.shared = rand.Text(), map[string]*seed{}, map[string]*shared{}
	}
}

// tell says what takes time.
func (k *Keeper) tell(format string, args ...any) {
	if k.Tell != nil {
		k.Tell(fmt.Sprintf(format, args...))
	}
}

// Prepare finds the programs of a subject's needs, builds those that are services, and makes seeds.
func (k *Keeper) Prepare(ctx context.Context, s dyno.Subject) error {
	order, mistake := dyno.NeedsInOrder(s.Needs)
	if mistake != nil {
		return mistake
	}
	for _, name := range order {
		err := k.prepare(ctx, name, s.Needs[name], s.Dir)
		if errors.As(err, &mistake) {
			return mistake
		}
		if err != nil {
			return fmt.Errorf("need %s: %w", name, err)
		}
	}
	return nil
}

func (k *Keeper) prepare(ctx context.Context, name string, need dyno.Need, dir string) error {
	_, conf := need.Kind()
	switch {
	case k.Host != nil:
		return preparePod(name, &need)
	case need.Package != "":
		_, err := k.Build(ctx, serviceOf(&need, dir))
		return err
	case conf == nil && need.Image == "":
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, _, err := k.programOf(ctx, &need); err != nil {
		return err
	}
	if need.Postgres != nil || need.MySQL != nil || need.Redis != nil && seeded(&need) {
		_, err := k.seedOf(ctx, name, &need, dir)
		return err
	}
	return nil
}

// seeded reports whether a need has a seed of its own.
func seeded(need *dyno.Need) bool {
	_, conf := need.Kind()
	return conf != nil && len(conf.Seed)+len(need.Fill) > 0
}

// serviceOf is a need that is a package, as a subject to build.
func serviceOf(need *dyno.Need, dir string) dyno.Subject {
	return dyno.Subject{Package: need.Package, Rev: need.Rev, Dir: dir, NoInject: true}
}

// Opened are the needs of one launch of a subject. They must be closed.
type Opened struct {
	Data map[string]map[string]string // for {{.needs.NAME.KEY}}
	Done <-chan struct{}              // closed when one of them has ended

	Warnings dyno.Warnings

	keeper *Keeper
	uses   []*use
	err    error // of who ended first; valid when Done is closed
	mu     sync.Mutex
}

// A use is a launch's part in a server.
type use struct {
	name   string
	need   dyno.Need
	server *server
	shared *shared // nil if it has the server for itself
	log    io.Writer
	space  string       // of its own in a shared server: a database; "" if it has none
	relay  *relay.Relay // nil without a delay
	data   map[string]string
}

// Open starts the needs of a trial's subject, or takes the shared ones. log gets what servers write. An error names
// the need.
func (k *Keeper) Open(ctx context.Context, t *dyno.Trial, log func(need string) io.Writer) (*Opened, error) {
	s := &t.Subject
	order, mistake := dyno.NeedsInOrder(s.Needs)
	if mistake != nil {
		return nil, mistake
	}
	o := &Opened{Data: map[string]map[string]string{}, keeper: k}
	for _, name := range order {
		u, err := k.use(ctx, t, name, o.Data, log(name))
		if err != nil {
			o.Close()
			return nil, fmt.Errorf("need %s: %w", name, err)
		}
		o.uses = append(o.uses, u)
		if u.server.box != nil && u.server.pid == 0 {
			o.Warnings.AddOf(dyno.WarnProbe, name, "need %s: the processes of its container are not to be seen from here, so its CPU time and memory are not known", name)
		}
		if u.need.Image != "" && u.server.box == nil && u.server.pod == nil {
			o.Warnings.AddOf(dyno.WarnNotImage, name, "need %s is %s that is installed, and not its image %s: %v", name, filepath.Base(u.server.program), u.need.Image, k.noEngine)
		}
		o.Data[name] = u.data
	}
	o.watch()
	return o, nil
}

// use makes one need ready. data has the needs that are.
func (k *Keeper) use(ctx context.Context, t *dyno.Trial, name string, data map[string]map[string]string, log io.Writer) (*use, error) {
	need := t.Subject.Needs[name]
	u := &use{name: name, need: need}
	block := 0
	switch need.Lives() {
	case dyno.PerLaunch:
		server, err := k.start(ctx, name, &need, t.Block, t.Subject.Dir, data, log)
		if err != nil {
			return nil, err
		}
		u.server = server
	case dyno.PerBlock:
		block = t.Block
		fallthrough
	default:
		if err := k.share(ctx, u, block, t, data, log); err != nil {
			return nil, err
		}
	}
	err := k.handOver(ctx, u, t.Subject.Dir, data)
	if err != nil {
		u.close(k)
		return nil, err
	}
	return u, nil
}

// share gives a use its part of a server that others have, too, and starts the server if it is not there. It ends
// servers of other blocks that have no user left.
func (k *Keeper) share(ctx context.Context, u *use, block int, t *dyno.Trial, data map[string]map[string]string, log io.Writer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.begin(); k.Host == nil {
		if _, err := k.root(); err != nil {
			return err
		}
	}
	for key, s := range k.shared {
		if s.users == 0 && s.block != 0 && s.block != block {
			s.close()
			delete(k.shared, key)
		}
	}
	key := fmt.Sprintf("%s %s %d %s", u.name, u.need.Lives(), block, describe(&u.need))
	s := k.shared[key]
	if s != nil && s.ended() {
		s.close()
		s = nil
	}
	if s == nil {
		log := &switchable{to: log}
		server, err := k.startHeld(ctx, u.name, &u.need, t.Block, t.Subject.Dir, data, log)
		if err != nil {
			return err
		}
		s = &shared{server: server, block: block, log: log}
		k.shared[key] = s
	}
	s.log.lead(log)
	u.log = log
	space, err := s.kind.open(ctx, s.server, fmt.Sprintf("dyno%d", k.numbers.Add(1)))
	if err != nil {
		return fmt.Errorf("make a space of its own: %w", err)
	}
	s.users++
	u.server, u.shared, u.space = s.server, s, space
	return nil
}

// handOver says where the need serves, starts its relay, and runs its reset.
func (k *Keeper) handOver(ctx context.Context, u *use, dir string, data map[string]map[string]string) (err error) {
	addr := cmp.Or(u.server.outer, u.server.addr)
	if u.need.Delay > 0 || u.need.Drops() > 0 || u.need.Relayed {
		if u.relay, err = relay.New(addr, u.need.Delay, u.need.Drops()); err != nil {
			return fmt.Errorf("start a relay: %w", err)
		}
		addr = u.relay.Addr
	}
	u.data = u.server.data(addr, u.space)
	u.data["Prefix"] = fmt.Sprintf("dyno%d", k.numbers.Add(1)) // which no other launch of the run has
	if len(u.need.Reset) == 0 {
		return nil
	}
	own := u.data
	if u.server.outer != "" { // which commands of this machine do not reach
		own = u.server.data(u.server.addr, u.space)
		own["Prefix"] = u.data["Prefix"]
	}
	argv, err := expand(u.need.Reset, templateData(own, data))
	if err != nil {
		return err
	}
	return runTool(ctx, argv, u.server.environment(own), dir, "reset")
}

// Environment starts the needs of tests, which last until the keeper is closed, and returns the tests' environment.
func (k *Keeper) Environment(ctx context.Context, t *dyno.Trial) (env map[string]string, warnings dyno.Warnings, err error) {
	if err := k.Prepare(ctx, t.Subject); err != nil {
		return nil, nil, err
	}
	o, err := k.Open(ctx, t, func(string) io.Writer { return io.Discard })
	if err != nil {
		return nil, nil, err
	}
	k.mu.Lock()
	k.kept = append(k.kept, o)
	k.mu.Unlock()
	env = map[string]string{}
	for name, value := range t.Subject.Env {
		if env[name], err = subject.Execute(value, map[string]any{"needs": o.Data}); err != nil {
			return nil, nil, &dyno.PlanError{Msg: fmt.Sprintf("environment %s: %v", name, err)}
		}
	}
	return env, o.Warnings, nil
}

// Ended says which need of tests has ended by itself; nil if none has.
func (k *Keeper) Ended() error {
	k.mu.Lock()
	kept := k.kept
	k.mu.Unlock()
	for _, o := range kept {
		if err := o.Err(); err != nil {
			return err
		}
	}
	return nil
}

// watch closes Done when a need has ended.
func (o *Opened) watch() {
	done := make(chan struct{})
	o.Done = done
	var once sync.Once
	for _, u := range o.uses {
		if ended := u.server.done(); ended != nil {
			go func() {
				<-ended
				once.Do(func() {
					o.mu.Lock()
					o.err = u.server.err(u.name)
					o.mu.Unlock()
					close(done)
				})
			}()
		}
	}
}

// Err says which need ended by itself, and its last lines; nil if none did.
func (o *Opened) Err() error {
	select {
	case <-o.Done:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.err
	default:
		return nil
	}
}

// hangTime is how long a server may take to answer dyno before it is taken to hang: less than what ends the questions
// themselves. Tests have less.
var hangTime = 4 * time.Second

// Hung says which need that dyno started does not answer any more, neither well nor badly; nil if all do.
func (o *Opened) Hung() error {
	for _, u := range o.uses {
		if u.server.done() == nil {
			continue
		}
		answered := make(chan struct{})
		go func() {
			u.server.kind.ready(context.Background(), u.server) // has time limits of its own
			close(answered)
		}()
		select {
		case <-answered:
		case <-time.After(hangTime):
			return fmt.Errorf("%s hangs: it does not answer dyno within %v", u.name, hangTime)
		}
	}
	return nil
}

// Close ends the servers that only this launch had.
func (o *Opened) Close() {
	for _, u := range slices.Backward(o.uses) {
		u.close(o.keeper)
	}
}

// close ends a use's part of its server, or all of it.
func (u *use) close(k *Keeper) {
	if u.relay != nil {
		u.relay.Close()
	}
	if u.shared == nil {
		u.server.close()
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	u.shared.users--
	u.shared.log.leave(u.log)
	if !u.server.ended() {
		u.server.kind.drop(u.server, u.space)
	}
}

// Targets are the needs as probes see them.
func (o *Opened) Targets() (targets []probe.Need) {
	for _, u := range o.uses {
		n := probe.Need{Name: u.name, Booked: u.need.Books()}
		switch {
		case u.server.pod != nil:
			n.Usage = u.server.pod.Usage
		case u.server.tree != nil:
			n.PID = u.server.pid
		default:
			n.PID = u.need.PID
		}
		n.Count = func(ctx context.Context) (probe.Count, error) { return u.server.kind.count(ctx, u.server, u.space) }
		targets = append(targets, n)
	}
	return targets
}

// newDir makes the directory of a server, which its user owns. The caller holds mu.
func (k *Keeper) newDir(name string, user *guard.User) (string, error) {
	root, err := k.root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name+"-"+strconv.FormatInt(k.numbers.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if user != nil {
		err = os.Chown(dir, int(user.UID), int(user.GID))
	}
	return dir, err
}

var errNoProgram = errors.New("is not installed")
