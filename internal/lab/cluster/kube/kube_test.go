//go:build kube

// These tests run in a cluster with two nodes, which eval/kubelab/test makes. They need a kubeconfig and:
//
//	DYNO_KUBE_NAMESPACE  a namespace with deploy/role.yaml, whose token the kubeconfig has
//	DYNO_KUBE_IMAGE      of dyno
//	DYNO_KUBE_SUBJECT    of lab/cluster/conform/testdata/subject
//	DYNO_KUBE_REDIS      a Redis
//	DYNO_KUBE_ADMIN      kubectl with all rights in the namespace
//	DYNO_KUBE_LAB        the directory of the cluster, for cut and mend
//	DYNO                 the program of DYNO_KUBE_IMAGE
package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/conform"
	"github.com/dynolab/dyno/internal/subject/guard"
)

var namespace, image, program = os.Getenv("DYNO_KUBE_NAMESPACE"), os.Getenv("DYNO_KUBE_IMAGE"), os.Getenv("DYNO_KUBE_SUBJECT")

func TestMain(m *testing.M) {
	guard.Main()
	patience, late = 4*time.Second, 5*time.Second
	os.Exit(m.Run())
}

func on() dyno.On {
	return dyno.On{Kubernetes: &dyno.Kubernetes{Namespace: namespace, Image: image, Agents: 2}}
}

