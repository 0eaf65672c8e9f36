//go:build machine

package needs

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// These tests need the programs of Postgres, Redis and NATS, which .ci/run installs.

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func ask(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		return err.Error()
	}
	defer conn.Close(t.Context())
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, r := range results {
		for _, row := range r.Rows {
			for _, v := range row {
				all = append(all, string(v))
			}
		}
	}
	return strings.Join(all, " ")
}

func count(t *testing.T, o *Opened) probe.Count {
	t.Helper()
	c, err := o.Targets()[0].Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func named(c probe.Count, text string) (found dyno.Statement) {
	for _, s := range c.Statements {
		if s.Text == text {
			found = s
		}
	}
	return found
}

// segments are the shared memory segments of System V that a process made: proc(5), /proc/sysvipc/shm.
func segments(t *testing.T, pid int) (ids []string) {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[4] == strconv.Itoa(pid) {
			ids = append(ids, f[1])
		}
	}
	return ids
}

// Each launch has a database of its own with the seed, whose statements are counted; nothing stays in the kernel.
func TestMachinePostgres(t *testing.T) {
	seed := write(t, "schema.sql", "create table x (n int);\ninsert into x select generate_series(1, 100);\n")
	for _, per := range []string{dyno.PerLaunch, dyno.PerBlock} {
		k := keeper(t)
		fill := []string{"/bin/sh", "-c", "psql $NEED_URL -c 'insert into x values (0)'"}
		needs := map[string]dyno.Need{"db": {Postgres: &dyno.Server{Seed: []string{seed}}, Fill: fill, Per: per}}
		one, two := mustOpen(t, k, 1, needs), mustOpen(t, k, 1, needs)
		url := one.Data["db"]["URL"]
		if got := ask(t, url, "insert into x values (101), (102); select count(*) from x"); got != "103" {
			t.Errorf("per %s: the first has %s rows", per, got)
		}
		if got := ask(t, two.Data["db"]["URL"], "select count(*) from x"); got != "101" {
			t.Errorf("per %s: the second has %s rows", per, got)
		}
		c := count(t, one)
		for c.Opened == 0 { // until the server has told itself, after the end of the connection at the latest
			time.Sleep(10 * time.Millisecond)
			c = count(t, one)
		}
		if s := named(c, "insert into x values ($1), ($2)"); s.Calls != 1 || s.Rows != 2 || s.Sec <= 0 {
			t.Errorf("per %s: counted %+v", per, c.Statements)
		}
		if s := named(count(t, two), "insert into x values ($1), ($2)"); s.Calls != 0 {
			t.Errorf("per %s: the second counts %+v of the first", per, s)
		}
		if booked := one.Targets()[0].Booked; booked != (per == dyno.PerLaunch) {
			t.Errorf("per %s: booked %t", per, booked)
		}
		pid := one.Targets()[0].PID
		if len(segments(t, pid)) == 0 {
			t.Errorf("per %s: the server has no shared memory (this test looks for what is left of it)", per)
		}
		one.Close()
		two.Close()
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if left := segments(t, pid); len(left) > 0 {
			t.Errorf("per %s: shared memory is left: %s", per, left)
		}
		if got := ask(t, url, "select 1"); !strings.Contains(got, "refused") {
			t.Errorf("per %s: it answers after the end: %s", per, got)
		}
	}
}

// A MariaDB is as a Postgres is.
func TestMachineMySQL(t *testing.T) {
	seed := write(t, "schema.sql", "create table x (n int);\ninsert into x values (1), (2);\n")
	for _, per := range []string{dyno.PerLaunch, dyno.PerBlock} {
		fill := []string{"/bin/sh", "-c", "mariadb -h {{.Host}} -P $NEED_PORT -u dyno ${NEED_DSN##*/} -e 'insert into x values (0)'"}
		needs := map[string]dyno.Need{"db": {MySQL: &dyno.Server{Seed: []string{seed}}, Fill: fill, Per: per}}
		k := keeper(t)
		one, two := mustOpen(t, k, 1, needs), mustOpen(t, k, 1, needs)
		client := func(o *Opened, sql string) string {
			u := o.uses[0]
			text, err := mysql{}.client(t.Context(), u.server, spaceOr(u.space), sql)
			return fmt.Sprint(strings.TrimSpace(text), err)
		}
		if got := client(one, "insert into x values (3), (4); select count(*) from x"); got != "5<nil>" {
			t.Errorf("per %s: the first has %s rows", per, got)
		}
		if got := client(two, "select count(*) from x"); got != "3<nil>" {
			t.Errorf("per %s: the second has %s rows", per, got)
		}
		if got := client(one, "select count(*) from mysql.global_priv where User != 'dyno' and Host != 'localhost'"); got != "0<nil>" {
			t.Errorf("per %s: %s other users can connect", per, got)
		}
		var found dyno.Statement
		c := count(t, one)
		for _, s := range c.Statements {
			if strings.HasPrefix(s.Text, "INSERT INTO x ") {
				found.Calls, found.Rows, found.Sec = found.Calls+s.Calls, found.Rows+s.Rows, found.Sec+s.Sec
			}
		}
		want := map[string]dyno.Statement{dyno.PerLaunch: {Calls: 1, Rows: 2}, dyno.PerBlock: {Calls: 3, Rows: 5}}[per] // with the seed of its own database
		if found.Calls != want.Calls || found.Rows != want.Rows || found.Sec <= 0 || c.Connections < 0 || c.Evicted != 0 {
			t.Errorf("per %s: counted %+v", per, c)
		}
		if want := admin + ":" + k.secret + "@tcp(" + one.Data["db"]["Addr"] + ")/"; !strings.HasPrefix(one.Data["db"]["DSN"], want) {
			t.Errorf("per %s: DSN %s, want %s…", per, one.Data["db"]["DSN"], want)
		}
	}
}

