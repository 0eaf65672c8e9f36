package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/dynolab/dyno"
)

// A composed service is what dyno reads of a service in a compose file: https://github.com/compose-spec/compose-spec.
type composed struct {
	Image       string
	Command     any
	Environment any
	Ports       []any
	Expose      []any
	Volumes     []any
	Healthcheck struct {
		Test        any
		StartPeriod string `yaml:"start_period"`
		Disable     bool
	}
	Keys map[string]any `yaml:",inline"` // all of them

	unset error // the first variable that it refers to and that is not set
}

// understood are the keys of a service that are read, or do not change what its container does as far as dyno runs it.
var understood = []string{
	"image", "command", "environment", "ports", "expose", "volumes", "healthcheck",
	"attach", "build", "container_name", "depends_on", "deploy", "develop", "hostname", "init", "labels", "links", "logging", "networks", "platform", "profiles",
	"pull_policy", "restart", "scale", "shm_size", "stop_grace_period", "stop_signal", "stdin_open", "tty", "ulimits",
}

// images are the names of images that servers of a kind have, without registry and tag.
var images = map[string][]string{
	"postgres": {"postgres", "pgvector", "timescaledb"},
	"redis":    {"redis", "valkey"},
	"nats":     {"nats"},
	"mysql":    {"mysql", "mariadb"},
}

// initFiles is where images of databases look for what a new one has.
const initFiles = "/docker-entrypoint-initdb.d"