// version is what the agents of the image say.
func version(t *testing.T) string {
	out, err := exec.Command(os.Getenv("DYNO"), "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out))
	return strings.Join(words[1:len(words)-2], " ")
}

func open(t *testing.T, e *dyno.Experiment) (*lab.Lab, func() error) {
	l, release, err := Open(t.Context(), e, version(t))
	if err != nil {
		t.Fatal(err)
	}
	return l, release
}

func admin(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", os.Getenv("DYNO_KUBE_ADMIN")+` "$@"`, "sh")
	cmd.Args = append(cmd.Args, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// nothingLeft fails if something of dyno is still in the namespace after a while.
func nothingLeft(t *testing.T, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(500 * time.Millisecond) {
		left := admin(t, "", "-n", namespace, "get", "pods,jobs", "-l", managedBy+"=dyno", "-o", "name")
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left in the namespace after %v:\n%s", within, left)
		}
	}
}

func TestConform(t *testing.T) {
	l, release := open(t, &dyno.Experiment{On: on()}) // one for all, whose agents stay
	_, file, _, _ := runtime.Caller(0)                // the test runs in another directory
	load := filepath.Join(filepath.Dir(file), "../conform/testdata/load")
	conform.Run(t, conform.Placement{
		Subject: dyno.Subject{Image: program}, Program: load, On: on(),
		Open: func(t *testing.T) (*lab.Lab, func() error) { return l, func() error { return nil } },
	})
	if err := release(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, 0)
}

func experiment(seconds float64, path string) *dyno.Experiment {
	never := false
	return &dyno.Experiment{
		Name: "kube", Repeats: 1, On: on(), Memory: &never,
		Subject: dyno.Subject{Image: program, Env: map[string]string{"LISTEN": "{{.Addr}}"}},
		Load:    dyno.Load{Concurrency: 2, Duration: dyno.Duration(seconds * float64(time.Second)), Client: dyno.Client{Loop: []dyno.Step{{Path: path}}}},
	}
}

// A trying is what came of an experiment that may fail.
type trying struct {
	results []*dyno.Result
	void    []string
	told    time.Time // of the first
	err     error
}

// try runs an experiment. meanwhile is called once, when the first second of load is over; nil is nothing.
func try(t *testing.T, e *dyno.Experiment, meanwhile func()) (got trying) {
	t.Helper()
	if err := lab.Check(e); err != nil {
		t.Fatal(err)
	}
	l, release := open(t, e)
	l.Dir = func(int) (string, error) { return t.TempDir(), nil }
	l.Void = func(r *dyno.Result, again bool) {
		if got.void = append(got.void, r.Err); got.told.IsZero() {
			got.told = time.Now()
		}
	}
	var once sync.Once
	var busy sync.WaitGroup
	l.Second = func(*dyno.Trial, *hist.Histogram, time.Duration, time.Duration) {
		if meanwhile != nil {
			once.Do(func() { busy.Go(meanwhile) })
		}
	}
	if got.err = l.PrepareAll(t.Context(), e); got.err == nil {
		got.err = l.Run(t.Context(), e, func(r *dyno.Result) error { got.results = append(got.results, r); return nil })
	}
	busy.Wait()
	if alike := (*lab.AlikeError)(nil); errors.As(got.err, &alike) {
		got.err = nil
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, 0)
	return got
}

// fails expects an error of the first trial, or of its preparation, with all of the words.
func (got trying) fails(t *testing.T, words ...string) {
	t.Helper()
	text := fmt.Sprint(got.err)
	if len(got.results) > 0 {
		text = got.results[0].Err
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the error is %q, which lacks %q", text, w)
		}
	}
	t.Log(text)
	if len(got.void) > 0 {
		t.Errorf("void: %q", got.void)
	}
}

// A kill for lack of memory is told as such, with the limit and the cure.
func TestOutOfMemory(t *testing.T) {
	e := experiment(10, "/grow?mb=8")
	e.Limits.Memory = 64 << 20
	try(t, e, nil).fails(t, "OOMKilled", "limit of 64 MiB", "GOMEMLIMIT=57MiB")
}

func TestNoRoom(t *testing.T) {
	e := experiment(1, "/")
	e.Limits.Memory = 1 << 40
	try(t, e, nil).fails(t, "no node has room", "Insufficient memory")
}

func TestNoImage(t *testing.T) {
	e := experiment(1, "/")
	e.Subject.Image = "localhost:1/there-is-none:v1"
	try(t, e, nil).fails(t, "there-is-none:v1", "dyno image makes one")
	e = experiment(1, "/")
	e.On.Kubernetes.Image = "localhost:1/no-dyno:v1"
	try(t, e, nil).fails(t, "agents", "no-dyno:v1")
}

// withRedis is an experiment whose subject asks a Redis one thing for each request.
func withRedis() *dyno.Experiment {
	e := experiment(2, "/redis")
	e.Needs = map[string]dyno.Need{"cache": {Redis: new(dyno.Server), Image: os.Getenv("DYNO_KUBE_REDIS")}}
	e.Subject.Env["REDIS"] = "{{.needs.cache.Addr}} {{.needs.cache.Password}}"
	return e
}

// A server that the subject needs is a pod, whose CPU time and memory are measured, and whose commands are counted.
func TestNeeds(t *testing.T) {
	got := try(t, withRedis(), nil)
	if got.err != nil || got.results[0].Err != "" {
		t.Fatalf("%v, %q", got.err, got.results[0].Err)
	}
	values := got.results[0].Values
	if v, _ := values.Get("cache-statements/req"); v != 1 {
		t.Errorf("%v commands for each request, want 1", v)
	}
	for _, metric := range []string{"cache-cpu-sec/req", "cache-rss-peak-B"} {
		if v, _ := values.Get(metric); v <= 0 {
			t.Errorf("%s is %v, warnings %q", metric, v, got.results[0].Warnings)
		}
	}
}

// A need that somebody deletes makes its trial void; one that does not start is told.
func TestNeedFails(t *testing.T) {
	e := withRedis()
	e.Load.Duration = dyno.Duration(10 * time.Second)
	got := try(t, e, func() {
		for _, name := range strings.Fields(admin(t, "", "-n", namespace, "get", "pods", "-o", "name")) {
			if strings.Contains(name, "-need-cache-") {
				admin(t, "", "-n", namespace, "delete", name, "--grace-period=1")
			}
		}
	})
	if got.err != nil || len(got.void) != 1 || !strings.Contains(got.void[0], "cache ended") || got.results[0].Err != "" {
		t.Errorf("%v, void %q, %q", got.err, got.void, got.results[0].Err)
	}
	e = withRedis()
	e.Needs["cache"] = dyno.Need{Redis: new(dyno.Server), Image: "localhost:1/there-is-none:v1"}
	try(t, e, nil).fails(t, "need cache", "there-is-none:v1")
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		quota string
		words []string
	}{
		{"pods=1", []string{"makes", "of 2 pods", "quota"}},
		{"pods=2", []string{"quota of namespace", "exceeded quota"}},
	} {
		admin(t, "", "-n", namespace, "create", "quota", "few", "--hard", c.quota)
		try(t, experiment(1, "/"), nil).fails(t, c.words...)
		admin(t, "", "-n", namespace, "delete", "quota", "few")
	}
}

func TestPermission(t *testing.T) {
	admin(t, "", "-n", namespace, "patch", "role", "dyno", "--type=json", "-p", `[{"op":"replace","path":"/rules/3/verbs","value":["get"]}]`)
	got := try(t, experiment(1, "/"), nil)
	admin(t, "", "-n", namespace, "patch", "role", "dyno", "--type=json", "-p", `[{"op":"replace","path":"/rules/3/verbs","value":["create","get","delete"]}]`)
	got.fails(t, "create job", "not allowed", "deploy/role.yaml")
}

