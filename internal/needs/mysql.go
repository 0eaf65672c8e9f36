package needs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// mysql is a MariaDB or a MySQL, with a database of its own. Statements are those of its performance schema. It is
// asked by its command line client, which is installed with it.
type mysql struct{ plain }

const admin = "dyno" // the user, which may do everything

var mysqlDirs = []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin"}

func (mysql) program(version string) (string, error) {
	const install = "apt install mariadb-server"
	path, err := find("mariadbd", install, mysqlDirs...)
	if err != nil {
		other, err2 := find("mysqld", "", mysqlDirs...)
		if err2 != nil {
			return "", err
		}
		path = other
	}
	if _, err := exec.LookPath(clientOf(path)); err != nil {
		return "", fmt.Errorf("%s %w (consider: apt install %s)", clientOf(path), errNoProgram, map[bool]string{true: "mariadb-client", false: "mysql-client"}[isMariaDB(path)])
	}
	return path, isVersion(path, "--version", "Ver ", version, "leave out version")
}

// isMariaDB tells the two apart: they make their data directory in other ways.
func isMariaDB(program string) bool { return filepath.Base(program) == "mariadbd" }

func clientOf(program string) string {
	if isMariaDB(program) {
		return "mariadb"
	}
	return "mysql"
}

// users: the server refuses root.
func (mysql) users() []string { return []string{"mysql", "nobody"} }

func (k mysql) job(ctx context.Context, keeper *Keeper, name string, s *server, user *guard.User, _ map[string]any, dir string) (*guard.Job, error) {
	seed, err := keeper.seedOf(ctx, name, s.need, dir)
	if err != nil {
		return nil, err
	}
	data, err := keeper.copyOf(s, seed, user)
	if err != nil {
		return nil, err
	}
	return k.launch(seed.program, data, s, s.need.MySQL.Args), nil
}

// launch is the job of a server on a data directory.
func (mysql) launch(program, data string, s *server, args []string) *guard.Job {
	at := addressOf(s.addr)
	argv := []string{
		program, "--no-defaults", "--datadir=" + data, "--bind-address=" + at["Host"], "--port=" + at["Port"], "--socket=" + filepath.Join(s.dir, "s"),
		"--pid-file=" + filepath.Join(s.dir, "pid"), "--skip-log-bin", "--performance-schema=ON",
	}
	if !isMariaDB(program) {
		argv = append(argv, "--mysqlx=OFF")
	}
	return &guard.Job{Path: program, Args: append(argv, args...), Dir: s.dir, Env: os.Environ()}
}

// client lets the client of a server run SQL in a database, and returns what it printed. It stops at the first mistake.
func (mysql) client(ctx context.Context, s *server, base, sql string) (string, error) {
	at := addressOf(s.addr)
	name := clientOf(s.program)
	if s.pod != nil { // any client of this machine will do
		name = mysqlClient(name)
	}
	argv := []string{name, "--no-defaults", "--protocol=tcp", "-h", at["Host"], "-P", at["Port"], "-u", admin, "-N", "-B", "-e", sql}
	if name == "mariadb" {
		argv = append(argv, "--abort-source-on-error") // as MySQL's does
	}
	if base != "" {
		argv = append(argv, base)
	}
	var out, said strings.Builder
	env := map[string]string{"MYSQL_PWD": s.secret}
	status, err := subject.RunTool(ctx, s.tool(argv, env), env, s.dir, &out, &said)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if status != guard.StatusOK {
		return "", errors.New(strings.TrimSpace(tail(said.String(), 2000)))
	}
	return out.String(), nil
}

func (k mysql) ask(ctx context.Context, s *server, sql string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // it may hang
	defer cancel()
	text, err := k.client(ctx, s, "", sql)
	for line := range strings.Lines(text) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows, err
}

func (k mysql) ready(ctx context.Context, s *server) error {
	if err := dial(ctx, s.addr); err != nil { // which is cheaper than a client
		return err
	}
	_, err := k.ask(ctx, s, "SELECT 1")
	return err
}

// url is one as for other databases. For go-sql-driver/mysql it is {{.needs.NAME.DSN}}.
func (mysql) url(s *server, addr, space string) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(admin, s.secret), Host: addr, Path: spaceOr(space)}
	return u.String()
}

func spaceOr(space string) string {
	if space == "" {
		return database
	}
	return space
}