// compose adds needs from a compose file: the services that are named, or else all that dyno knows, but for those that needs
// has already. Their images run in containers, or, where there are none, the programs that are installed.
func (d *decoder) compose(n ast.Node, services []string, needs map[string]dyno.Need) {
	file := d.path(d.scalar(n))
	all, err := readCompose(file)
	if err != nil {
		d.fail(n, "compose: %v", err)
	}
	named := services
	if named == nil {
		named = slices.Sorted(maps.Keys(all))
	}
	for _, name := range named {
		s, ok := all[name]
		name := strings.ReplaceAll(name, "-", "_") // as templates can have it
		if _, given := needs[name]; given {
			continue
		}
		if !ok {
			d.fail(n, "compose: %s has no service %s (want one of %s)", file, name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		kind := kindOfImage(s.Image)
		if kind == "" && services == nil {
			continue
		}
		if !dyno.IsName(name) {
			d.fail(n, "compose: %q is no name for a need (want letters, digits and _; consider: services: [...] without it)", name)
		}
		need := dyno.Need{Image: s.Image, OrInstalled: kind != ""}
		err := s.unset
		switch {
		case err != nil:
		case kind == "":
			err = s.unknown(&need, filepath.Dir(file), others(all, s))
		default:
			err = s.known(&need, kind, filepath.Dir(file))
		}
		if err != nil {
			d.fail(n, "compose: service %s: %v (consider: %[1]s: {...} in this plan)", name, err)
		}
		needs[name] = need
	}
	if len(needs) == 0 {
		d.fail(n, "compose: %s has no service that dyno knows (want an image of postgres, redis, valkey, nats, mysql or mariadb)", file)
	}
}

// kindOfImage is the kind of server that an image has, such as postgres of docker.io/library/postgres:16-alpine; "" if dyno
// knows none.
func kindOfImage(image string) string {
	name, _, _ := strings.Cut(path.Base(image), ":")
	name, _, _ = strings.Cut(name, "@")
	for kind, names := range images {
		if slices.Contains(names, name) {
			return kind
		}
	}
	return ""
}

// programs are those that images of a kind run, which a command may name or leave out.
var programs = map[string][]string{
	"postgres": {"postgres", "docker-entrypoint.sh"}, "redis": {"redis-server", "valkey-server"}, "nats": {"nats-server"}, "mysql": {"mysqld", "mariadbd"},
}

// dynosOwn are options that dyno itself sets.
var dynosOwn = []string{"--requirepass", "--port", "--bind", "--dir", "--datadir", "--socket", "--daemonize", "-p", "-h", "-D", "-a", "-m"}

// others are the names of the services beside one.
func others(all map[string]*composed, one *composed) (names []string) {
	for name, s := range all {
		if s != one {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// known fills a need that is a server of a kind. dyno has accounts and a data directory of its own there.
func (s *composed) known(need *dyno.Need, kind, dir string) error {
	args, err := s.args(kind)
	if err != nil {
		return err
	}
	for _, v := range s.Volumes {
		from, to := volume(v)
		if isPath(from) && !within(to, initFiles) && !slices.ContainsFunc(dataDirs, func(dir string) bool { return within(to, dir) }) {
			return fmt.Errorf("it mounts %s, which dyno does not read", to)
		}
	}
	seeds, err := s.seeds(dir)
	need.Serve(kind, &dyno.Server{Seed: seeds, Args: args})
	return err
}

// dataDirs are where images of databases have what they keep.
var dataDirs = []string{"/var/lib/postgresql", "/var/lib/mysql", "/data", "/bitnami"}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// isPath tells a path of this machine from the name of a volume.
func isPath(from string) bool { return from != "" && strings.ContainsRune("./~", rune(from[0])) }

// unknown fills a need that only its image knows. What it has in volumes is new for each launch, and what it has of this
// machine it can only read: so no setting finds what another one left.
func (s *composed) unknown(need *dyno.Need, dir string, others []string) (err error) {
	if s.Image == "" {
		return errors.New("it has no image")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		if !slices.Contains(understood, key) {
			return fmt.Errorf("it has the key %s, which dyno does not read", key)
		}
	}
	if need.Args, err = words(s.Command); err != nil {
		return err
	}
	need.Env = s.env()
	for _, text := range slices.Concat(need.Args, slices.Sorted(maps.Values(need.Env))) {
		for _, name := range others {
			if regexp.MustCompile(`(^|[/@,= ])` + regexp.QuoteMeta(name) + `(:[0-9]|/|$)`).MatchString(text) {
				return fmt.Errorf("it reaches service %s by that name, which a container of dyno does not know", name)
			}
		}
	}
	for key := range need.Env {
		if strings.Contains(key, "ADVERTISED") {
			return fmt.Errorf("its variable %s has an address that clients are told, and dyno's is another one", key)
		}
	}
	for i, word := range need.Args { // they are texts, and no templates
		need.Args[i] = literal(word)
	}
	for key, value := range need.Env {
		need.Env[key] = literal(value)
	}
	for _, port := range slices.Concat(s.Ports, s.Expose) {
		need.Port = cmp.Or(need.Port, inside(port))
	}
	if need.Port == 0 {
		return errors.New("it has no ports, and no expose")
	}
	for _, v := range s.Volumes {
		from, to := volume(v)
		if !isPath(from) {
			continue
		}
		if home, ok := strings.CutPrefix(from, "~"); ok {
			from = os.Getenv("HOME") + home
		}
		if !filepath.IsAbs(from) {
			from = filepath.Join(dir, from)
		}
		need.Mounts = append(need.Mounts, from+":"+to)
	}
	if start, err := time.ParseDuration(s.Healthcheck.StartPeriod); err == nil {
		need.ReadyTimeout = dyno.Duration(start) + dyno.DefaultReadyTimeout
	}
	need.ReadyCommand, err = s.health()
	return err
}

// words is a command in its two forms.
func words(command any) (words []string, err error) {
	switch c := command.(type) {
	case string:
		if words, err = dyno.SplitFlags(strings.TrimSpace(strings.ReplaceAll(c, "\n", " "))); err != nil {
			return nil, fmt.Errorf("command %q: %w", c, err)
		}
	case []any:
		for _, word := range c {
			words = append(words, fmt.Sprint(word))
		}
	}
	return words, nil
}

// literal is a template that stands for a text.
func literal(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return fmt.Sprintf("{{%q}}", text)
}

// env is the environment, in its two forms. A variable without a value has that of dyno's own.
func (s *composed) env() map[string]string {
	env := map[string]string{}
	add := func(key, value string, has bool) {
		if !has {
			value, has = os.LookupEnv(key)
		}
		if has {
			env[key] = value
		}
	}
	switch e := s.Environment.(type) {
	case map[string]any:
		for key, value := range e {
			add(key, fmt.Sprint(value), value != nil)
		}
	case []any:
		for _, line := range e {
			key, value, has := strings.Cut(fmt.Sprint(line), "=")
			add(key, value, has)
		}
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

// inside is the port in the container of an element of ports or expose: 8080, "127.0.0.1:80:8080/tcp", {target: 8080}; 0 if
// it has no port.
func inside(v any) int {
	if long, ok := v.(map[string]any); ok {
		v = long["target"]
	}
	text, _, _ := strings.Cut(fmt.Sprint(v), "/")
	n, _ := strconv.Atoi(text[strings.LastIndex(text, ":")+1:])
	return n
}

// health is the command of a health check; nil without a check.
func (s *composed) health() ([]string, error) {
	if s.Healthcheck.Disable {
		return nil, nil
	}
	if text, ok := s.Healthcheck.Test.(string); ok {
		return []string{"sh", "-c", literal(text)}, nil
	}
	test, err := words(s.Healthcheck.Test)
	if err != nil || len(test) == 0 || test[0] == "NONE" {
		return nil, err
	}
	how := test[0]
	for i, word := range test {
		test[i] = literal(word)
	}
	switch how {
	case "CMD":
		return test[1:], nil
	case "CMD-SHELL":
		return append([]string{"sh", "-c"}, test[1:]...), nil
	}
	return nil, fmt.Errorf("bad healthcheck %q (want CMD or CMD-SHELL first)", how)
}

// args are the arguments of the command, without the program's name.
func (s *composed) args(kind string) ([]string, error) {
	words, err := words(s.Command)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && slices.Contains(programs[kind], path.Base(words[0])) {
		words = words[1:]
	}
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return nil, fmt.Errorf("its command begins with %q, which is not the server", words[0])
	}
	for _, word := range words {
		if option, _, _ := strings.Cut(word, "="); slices.Contains(dynosOwn, option) {
			return nil, fmt.Errorf("its command has %s, which dyno sets itself", option)
		}
	}
	return words, nil
}

// seeds are the SQL files that a new database would be filled with, in their order there: by their names in the image.
func (s *composed) seeds(dir string) (files []string, err error) {
	at := map[string]string{} // by name there
	for _, v := range s.Volumes {
		from, to := volume(v)
		if !within(to, initFiles) {
			continue
		}
		if !filepath.IsAbs(from) {
			from = filepath.Join(dir, from)
		}
		if !isDir(from) {
			at[path.Base(to)] = from
			continue
		}
		inside, _ := filepath.Glob(filepath.Join(from, "*"))
		for _, file := range inside {
			at[filepath.Base(file)] = file
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		switch {
		case strings.HasSuffix(name, ".sql"):
			files = append(files, at[name])
		case strings.HasSuffix(name, ".sh"), strings.Contains(name, ".sql."): // which an image would run, or unpack
			return nil, fmt.Errorf("its image would run %s, which dyno does not", name)
		}
	}
	return files, nil
}

// volume splits a volume in its short form, ./schema.sql:/path:ro, or its long one.
func volume(v any) (from, to string) {
	switch v := v.(type) {
	case string:
		parts := strings.Split(v, ":")
		if len(parts) > 1 {
			return parts[0], parts[1]
		}
	case map[string]any:
		return fmt.Sprint(v["source"]), fmt.Sprint(v["target"])
	}
	return "", ""
}