// A trial whose agent is killed is void within seconds, and succeeds with new agents.
func TestKilledAgent(t *testing.T) {
	var killed time.Time
	got := try(t, experiment(15, "/"), func() { // until the kubelet has killed it, seconds pass
		name := strings.Fields(admin(t, "", "-n", namespace, "get", "pods", "-l", roleLabel+"="+roleAgent, "-o", "name"))[0]
		killed = time.Now()
		admin(t, "", "-n", namespace, "delete", "--grace-period=0", "--force", name)
	})
	if got.err != nil || len(got.void) == 0 || got.results[0].Err != "" || !strings.Contains(got.void[0], "was lost") {
		t.Fatalf("%v, void %q, %q", got.err, got.void, got.results[0].Err)
	}
	t.Logf("%q, told after %v", got.void, got.told.Sub(killed))
}

// A trial is void within seconds if its node is cut off, that of the agents or that of the subject, long
// before Kubernetes knows. It succeeds when the node is back.
func TestCutLink(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	script := func(name string) {
		cmd := exec.Command(filepath.Join(filepath.Dir(file), "../../../../eval/kubelab", name), os.Getenv("DYNO_KUBE_LAB"), "kubelab-2")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for _, c := range []struct{ subjects, lost string }{{"kubelab-1", "agent "}, {"kubelab-2", "kubelab-2"}} {
		var cut time.Time
		e := experiment(15, "/")
		e.On.Kubernetes.Nodes = []string{c.subjects}
		got := try(t, e, func() {
			cut = time.Now()
			script("cut")
			time.Sleep(6 * time.Second)
			script("mend")
		})
		if got.err != nil || len(got.void) == 0 || got.results[0].Err != "" || !strings.Contains(got.void[0], c.lost) {
			t.Fatalf("%v, void %q, %q", got.err, got.void, got.results[0].Err)
		}
		t.Logf("subjects on %s: %q, told after %v", c.subjects, got.void, got.told.Sub(cut))
	}
}

// A coordinator that is killed leaves nothing.
func TestKilledCoordinator(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "dyno.yaml")
	text := fmt.Sprintf("subject: {image: %q, env: {LISTEN: '{{.Addr}}'}}\nload: {duration: 60s}\nrepeat: 1\nmemory: false\non: {kubernetes: {namespace: %s, agents: 2, image: %q}}\n", program, namespace, image)
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(os.Getenv("DYNO"), "run", "-f", plan, "--out", filepath.Join(t.TempDir(), "run"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		pods := admin(t, "", "-n", namespace, "get", "pods", "-l", managedBy+"=dyno", "-o", "name")
		if strings.Count(pods, "\n") == 3 {
			break
		} else if time.Now().After(end) {
			t.Errorf("pods before: %q\n%s", pods, said.String())
			break
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	killed := time.Now()
	nothingLeft(t, time.Minute)
	t.Logf("gone after %v", time.Since(killed))
}

// The pod of a deployment is copied with the setting's environment and without its labels, and the deployment
// stays as it is.
func TestDeployment(t *testing.T) {
	admin(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: argus}
spec:
  replicas: 1
  selector: {matchLabels: {app: argus}}
  template:
    metadata: {labels: {app: argus}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1234, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: argus
          image: %s
          env: [{name: LISTEN, value: ":9090"}, {name: GOGC, value: "100"}, {name: TOKEN, value: production}]
          ports: [{containerPort: 9090}]
          readinessProbe: {httpGet: {path: /, port: 9090}}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`, program), "-n", namespace, "apply", "-f", "-")
	defer admin(t, "", "-n", namespace, "delete", "deployment", "argus", "--grace-period=1")
	e := experiment(1, "/env?name=GOGC&want=37")
	e.Subject = dyno.Subject{Deployment: "argus"}
	e.Factors = dyno.Factors{{Name: "GOGC", Levels: []string{"37"}}}
	got := try(t, e, nil)
	if got.err != nil || got.results[0].Err != "" {
		t.Fatalf("%v, %q", got.err, got.results[0].Err)
	}
	if v, ok := got.results[0].Values.Get("rss-peak-B"); !ok || v <= 0 {
		t.Errorf("rss-peak-B is %v, warnings %q", v, got.results[0].Warnings)
	}
	if v, ok := got.results[0].Values.Get("cgroup-peak-B"); !ok || v <= 0 {
		t.Errorf("cgroup-peak-B is %v, warnings %q", v, got.results[0].Warnings)
	}
	generation := admin(t, "", "-n", namespace, "get", "deployment", "argus", "-o", "jsonpath={.metadata.generation}")
	if generation != "1" {
		t.Errorf("the deployment was changed: generation %s", generation)
	}
	e.Subject.Deployment = "absent"
	l, release := open(t, e)
	defer release()
	err := l.PrepareAll(context.Background(), e)
	if want := regexp.MustCompile(`there is no deployment absent in namespace`); err == nil || !want.MatchString(err.Error()) {
		t.Errorf("a deployment that is not there: %v", err)
	}
}
