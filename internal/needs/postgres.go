package needs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// postgres is a Postgres of version 13 or later, with a database of its own. Statements are those of
// pg_stat_statements, where it can be loaded: its view is in the database postgres, so that the subject's has
// nothing of dyno's.
type postgres struct{}

const (
	superuser = "postgres"
	database  = "app"      // the subject's, and the template of those in a shared server
	ownBase   = "postgres" // where dyno asks
)

func (postgres) program(version string) (string, error) {
	v := version
	if v == "" {
		v = "*"
	}
	path, err := find("postgres", "apt install postgresql"+strings.TrimSuffix("-"+version, "-"),
		"/usr/lib/postgresql/"+v+"/bin", "/usr/pgsql-"+v+"/bin", "/opt/homebrew/opt/postgresql@"+v+"/bin", "/usr/local/opt/postgresql@"+v+"/bin")
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // initdb and psql are beside it
		return "", err
	}
	return path, isVersion(path, "-V", "(PostgreSQL) ", version, "apt install postgresql-"+version)
}

// users: the server refuses root.
func (postgres) users() []string { return []string{"postgres", "nobody"} }

// quit is an immediate shutdown. After SIGKILL its shared memory would stay in the kernel.
func (postgres) quit() syscall.Signal { return syscall.SIGQUIT }

func (k postgres) job(ctx context.Context, keeper *Keeper, name string, s *server, user *guard.User, _ map[string]any, dir string) (*guard.Job, error) {
	seed, err := keeper.seedOf(ctx, name, s.need, dir)
	if err != nil {
		return nil, err
	}
	data, err := keeper.copyOf(s, seed, user)
	if err != nil {
		return nil, err
	}
	return k.launch(seed.program, data, s, s.need.Postgres.Args)
}

// launch is the job of a server on a data directory.
func (postgres) launch(program, data string, s *server, args []string) (*guard.Job, error) {
	at := addressOf(s.addr)
	argv := []string{program, "-D", data, "-h", at["Host"], "-p", at["Port"], "-k", ""}
	if s.engine != nil || isFile(filepath.Join(filepath.Dir(program), "../lib/pg_stat_statements.so")) { // images of Postgres have it
		argv = append(argv, "-c", "shared_preload_libraries="+strings.Join(append(preloads(data), "pg_stat_statements"), ","))
	}
	return &guard.Job{Path: program, Args: append(argv, args...), Dir: s.dir, Env: os.Environ()}, nil
}

var preloadLine = regexp.MustCompile(`(?m)^\s*shared_preload_libraries\s*=\s*'([^']*)'`)

// preloads are the libraries that a data directory's own configuration has, as TimescaleDB's images need one.
func preloads(data string) (names []string) {
	text, _ := os.ReadFile(filepath.Join(data, "postgresql.conf"))
	if m := preloadLine.FindSubmatch(text); m != nil {
		names = strings.FieldsFunc(string(m[1]), func(r rune) bool { return r == ',' || r == ' ' })
	}
	return names
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (postgres) ready(ctx context.Context, s *server) error {
	conn, err := connect(ctx, s, ownBase)
	if err == nil {
		conn.Close(ctx)
	}
	return err
}

func (postgres) url(s *server, addr, space string) string {
	if space == "" {
		space = database
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, s.secret), Host: addr, Path: space, RawQuery: "sslmode=disable"}
	return u.String()
}

func (postgres) open(ctx context.Context, s *server, name string) (string, error) {
	return name, exec1(ctx, s, "CREATE DATABASE "+name+" TEMPLATE "+database)
}

func (postgres) drop(s *server, space string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	exec1(ctx, s, "DROP DATABASE IF EXISTS "+space+" WITH (FORCE)") // if it fails, the database ends with the server
}

// statements are those of one database since the server was started, and how many connections it has.
const statements = `SELECT s.queryid, min(s.query), sum(s.calls), sum(s.total_exec_time) / 1000, sum(s.rows), sum(s.temp_blks_written) * 8192
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '%s' GROUP BY s.queryid`