// A mistake in a seed has its file and line.
func TestMachineSeedMistake(t *testing.T) {
	sql, commands := write(t, "bad.sql", "create table x (n int);\n\ninsert into y values (1);\n"), write(t, "bad.redis", "SET a 1\nSETT b 2\n")
	for want, need := range map[string]dyno.Need{
		"bad.sql:3: ERROR:  relation \"y\" does not exist": {Postgres: &dyno.Server{Seed: []string{sql}}},
		"at line 3 in file":                       {MySQL: &dyno.Server{Seed: []string{sql}}},
		"bad.redis:2: redis: ERR unknown command": {Redis: &dyno.Server{Seed: []string{commands}}},
	} {
		err := keeper(t).Prepare(t.Context(), dyno.Subject{Needs: map[string]dyno.Need{"x": need}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A version that is not there is said before anything starts, with the cure.
func TestMachineVersion(t *testing.T) {
	for want, need := range map[string]dyno.Need{
		"version 8 is not installed":   {Postgres: &dyno.Server{Version: "8"}},
		"version 2 is not installed":   {Redis: &dyno.Server{Version: "2"}},
		"version 0.1 is not installed": {NATS: &dyno.Server{Version: "0.1"}},
	} {
		err := keeper(t).Prepare(t.Context(), dyno.Subject{Needs: map[string]dyno.Need{"x": need}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Redis has its seed in each launch; its commands are counted where it is not shared.
func TestMachineRedis(t *testing.T) {
	seed := write(t, "seed", "# names\nSET a 1\nHSET h x 2\n")
	for _, per := range []string{dyno.PerLaunch, dyno.PerRun} {
		k := keeper(t)
		o := mustOpen(t, k, 1, map[string]dyno.Need{"cache": {Redis: &dyno.Server{Seed: []string{seed}}, Per: per}})
		if conn, err := net.Dial("tcp", o.Data["cache"]["Addr"]); err != nil {
			t.Error(err)
		} else if c := (&redisConn{conn, bufio.NewReader(conn)}); true { // another user of the machine
			if text, err := c.do("GET a"); err == nil {
				t.Errorf("without a password: %q", text)
			}
			c.Close()
		}
		c, err := dialRedis(t.Context(), &server{addr: o.Data["cache"]["Addr"], secret: k.secret})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, number, _ := strings.Cut(o.Data["cache"]["URL"], o.Data["cache"]["Addr"]+"/")
		var got []string
		for _, command := range []string{"SELECT " + cmp.Or(number, "0"), "GET a", "GET a", "HGET h x"} {
			text, err := c.do(command)
			got = append(got, fmt.Sprint(text, err))
		}
		if strings.Join(got, " ") != "OK<nil> 1<nil> 1<nil> 2<nil>" {
			t.Errorf("per %s: %q", per, got)
		}
		if calls := named(count(t, o), "GET").Calls; calls != map[string]float64{dyno.PerLaunch: 2}[per] {
			t.Errorf("per %s: %v calls of GET are counted", per, calls)
		}
	}
}

// Messages of NATS are counted.
func TestMachineNATS(t *testing.T) {
	o := mustOpen(t, keeper(t), 1, map[string]dyno.Need{"bus": {NATS: new(dyno.Server)}})
	conn, err := net.Dial("tcp", o.Data["bus"]["Addr"])
	if err != nil {
		t.Fatal(err)
	}
	c := &redisConn{conn, bufio.NewReader(conn)} // a line protocol, too
	defer c.Close()
	u, err := url.Parse(o.Data["bus"]["URL"])
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT {\"auth_token\":%q}\r\n", u.User.Username())
	io.WriteString(c, "PUB x 2\r\nhi\r\nPING\r\n")
	for line := ""; line != "PONG\r\n"; {
		if line, err = c.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if calls := named(count(t, o), "messages in").Calls; calls != 1 {
		t.Errorf("%v messages are counted", calls)
	}
}