// open makes a database with the seed's files.
func (k mysql) open(ctx context.Context, s *server, name string) (string, error) {
	if _, err := k.ask(ctx, s, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return name, k.feed(ctx, s, name, name, s.home)
}

// feed fills a database by the seed's files and the command. A mistake has the file and the line.
func (k mysql) feed(ctx context.Context, s *server, base, space, home string) error {
	for _, file := range s.need.MySQL.Seed {
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if _, err := k.client(ctx, s, base, "source "+abs); err != nil {
			return fmt.Errorf("seed %s: %w", filepath.Base(file), err)
		}
	}
	if err := s.filled(ctx, space, home); err != nil {
		return err
	}
	// Statistics for the planner: else the server makes them some seconds later.
	tables, err := k.client(ctx, s, base, "SELECT CONCAT('`', TABLE_NAME, '`') FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'")
	if all := strings.Split(strings.TrimSpace(tables), "\n"); err == nil && all[0] != "" {
		_, err = k.client(ctx, s, base, "ANALYZE TABLE "+strings.Join(all, ", "))
	}
	return err
}

func (k mysql) drop(s *server, space string) {
	k.ask(context.Background(), s, "DROP DATABASE IF EXISTS "+space) // if it fails, the database ends with the server
}

const (
	digests = `SELECT DIGEST, LEFT(DIGEST_TEXT, 500), COUNT_STAR, SUM_TIMER_WAIT / 1e12, SUM_ROWS_SENT + SUM_ROWS_AFFECTED
FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = '%s' AND DIGEST IS NOT NULL`
	// Statements that are prepared once and executed by number have no digest then.
	executes = `SELECT COUNT_STAR, SUM_TIMER_WAIT / 1e12, SUM_ROWS_SENT + SUM_ROWS_AFFECTED
FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/com/Execute'`
	status = `SELECT VARIABLE_VALUE FROM %s.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Performance_schema_digest_lost'
UNION ALL SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '%s'`
)

// count: the performance schema tells statements of different databases apart, but not executions of prepared ones.
func (k mysql) count(ctx context.Context, s *server, space string) (c probe.Count, err error) {
	rows, err := k.ask(ctx, s, fmt.Sprintf(digests, spaceOr(space)))
	if err != nil {
		return c, err
	}
	c.Statements = map[string]dyno.Statement{}
	for _, r := range rows {
		if len(r) == 5 {
			text := oneLine([]byte(strings.ReplaceAll(r[1], "`", "")))
			c.Statements[r[0]] = dyno.Statement{Text: text, Calls: number([]byte(r[2])), Sec: number([]byte(r[3])), Rows: number([]byte(r[4]))}
		}
	}
	if rows, err = k.ask(ctx, s, executes); err != nil {
		return c, err
	}
	if len(rows) == 1 && len(rows[0]) == 3 {
		calls := number([]byte(rows[0][0]))
		if calls > 0 && space != "" {
			c.Unknown = "it counts executions of prepared statements for all databases together (consider: per: launch)"
			return c, nil
		}
		c.Statements["execute"] = dyno.Statement{Text: "prepared statements", Calls: calls, Sec: number([]byte(rows[0][1])), Rows: number([]byte(rows[0][2]))}
	}
	c.HasRows, c.KeepMore = true, "--performance-schema-digests-size=10000"
	schema := "performance_schema"
	if isMariaDB(s.program) {
		schema = "information_schema"
	}
	rows, err = k.ask(ctx, s, fmt.Sprintf(status, schema, spaceOr(space)))
	if err != nil || len(rows) != 2 {
		return c, err
	}
	c.Evicted = number([]byte(rows[0][0]))
	c.Connections, c.HasConnections = number([]byte(rows[1][0])), true
	return c, nil
}

// fill makes the data directory of a seed: an empty database with the seed's files.
func (k mysql) fill(ctx context.Context, keeper *Keeper, name string, need *dyno.Need, seed *seed, user *guard.User) (err error) {
	data := filepath.Join(seed.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	argv := k.install(seed.program, data)
	if isMariaDB(seed.program) && seed.engine == nil {
		if argv[0], err = find(argv[0], "apt install mariadb-server", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"); err != nil {
			return err
		}
	}
	if user != nil {
		if err := os.Chown(data, int(user.UID), int(user.GID)); err != nil {
			return err
		}
	}
	s := &server{kind: k, need: need, lines: lastlines.New(nil), dir: seed.dir, secret: keeper.secret, program: seed.program, engine: seed.engine}
	if err := keeper.initialise(ctx, s, user, argv...); err != nil {
		return err
	}
	if s.addr, err = freeport.At("127.0.0.1"); err != nil {
		return err
	}
	script, err := s.write("rights.sql", k.rights(s), user)
	if err != nil {
		return err
	}
	defer os.Remove(script)
	job := k.launch(seed.program, data, s, []string{"--innodb-flush-log-at-trx-commit=0", "--init-file=" + script})
	return keeper.during(ctx, s, job, user, func() error { return k.feed(ctx, s, database, "", seed.home) })
}

// install is the command that makes a data directory.
func (mysql) install(program, data string) []string {
	if isMariaDB(program) {
		return []string{"mariadb-install-db", "--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	}
	return []string{program, "--no-defaults", "--initialize-insecure", "--datadir=" + data}
}

// rights is SQL that the server runs before it listens. It is not among the arguments of a process, which all users see.
func (mysql) rights(s *server) string {
	sql := fmt.Sprintf("CREATE DATABASE %[1]s; CREATE USER '%[2]s'@'%%' IDENTIFIED BY '%[3]s'; GRANT ALL ON *.* TO '%[2]s'@'%%' WITH GRANT OPTION; ALTER USER 'root'@'localhost' IDENTIFIED BY '%[3]s';\n", database, admin, s.secret)
	if isMariaDB(s.program) { // which makes root for all names of this machine
		sql += "DELETE FROM mysql.global_priv WHERE Host <> 'localhost' AND User <> '" + admin + "'; FLUSH PRIVILEGES;\n"
	}
	return strings.ReplaceAll(sql, "; ", ";\n")
}

// dsn is the address as go-sql-driver/mysql has it.
func (mysql) dsn(s *server, addr, space string) string {
	return admin + ":" + s.secret + "@tcp(" + addr + ")/" + spaceOr(space)
}