func (postgres) count(ctx context.Context, s *server, space string) (c probe.Count, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // it may hang
	defer cancel()
	if space == "" {
		space = database
	}
	conn, err := connect(ctx, s, ownBase)
	if err != nil {
		return c, err
	}
	defer conn.Close(ctx)
	rows, err := query(ctx, conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+space+"'")
	if err != nil {
		return c, err
	}
	c.Connections, c.HasConnections = number(rows[0][0]), true
	if rows, err := query(ctx, conn, "SELECT sessions FROM pg_stat_database WHERE datname = '"+space+"'"); err == nil { // since Postgres 14
		c.Opened, c.HasOpened = number(rows[0][0]), true
	}
	rows, err = query(ctx, conn, fmt.Sprintf(statements, space))
	if missing := (*pgconn.PgError)(nil); errors.As(err, &missing) {
		c.Unknown = "it has no pg_stat_statements (consider: install it, and no shared_preload_libraries in args without it)"
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Statements = map[string]dyno.Statement{}
	for _, r := range rows {
		c.Statements[string(r[0])] = dyno.Statement{Text: oneLine(r[1]), Calls: number(r[2]), Sec: number(r[3]), Rows: number(r[4])}
		c.Temp += number(r[5])
	}
	c.HasRows, c.HasTemp, c.KeepMore = true, true, "-c, pg_stat_statements.max=50000"
	if rows, err := query(ctx, conn, "SELECT dealloc FROM pg_stat_statements_info"); err == nil { // since Postgres 14
		c.Evicted = number(rows[0][0])
	}
	return c, nil
}

// mostStatement bounds the text of a statement that results keep.
const mostStatement = 500

// comments of SQL may have what differs in each launch, such as the number of a trace.
var comments = regexp.MustCompile(`(?s)/\*.*?\*/`)

// oneLine is a text without comments, line breaks and repeated spaces.
func oneLine(text []byte) string {
	s := strings.Join(strings.Fields(string(comments.ReplaceAll(text, nil))), " ")
	return strings.ToValidUTF8(s[:min(len(s), mostStatement)], "")
}

func number(text []byte) float64 {
	v, _ := strconv.ParseFloat(string(text), 64)
	return v
}

func connect(ctx context.Context, s *server, base string) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conf, err := pgconn.ParseConfig(postgres{}.url(s, s.addr, base))
	if err != nil {
		return nil, err
	}
	conf.RuntimeParams["application_name"] = "dyno"
	return pgconn.ConnectConfig(ctx, conf)
}

func query(ctx context.Context, conn *pgconn.PgConn, sql string) ([][][]byte, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	return results[0].Rows, nil
}

func exec1(ctx context.Context, s *server, sql string) error { return execIn(ctx, s, ownBase, sql) }

func execIn(ctx context.Context, s *server, base, sql string) error {
	conn, err := connect(ctx, s, base)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql).ReadAll()
	return err
}

// fill makes the data directory of a seed: an empty database with the seed's files.
func (k postgres) fill(ctx context.Context, keeper *Keeper, name string, need *dyno.Need, seed *seed, user *guard.User) (err error) {
	data := filepath.Join(seed.dir, "data")
	bin := filepath.Dir(seed.program)
	s := &server{kind: k, need: need, lines: lastlines.New(nil), dir: seed.dir, secret: keeper.secret, program: seed.program, engine: seed.engine}
	password, err := s.write("password", s.secret, user)
	if err != nil {
		return err
	}
	defer os.Remove(password)
	initdb := filepath.Join(bin, "initdb")
	if err := keeper.initialise(ctx, s, user, initdb, "-D", data, "-U", superuser, "-A", "password", "--pwfile", password, "-E", "UTF8", "--no-locale", "--no-sync"); err != nil {
		return err
	}
	if s.addr, err = freeport.At("127.0.0.1"); err != nil {
		return err
	}
	job, err := k.launch(seed.program, data, s, []string{"-c", "fsync=off", "-c", "full_page_writes=off"})
	if err != nil {
		return err
	}
	return keeper.during(ctx, s, job, user, func() error { return k.feed(ctx, s, filepath.Join(bin, "psql"), seed.home) })
}

// feed makes the database, and fills it by the seed's files, which psql reads, and the command.
func (k postgres) feed(ctx context.Context, s *server, psql, home string) error {
	if err := exec1(ctx, s, "CREATE DATABASE "+database); err != nil {
		return err
	}
	exec1(ctx, s, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements") // where there is none, nothing is counted
	password := map[string]string{"PGPASSWORD": s.secret}
	for _, file := range s.need.Postgres.Seed {
		if psql == "" {
			if err := k.play(ctx, s, file); err != nil {
				return fmt.Errorf("seed %s: %w", filepath.Base(file), err)
			}
			continue
		}
		argv := []string{psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", os.DevNull, "-d", s.without(k.url(s, s.addr, "")), "-f", file}
		if err := runTool(ctx, s.tool(argv, password), password, filepath.Dir(file), "seed "+filepath.Base(file)); err != nil {
			return err
		}
	}
	if err := s.filled(ctx, "", home); err != nil {
		return err
	}
	// Statistics for the planner, and no vacuum later for what the seed wrote.
	if err := execIn(ctx, s, database, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("vacuum of the seed: %w", err)
	}
	return nil
}

// without is a URL without the password, which all users of the machine would see among the arguments of a process.
func (s *server) without(url string) string { return strings.Replace(url, ":"+s.secret+"@", "@", 1) }

// sumOf tells seeds apart.
func sumOf(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d %s", len(p), p)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}
