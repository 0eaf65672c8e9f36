//go:build machine

package needs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// images are played by the programs of this machine.
func images(t *testing.T, k kind) *near {
	postgres, err := postgres{}.program("")
	if err != nil {
		t.Fatal(err)
	}
	user, err := userOf(&dyno.Need{}, k)
	if err != nil {
		t.Fatal(err)
	}
	return &near{
		programs: map[string][]string{"docker.io/library/redis:7": {"redis-server"}, "docker.io/library/nats:2": {"nats-server"}},
		path:     filepath.Dir(postgres) + ":/usr/sbin", user: user,
	}
}

// A Postgres in a pod is seeded after its start, lets other machines in, and counts.
func TestMachinePodPostgres(t *testing.T) {
	seed := write(t, "schema.sql", "create table x (n int);\ninsert into x select generate_series(1, 100);\n")
	fill := []string{"/bin/sh", "-c", "psql $NEED_URL -c 'insert into x values (0)'"}
	for _, per := range []string{dyno.PerLaunch, dyno.PerBlock} {
		host := images(t, postgres{})
		k := inPods(t, host)
		needs := map[string]dyno.Need{"db": {Postgres: &dyno.Server{Seed: []string{seed}, Args: []string{"-c", "work_mem=8MB"}}, Fill: fill, Per: per}}
		one, two := mustOpen(t, k, 1, needs), mustOpen(t, k, 1, needs)
		url := one.Data["db"]["URL"]
		if got := ask(t, url, "insert into x values (101), (102); select count(*) from x; show work_mem"); got != "103 8MB" || !strings.Contains(url, "@127.0.0.2:") {
			t.Errorf("per %s: %s says %q", per, url, got)
		}
		if got := ask(t, two.Data["db"]["URL"], "select count(*) from x"); got != "101" {
			t.Errorf("per %s: the second has %s rows", per, got)
		}
		if s := named(count(t, one), "insert into x values ($1), ($2)"); s.Calls != 1 || s.Rows != 2 {
			t.Errorf("per %s: counted %+v", per, s)
		}
	}
}

// Without psql, a seed of plain SQL goes to the server as it is.
func TestMachinePodPlainSQL(t *testing.T) {
	seed := write(t, "schema.sql", "create table x (n int);\ninsert into x values (1);\n")
	o := mustOpen(t, inPods(t, images(t, postgres{})), 1, map[string]dyno.Need{"db": {Postgres: new(dyno.Server)}})
	s := o.uses[0].server
	if err := (postgres{}).play(t.Context(), s, seed); err != nil {
		t.Error(err)
	}
	if got := ask(t, o.Data["db"]["URL"], "select count(*) from x"); got != "1" {
		t.Errorf("there are %s rows", got)
	}
	bad := write(t, "bad.sql", "create table y (n int);\nselct;\n")
	if err := (postgres{}).play(t.Context(), s, bad); err == nil || !strings.Contains(err.Error(), "selct") {
		t.Errorf("error %v", err)
	}
}

func TestMachinePodRedis(t *testing.T) {
	seed := write(t, "seed.txt", "SET a 1\nSET b 2\n")
	o := mustOpen(t, inPods(t, images(t, redis{})), 1, map[string]dyno.Need{"cache": {Redis: &dyno.Server{Seed: []string{seed}}}})
	before := count(t, o)
	c, err := dialRedis(t.Context(), o.uses[0].server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := c.do("GET b"); got != "2" || err != nil {
		t.Errorf("b is %q, error %v", got, err)
	}
	if got := named(count(t, o), "GET").Calls - named(before, "GET").Calls; got != 1 {
		t.Errorf("%v commands were counted", got)
	}
}

func TestMachinePodNATS(t *testing.T) {
	o := mustOpen(t, inPods(t, images(t, nats{})), 1, map[string]dyno.Need{"bus": {NATS: new(dyno.Server)}})
	if c := count(t, o); !c.HasConnections || !strings.HasPrefix(o.Data["bus"]["URL"], "nats://") {
		t.Errorf("counted %+v of %v", c, o.Data)
	}
}

func TestMachinePodMySQL(t *testing.T) {
	seed := write(t, "schema.sql", "CREATE TABLE x (n INT);\nINSERT INTO x VALUES (1), (2);\n")
	o := mustOpen(t, inPods(t, images(t, mysql{})), 1, map[string]dyno.Need{"db": {MySQL: &dyno.Server{Seed: []string{seed}}}})
	s := o.uses[0].server
	if got, err := (mysql{}).client(t.Context(), s, database, "SELECT COUNT(*) FROM x"); strings.TrimSpace(got) != "2" || err != nil {
		t.Errorf("there are %q rows, error %v", got, err)
	}
	if c := count(t, o); len(c.Statements) == 0 || !strings.Contains(o.Data["db"]["DSN"], "tcp(127.0.0.2:") {
		t.Errorf("counted %+v of %v", c, o.Data)
	}
}
