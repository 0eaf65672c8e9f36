package needs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// A Host runs servers elsewhere than on this machine.
type Host interface {
	Any() string                                      // the address of a server that listens at all of its addresses
	Run(ctx context.Context, p *Pod) (*Hosted, error) // returns when the server listens at all ports
}

// A Pod is a server that a Host runs, with nothing else beside it.
type Pod struct {
	Name    string // of the need
	Image   string
	Command []string // instead of the image's own; nil: that
	Args    []string
	Env     map[string]string
	Ports   []int         // where it listens; that for subjects is the first
	Data    bool          // it has the directory DataDir, a user with a name, and shared memory, as databases want
	Block   int           // that it is started for
	Limit   time.Duration // for it to listen
	Log     io.Writer     // gets what it writes
}

// DataDir is an empty directory of a Pod, which it may write to.
const DataDir = "/run/need"

// A Hosted is a Pod that runs.
type Hosted struct {
	Host  string                                                  // its address for subjects
	Addrs []string                                                // of its ports, for dyno
	Done  <-chan struct{}                                         // closed when it has ended, or is lost
	Err   func() error                                            // why, after Done
	Usage func(ctx context.Context) (cpu, rss float64, err error) // as probe.Need has it
	Stop  func()                                                  // ends it, and leaves nothing of it
}

// The images of servers for which a plan names none, and their ports.
var defaults = map[string]struct {
	image, version string
	ports          []int
}{
	"postgres": {"postgres", "17", []int{5432}},
	"redis":    {"redis", "7", []int{6379}},
	"nats":     {"nats", "2", []int{4222, 8222}},
	"mysql":    {"mariadb", "11", []int{3306}},
}

// boxPort is where an image serves that has no port of its own.
const boxPort = 8080

// podded is a kind whose servers run in pods.
type podded interface {
	kind
	pod(s *server, p *Pod, at map[string]string) error // adds to what all have
	plant(ctx context.Context, s *server) error        // fills a new server with its seed
}

// newPod is the pod of a server.
func (k *Keeper) newPod(name string, s *server, data map[string]map[string]string) (*Pod, error) {
	kind, conf := s.need.Kind()
	p := &Pod{Name: name, Image: s.need.Image, Ports: []int{cmp.Or(s.need.Port, boxPort)}, Log: s.lines, Limit: time.Duration(s.need.ReadyTimeout.Or(dyno.DefaultReadyTimeout))}
	own, ok := s.kind.(podded)
	if !ok {
		return nil, fmt.Errorf("a %s cannot run there", kind)
	}
	if conf != nil {
		d := defaults[kind]
		p.Ports, p.Image = slices.Clone(d.ports), cmp.Or(p.Image, "docker.io/library/"+d.image+":"+cmp.Or(conf.Version, d.version))
		s.program = map[bool]string{true: "mariadbd", false: "mysqld"}[strings.Contains(p.Image, "mariadb")] // of MySQL
	}
	at := addressOf(net.JoinHostPort(k.Host.Any(), strconv.Itoa(p.Ports[0])))
	if conf == nil {
		var err error
		p.Args, p.Env, err = told(s.need, templateData(at, data))
		return p, err
	}
	if err := own.pod(s, p, at); err != nil {
		return nil, err
	}
	p.Args = append(p.Args, conf.Args...)
	return p, nil
}

