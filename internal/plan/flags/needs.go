package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
)

// needs reads values of --need: a name, the kind, and keys of the need or of its server.
func needs(e *dyno.Experiment, vs []string) error {
	for _, v := range vs {
		name, rest, ok := strings.Cut(v, "=")
		if !ok || name == "" || rest == "" {
			return fmt.Errorf("bad need %q (want for example db=postgres,seed=schema.sql)", v)
		}
		need, err := parseNeed(rest)
		if err != nil {
			return fmt.Errorf("need %s: %w", name, err)
		}
		if e.Needs == nil {
			e.Needs = map[string]dyno.Need{}
		}
		e.Needs[name] = *need
	}
	return nil
}

func parseNeed(text string) (*dyno.Need, error) {
	need := new(dyno.Need)
	var server *dyno.Server
	for i, part := range strings.Split(text, ",") {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case !hasValue && i == 0 && slices.Contains(dyno.ServerKinds, key):
			server = new(dyno.Server)
			need.Serve(key, server)
			continue
		case !hasValue:
			return nil, fmt.Errorf("%q has no value (want postgres, redis, nats or mysql first, or for example package=./cmd/users)", part)
		}
		var err error
		switch {
		case key == "seed" && server != nil:
			value, err = filepath.Abs(value)
			server.Seed = append(server.Seed, value)
		case key == "args" && server != nil:
			server.Args, err = dyno.SplitFlags(value)
		case key == "version" && server != nil:
			server.Version = value
		case key == "command" || key == "args" || key == "reset" || key == "fill" || key == "ready_command":
			var words []string
			words, err = dyno.SplitFlags(value)
			*map[string]*[]string{"command": &need.Command, "args": &need.Args, "reset": &need.Reset, "fill": &need.Fill, "ready_command": &need.ReadyCommand}[key] = words
		default:
			err = setNeed(need, key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return need, nil
}

// setNeed sets a key that has one value.
func setNeed(need *dyno.Need, key, value string) error {
	switch key {
	case "package", "url", "image", "port", "rev", "ready", "ready_log", "ready_timeout", "per", "user", "delay", "drop", "pid":
	default:
		return fmt.Errorf("unknown key (want seed, args, version, package, command, image, port, url, rev, ready, ready_log, ready_command, ready_timeout, fill, reset, per, user, delay, drop or pid)")
	}
	if key == "package" && strings.HasPrefix(value, ".") {
		abs, err := filepath.Abs(value)
		if err != nil {
			return err
		}
		value = abs
	}
	return plan.SetIn(reflect.ValueOf(need), key, value)
}

// NeedPIDs reads values of --need-pid, NAME=PID: processes that a watched service needs.
func NeedPIDs(e *dyno.Experiment, vs []string) error {
	for _, v := range vs {
		name, number, _ := strings.Cut(v, "=")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 {
			return Mistakef("bad --need-pid %q (want for example db=1234)", v)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil && runtime.GOOS == "linux" {
			return Mistakef("--need-pid %s: there is no process %d", v, pid)
		}
		if e.Needs == nil {
			e.Needs = map[string]dyno.Need{}
		}
		e.Needs[name] = dyno.Need{PID: pid}
	}
	return nil
}
