package plan_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
)

const composeFile = `services:
  app: {build: ., depends_on: [db]}
  db:
    image: docker.io/library/postgres:16-alpine
    command: postgres -c max_connections=50
    environment: {POSTGRES_PASSWORD: secret}
    volumes: [data:/var/lib/postgresql/data, "./init:/docker-entrypoint-initdb.d:ro", {type: bind, source: ./more.sql, target: /docker-entrypoint-initdb.d/z.sql}]
  cache: {image: "redis@sha256:abc", command: [redis-server, --maxmemory, 64mb]}
  mail: {image: "mailhog/${MAIL:-mailhog}", command: "-d '{{x}}'", environment: [A=1, B], ports: ["8026:8025/tcp"], volumes: ["./init:/i", "data:/d"], healthcheck: {test: [CMD-SHELL, "nc -z localhost 8025"]}}
  stub: {image: stub, entrypoint: [x]}
  job: {image: "job:${NOBODY_SETS_THIS}"}
`

// Services of a compose file become needs, by their images; what the plan says itself comes first.
func TestCompose(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"compose.yaml": composeFile, "init/2.sql": "", "init/1.sql": "", "init/notes.txt": "", "more.sql": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(needs string) (*dyno.Experiment, error) {
		return plan.Parse("dyno.yaml", []byte("subject: {binary: ./x}\nneeds: "+needs+"\n"))
	}
	e, err := parse("{compose: compose.yaml, cache: {nats: {}}}")
	if err != nil {
		t.Fatal(err)
	}
	var seeds []string
	for _, file := range []string{"init/1.sql", "init/2.sql", "more.sql"} {
		seeds = append(seeds, filepath.Join(dir, file))
	}
	if want := map[string]dyno.Need{
		"db":    {Postgres: &dyno.Server{Seed: seeds, Args: []string{"-c", "max_connections=50"}}, Image: "docker.io/library/postgres:16-alpine", OrInstalled: true},
		"cache": {NATS: &dyno.Server{}},
	}; !reflect.DeepEqual(e.Needs, want) {
		t.Errorf("needs %+v, want %+v", e.Needs, want)
	}
	if e, err = parse("{compose: compose.yaml, services: [cache]}"); err != nil || len(e.Needs) != 1 || !reflect.DeepEqual(e.Needs["cache"].Redis, &dyno.Server{Args: []string{"--maxmemory", "64mb"}}) {
		t.Errorf("one service: %+v, %v", e, err)
	}
	mail := dyno.Need{
		Image: "mailhog/mailhog", Port: 8025, Args: []string{"-d", `{{"{{x}}"}}`}, Env: map[string]string{"A": "1"},
		Mounts: []string{filepath.Join(dir, "init") + ":/i"}, ReadyCommand: []string{"sh", "-c", "nc -z localhost 8025"},
	}
	if e, err = parse("{compose: compose.yaml, services: [mail]}"); err != nil {
		t.Error(err)
	} else if !reflect.DeepEqual(e.Needs["mail"], mail) {
		t.Errorf("a service that dyno does not know: %+v, want %+v", e.Needs["mail"], mail)
	}
	for text, want := range map[string]string{
		"image: '${NOWHERE_X}'": "the variable NOWHERE_X is not set",
		"env_file: x, image: a": "has the key env_file",
		"image: a":              "it has no ports",
		"image: a, expose: [1], environment: {DB: 'db:5432'}":        "it reaches service db by that name",
		"image: a, expose: [1], environment: {K_ADVERTISED_H: x}":    "K_ADVERTISED_H has an address",
		"image: postgres, volumes: ['./my.conf:/etc/postgres.conf']": "it mounts /etc/postgres.conf",
	} {
		if err := os.WriteFile("odd.yaml", []byte("services: {db: {image: redis}, c: {"+text+"}}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parse("{compose: odd.yaml, services: [c]}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	t.Setenv("HERE", "h")
	if err := os.WriteFile(".env", []byte("# a comment\nBESIDE='b'\nHERE=not\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"$$HOME": "$HOME", "${HERE}-$BESIDE": "h-b", "${NOWHERE:-d}": "d", "${NOWHERE-}": "", "${HERE:+set}": "set", "a$": "a$",
	} {
		if err := os.WriteFile("vars.yaml", []byte("services: {c: {image: a, expose: [1], environment: {V: '"+text+"'}}}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err := parse("{compose: vars.yaml, services: [c]}"); err != nil || e.Needs["c"].Env["V"] != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	script := "services: {c: {image: postgres, volumes: ['./x.sh:/docker-entrypoint-initdb.d/x.sh']}}"
	if err := os.WriteFile("script.yaml", []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parse("{compose: script.yaml}"); err == nil || !strings.Contains(err.Error(), "its image would run x.sh, which dyno does not (consider: c: {") {
		t.Errorf("a script: error %v", err)
	}
	if _, err := parse("{compose: script.yaml, c: {postgres: {}}}"); err != nil {
		t.Errorf("with a need of the plan in its place: %v", err)
	}
	for command, want := range map[string]string{"sh -c x": `begins with "sh"`, "redis-server --requirepass x": "has --requirepass, which dyno sets itself"} {
		text := "services: {c: {image: redis, command: " + command + "}}"
		if err := os.WriteFile("command.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parse("{compose: command.yaml}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("command %s: error %v, want %q", command, err, want)
		}
	}
	for needs, want := range map[string]string{
		"{compose: compose.yaml, services: [stub]}": "service stub: it has the key entrypoint",
		"{compose: compose.yaml, services: [dbs]}":  "has no service dbs (want one of app, cache, db, job, mail, stub)",
		"{compose: none.yaml}":                      "no such file",
		"{services: [db]}":                          "want compose: compose.yaml",
	} {
		if _, err := parse(needs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", needs, err, want)
		}
	}
}
