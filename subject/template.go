package subject

import (
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/dynolab/dyno"
)

func expand(s dyno.Subject, addr string) (args []string, env map[string]string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, err
	}
	arg := s.Arg
	if arg == nil {
		arg = map[string]string{} // so that {{.arg.NAME}} is a missing key
	}
	data := map[string]any{"Addr": addr, "Host": host, "Port": port, "arg": arg}
	for _, a := range s.Args {
		a, err := execute(a, data)
		if err != nil {
			return nil, nil, &dyno.PlanError{Msg: fmt.Sprintf("argument %v", err)}
		}
		args = append(args, a)
	}
	env = map[string]string{"PORT": port}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		if env[k], err = execute(s.Env[k], data); err != nil {
			return nil, nil, &dyno.PlanError{Msg: fmt.Sprintf("environment %s: %v", k, err)}
		}
	}
	return args, env, nil
}

func execute(text string, data any) (string, error) {
	var b strings.Builder
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		return "", fmt.Errorf("%q: %s (want {{.Addr}}, {{.Host}}, {{.Port}} or {{.arg.NAME}})",
			text, strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), nil
}

// environ is the subject's environment: dyno's own, vars, and what the probes need, each name once.
func environ(vars map[string]string, dir, socket, debug string) []string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	maps.Copy(env, vars)
	env["PWD"] = dir
	delete(env, "DYNO_PROBE") // if dyno is itself a subject
	if socket != "" {
		env["DYNO_PROBE"] = socket
	}
	if debug != "" {
		// The last one counts; see parsegodebug in runtime/runtime1.go.
		env["GODEBUG"] = strings.TrimPrefix(env["GODEBUG"]+","+debug, ",")
	}
	return pairs(env)
}

// Environ is dyno's own environment with vars added, for a program that is no service and runs in dir.
func Environ(vars map[string]string, dir string) []string { return environ(vars, dir, "", "") }

func pairs(env map[string]string) []string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}
