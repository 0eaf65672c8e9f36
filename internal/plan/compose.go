package plan

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/dynolab/dyno"
)

// A composed service is what dyno reads of a service in a compose file: https://github.com/compose-spec/compose-spec.
type composed struct {
	Image   string
	Command any
	Volumes []any
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
// has already. The images themselves are not run: the programs that are installed serve in their place.
func (d *decoder) compose(n ast.Node, services []string, needs map[string]dyno.Need) {
	file := d.path(d.scalar(n))
	text, err := os.ReadFile(file)
	if err != nil {
		d.fail(n, "compose: %v", err)
	}
	var all struct{ Services map[string]composed }
	if err := yaml.Unmarshal(text, &all); err != nil {
		d.fail(n, "compose: %s: %v", file, err)
	}
	named := services
	if named == nil {
		named = slices.Sorted(maps.Keys(all.Services))
	}
	for _, name := range named {
		s, ok := all.Services[name]
		if _, given := needs[name]; given {
			continue
		}
		if !ok {
			d.fail(n, "compose: %s has no service %s (want one of %s)", file, name, strings.Join(slices.Sorted(maps.Keys(all.Services)), ", "))
		}
		kind := kindOfImage(s.Image)
		if kind == "" {
			if services != nil {
				d.fail(n, "compose: dyno has no server for service %s, image %q (want an image of postgres, redis, valkey, nats, mysql or mariadb; consider: %[1]s: {command: [PROGRAM, ARG]})", name, s.Image)
			}
			continue
		}
		args, err := s.args(kind)
		if err != nil {
			d.fail(n, "compose: service %s: %v (consider: %[1]s: {%[3]s: {args: [...]}} in this plan)", name, err, kind)
		}
		seeds, err := s.seeds(filepath.Dir(file))
		if err != nil {
			d.fail(n, "compose: service %s: %v (consider: %[1]s: {%[3]s: {seed: [...]}, fill: [...]} in this plan)", name, err, kind)
		}
		server := &dyno.Server{Seed: seeds, Args: args}
		need := dyno.Need{Image: s.Image}
		need.Serve(kind, server)
		if !dyno.IsName(name) {
			d.fail(n, "compose: %q is no name for a need (want letters, digits and _; consider: services: [...] without it)", name)
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

// args are the arguments of the command, without the program's name.
func (s *composed) args(kind string) (words []string, err error) {
	switch c := s.Command.(type) {
	case string:
		if words, err = dyno.SplitFlags(c); err != nil {
			return nil, fmt.Errorf("command %q: %w", c, err)
		}
	case []any:
		for _, word := range c {
			words = append(words, fmt.Sprint(word))
		}
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
		if to != initFiles && !strings.HasPrefix(to, initFiles+"/") {
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
			return nil, fmt.Errorf("its image would run %s, which dyno cannot", name)
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
