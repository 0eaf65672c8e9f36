package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// A service is a program that others wrote, and how a user would measure it.
type service struct {
	name    string
	pkg     string // a main package of a published module
	version string
	args    []string
	env     map[string]string
	files   map[string]string // in {{.Dir}} before the launch
	ready   string
	factor  string // GOGC or GOMAXPROCS
	levels  []string
	clients int
	method  string // GET unless said
	path    string
	body    string // JSON
}

var (
	gogc  = []string{"100", "400"}
	procs = []string{"2", "1"}
)

// services are in the order of what their builds take.
var services = []service{
	{name: "fasthttp", pkg: "github.com/valyala/fasthttp/examples/helloworldserver", version: "v1.78.0",
		args: []string{"-addr", "{{.Addr}}"}, ready: "/", factor: "GOMAXPROCS", levels: procs, clients: 8, path: "/hello"},
	{name: "httpbin", pkg: "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin", version: "v2.26.0",
		args: []string{"-host", "{{.Host}}", "-port", "{{.Port}}"}, ready: "/status/200", factor: "GOGC", levels: gogc, clients: 8,
		method: "POST", path: "/anything", body: `{"name":"dyno","values":[1,2,3,4]}`},
	{name: "statsd_exporter", pkg: "github.com/prometheus/statsd_exporter", version: "v0.31.0",
		args:  []string{"--web.listen-address={{.Addr}}", "--statsd.listen-udp=", "--statsd.listen-tcp=", "--statsd.listen-unixgram={{.Dir}}/statsd"},
		ready: "/-/ready", factor: "GOGC", levels: gogc, clients: 4, path: "/metrics"},
	{name: "node_exporter", pkg: "github.com/prometheus/node_exporter", version: "v1.12.1",
		args: []string{"--web.listen-address={{.Addr}}", "--log.level=error"}, ready: "/", factor: "GOMAXPROCS", levels: procs, clients: 4, path: "/metrics"},
	{name: "nats-server", pkg: "github.com/nats-io/nats-server/v2", version: "v2.15.2",
		args: []string{"-a", "127.0.0.1", "-p", "-1", "-m", "{{.Port}}"}, ready: "/healthz", factor: "GOGC", levels: gogc, clients: 8, path: "/connz?subs=1"},
	{name: "alertmanager", pkg: "github.com/prometheus/alertmanager/cmd/alertmanager", version: "v0.28.1", // later ones lack their pages
		args:  []string{"--config.file={{.Dir}}/alertmanager.yml", "--storage.path={{.Dir}}/data", "--web.listen-address={{.Addr}}", "--cluster.listen-address=", "--log.level=error"},
		files: map[string]string{"alertmanager.yml": "route: {receiver: none}\nreceivers: [{name: none}]\n"},
		ready: "/-/ready", factor: "GOGC", levels: gogc, clients: 8, path: "/api/v2/status"},
	{name: "opa", pkg: "github.com/open-policy-agent/opa", version: "v1.22.2",
		args:  []string{"run", "--server", "--disable-telemetry", "--log-level=error", "--addr={{.Addr}}", "{{.Dir}}/policy.rego"},
		files: map[string]string{"policy.rego": "package app\n\ndefault allow := false\n\nallow if {\n\tsome r in input.roles\n\tr == \"admin\"\n\tstartswith(input.path, \"/admin\")\n}\n"},
		ready: "/health", factor: "GOGC", levels: gogc, clients: 8, method: "POST", path: "/v1/data/app/allow",
		body: `{"input":{"roles":["user","admin"],"path":"/admin/users"}}`},
	{name: "caddy", pkg: "github.com/caddyserver/caddy/v2/cmd/caddy", version: "v2.11.9",
		args: []string{"run", "--adapter", "caddyfile", "--config", "{{.Dir}}/Caddyfile"},
		env:  map[string]string{"XDG_DATA_HOME": "{{.Dir}}/data", "XDG_CONFIG_HOME": "{{.Dir}}/config"},
		files: map[string]string{"Caddyfile": "{\n\tadmin off\n\tpersist_config off\n}\nhttp://{{.Addr}} {\n\troot {{.Dir}}/site\n\tfile_server browse\n}\n",
			"site/index.txt": "hello", "site/a.txt": "a", "site/b.txt": "b"},
		factor: "GOGC", levels: gogc, clients: 8, path: "/"},
	{name: "registry", pkg: "github.com/distribution/distribution/v3/cmd/registry", version: "v3.1.2",
		args: []string{"serve", "{{.Dir}}/config.yml"}, env: map[string]string{"OTEL_TRACES_EXPORTER": "none"},
		files: map[string]string{"config.yml": "version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {inmemory: {}}\nhttp: {addr: \"{{.Addr}}\"}\n"},
		ready: "/v2/", factor: "GOGC", levels: gogc, clients: 8, path: "/v2/"},
	{name: "coredns", pkg: "github.com/coredns/coredns", version: "v1.15.0", // its metrics, since dyno speaks no DNS
		args:   []string{"-conf", "{{.Dir}}/Corefile", "-quiet"},
		files:  map[string]string{"Corefile": "unix.invalid:0 {\n\tbind 127.0.0.1\n\tprometheus {{.Addr}}\n\twhoami\n}\n"},
		factor: "GOGC", levels: gogc, clients: 4, path: "/metrics"},
}

func (s service) module() string { return s.pkg + "@" + s.version }

// writePlan writes the plan into dir. A plan is YAML, of which JSON is a part.
func (s service) writePlan(dir string) (string, error) {
	type object = map[string]any
	subject := object{"module": s.module(), "args": s.args}
	load := object{"concurrency": s.clients, "duration": "2s", "warmup": "500ms", "path": s.path}
	for _, key := range []struct {
		in    object
		name  string
		value any
		there bool
	}{
		{subject, "env", s.env, len(s.env) > 0},
		{subject, "files", s.files, len(s.files) > 0},
		{subject, "ready", s.ready, s.ready != ""},
		{load, "method", s.method, s.method != ""},
		{load, "body", s.body, s.body != ""},
		{load, "headers", object{"Content-Type": "application/json"}, s.body != ""},
	} {
		if key.there {
			key.in[key.name] = key.value
		}
	}
	out, err := json.MarshalIndent(object{"name": s.name, "subject": subject, "vary": object{s.factor: s.levels}, "load": load}, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, s.name+".yaml")
	return path, os.WriteFile(path, out, 0o666)
}

// place fills in where a launch of our own serves, and its directory.
func place(text, port, dir string) string {
	return strings.NewReplacer("{{.Host}}", "127.0.0.1", "{{.Port}}", port, "{{.Addr}}", "127.0.0.1:"+port, "{{.Dir}}", dir).Replace(text)
}