// startPod starts a server by the host, and fills it: a pod has no copy of a seed. The caller holds mu.
func (k *Keeper) startPod(ctx context.Context, name string, s *server, block int, data map[string]map[string]string) (*server, error) {
	k.begin()
	s.secret = k.secret
	p, err := k.newPod(name, s, data)
	if err != nil {
		return nil, err
	}
	if p.Block = block; s.need.ReadyLog != "" {
		s.sought = newSought(s.need.ReadyLog, s.lines)
		p.Log = s.sought
	}
	if s.pod, err = k.Host.Run(ctx, p); err != nil {
		if s.lines.String() != "" {
			err = fmt.Errorf("%w%s", err, s.said())
		}
		return nil, err
	}
	s.outer = net.JoinHostPort(s.pod.Host, strconv.Itoa(p.Ports[0]))
	if s.addr = s.pod.Addrs[0]; len(s.pod.Addrs) > 1 {
		s.also = s.pod.Addrs[1]
	}
	if err = s.await(ctx); err == nil {
		if seeded(s.need) {
			k.tell("seeding %s", name)
		}
		err = s.kind.(podded).plant(ctx, s)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// preparePod finds mistakes in a need before it is started.
func preparePod(name string, need *dyno.Need) error {
	_, conf := need.Kind()
	if conf == nil {
		return nil
	}
	for _, file := range conf.Seed {
		text, err := os.ReadFile(file)
		if err != nil {
			return seedMistake(name, err)
		}
		if need.Postgres != nil && psql() == "" && psqlCommand.Match(text) {
			return errNoPsql(file)
		}
	}
	if need.MySQL != nil && mysqlClient("mariadb") == "" {
		return errors.New("mariadb and mysql, by which dyno asks the server, are not installed here (consider: apt install mariadb-client)")
	}
	return nil
}

func seedMistake(name string, err error) error {
	return &dyno.PlanError{Msg: fmt.Sprintf("seed of need %s: %v (want SQL files, or commands of Redis)", name, err)}
}

// postgresScript makes a data directory, lets other machines in, and keeps libraries that the image's configuration has.
const postgresScript = `umask 077
printf %s "$DYNO_PASSWORD" >` + DataDir + `/password
initdb -D ` + DataDir + `/data -U ` + superuser + ` -A password --pwfile ` + DataDir + `/password -E UTF8 --no-locale --no-sync >` + DataDir + `/initdb.log
echo "host all all all password" >>` + DataDir + `/data/pg_hba.conf
libs=$(sed -n "s/^[[:space:]]*shared_preload_libraries[[:space:]]*=[[:space:]]*'\([^']*\)'.*/\1/p" ` + DataDir + `/data/postgresql.conf)
exec postgres -D ` + DataDir + `/data -k "" -c shared_preload_libraries="${libs:+$libs,}pg_stat_statements" "$@"`

// script runs a script of the shell in an image, with the pod's arguments.
func (p *Pod) script(text string) { p.Command, p.Data = []string{"sh", "-ec", text, "sh"}, true }

func (postgres) pod(s *server, p *Pod, at map[string]string) error {
	p.script(postgresScript)
	p.Args, p.Env = []string{"-h", at["Host"], "-p", at["Port"]}, map[string]string{"DYNO_PASSWORD": s.secret}
	return nil
}

// plant also writes to disk what the seed changed, so that the server does not do it later.
func (k postgres) plant(ctx context.Context, s *server) error {
	if err := k.feed(ctx, s, psql(), s.home); err != nil {
		return err
	}
	return exec1(ctx, s, "CHECKPOINT")
}

// psql is that of this machine; "" if there is none.
func psql() string {
	path, _ := find("psql", "", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/*/bin")
	return path
}

// psqlCommand is what psql alone understands: its own commands, and the end of the data of COPY FROM stdin.
var psqlCommand = regexp.MustCompile(`(?m)^\s*\\`)

func errNoPsql(file string) error {
	return fmt.Errorf("seed %s has commands or data for psql, which is not installed here (consider: apt install postgresql-client)", filepath.Base(file))
}

// play runs a file of plain SQL, without psql.
func (postgres) play(ctx context.Context, s *server, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if psqlCommand.Match(text) {
		return errNoPsql(file)
	}
	return execIn(ctx, s, database, string(text))
}

func (k redis) pod(s *server, p *Pod, at map[string]string) error {
	p.Data, p.Args = true, append([]string{"--requirepass", s.secret}, k.args(at, DataDir)...)
	return nil
}

func (k redis) plant(ctx context.Context, s *server) error { return k.feed(ctx, s, s.home, false) }

func (nats) pod(s *server, p *Pod, at map[string]string) error {
	p.Data, p.Args = true, []string{"--auth", s.secret, "-a", at["Host"], "-p", at["Port"], "-m", strconv.Itoa(p.Ports[1]), "-sd", DataDir}
	return nil
}

func (nats) plant(context.Context, *server) error { return nil }

func (k mysql) pod(s *server, p *Pod, at map[string]string) error {
	rights := DataDir + "/rights.sql"
	data := DataDir + "/data"
	p.script("umask 077\nmkdir " + data + "\nprintf %s \"$DYNO_RIGHTS\" >" + rights + "\n" + strings.Join(k.install(s.program, data), " ") + " >" + DataDir + "/install.log\nexec \"$@\"")
	there := &server{addr: at["Addr"], dir: DataDir}
	p.Args = k.launch(s.program, data, there, []string{"--init-file=" + rights}).Args
	p.Env = map[string]string{"DYNO_RIGHTS": k.rights(s)}
	return nil
}

func (k mysql) plant(ctx context.Context, s *server) error {
	return k.feed(ctx, s, database, "", s.home)
}

// mysqlClient is the client of a server that is on this machine, or the other one's; "" if there is neither.
func mysqlClient(first string) string {
	for _, name := range []string{first, "mariadb", "mysql"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

func (boxed) pod(*server, *Pod, map[string]string) error { return nil }
func (boxed) plant(context.Context, *server) error       { return nil }
