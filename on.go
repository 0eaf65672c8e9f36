package dyno

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// On says where trials run. The zero value is this machine. Its JSON is the plan's.
type On struct {
	Agents     []string    `json:"agents,omitempty"`     // host:port of each dyno agent that sends the load; the subject runs on this machine
	Kubernetes *Kubernetes `json:"kubernetes,omitempty"` // the subject is a Pod, and so is each agent
}

// Kubernetes says how trials run in a cluster.
type Kubernetes struct {
	Namespace string   `json:"namespace,omitempty"` // "" means that of the context
	Context   string   `json:"context,omitempty"`   // of the kubeconfig; "" means its current one
	Agents    int      `json:"agents,omitempty"`    // pods that send the load; 0 means 1
	Image     string   `json:"image,omitempty"`     // of dyno, for agents and the sampler beside a subject: dyno image --agent
	Beside    bool     `json:"beside,omitempty"`    // agents may be on the subject's node, whose CPU they take
	Nodes     []string `json:"nodes,omitempty"`     // that subjects run on, a block on each in turn; none means any
}

// Away reports whether the load comes from other machines.
func (o On) Away() bool { return len(o.Agents) > 0 || o.Kubernetes != nil }

// String says where trials run, as a report does; "" is this machine.
func (o On) String() string {
	agents := strconv.Itoa(o.Senders()) + " agents"
	if o.Senders() == 1 {
		agents = "1 agent"
	}
	switch k := o.Kubernetes; {
	case k != nil && len(k.Nodes) > 1:
		return fmt.Sprintf("in Kubernetes: subjects on %s, a block on each in turn; load from %s", strings.Join(k.Nodes, ", "), agents)
	case k != nil:
		return "in Kubernetes: subjects on one node; load from " + agents
	case o.Away():
		return "load from " + agents + " on other machines"
	}
	return ""
}

// Senders returns the number of generators that send the load: 1 on this machine.
func (o On) Senders() int {
	if o.Kubernetes != nil {
		return max(o.Kubernetes.Agents, 1)
	}
	return max(len(o.Agents), 1)
}

// places returns the number of machines that subjects run on, as far as the plan says.
func (o On) places() int {
	if o.Kubernetes != nil {
		return max(len(o.Kubernetes.Nodes), 1)
	}
	return 1
}

// elsewhere reports whether an agent is on another machine, as far as its address says.
func (o On) elsewhere() bool {
	return slices.ContainsFunc(o.Agents, func(addr string) bool { return !local("http://" + addr) })
}

// local reports whether a URL is of the machine that asks.
func local(u string) bool {
	p, err := url.Parse(u)
	return err == nil && (p.Hostname() == "localhost" || p.Host == SocketHost || net.ParseIP(p.Hostname()).IsLoopback())
}

// SocketHost is the host of an address at a unix socket, as in nginx: http://unix:/run/x.sock.
const SocketHost = "unix:"

// IsAddress reports whether u is a scheme and a host or unix socket, and no more.
func IsAddress(u string) bool {
	p, _ := url.Parse(strings.TrimSuffix(u, "/")) // nil with an error
	service, _ := Service(p)
	return service != nil && p.Scheme != "" && *p == *service
}

// Service splits the URL of a request into the address of the service and what is asked of it, such as /search?q=x. A unix socket is
// written as in nginx: http://unix:/run/x.sock, and http://unix:/run/x.sock:/search?q=x. Without a URL or a host, service is nil.
func Service(u *url.URL) (service *url.URL, target string) {
	if u == nil || u.Host == "" || u.Host == SocketHost && u.Path == "" {
		return nil, ""
	}
	service, target = &url.URL{Scheme: u.Scheme, Host: u.Host}, u.RequestURI()
	if u.Host == SocketHost {
		service.Path, _, _ = strings.Cut(u.Path, ":")
		_, target, _ = strings.Cut(target, ":")
		target = cmp.Or(target, "/")
	}
	return service, target
}

// Bounds of a plan away from this machine.
const (
	mostAgents = 1000
	mostNodes  = 100
)

func (e *Experiment) checkOn() *PlanError {
	o, s := e.On, &e.Subject
	inPod := s.InPod()
	if !o.Away() {
		return wrong(inPod, "subject", "%s runs in Kubernetes (want on: {kubernetes: {…}}, or --on kubernetes)", s)
	}
	if err := o.check(); err != nil {
		return err
	}
	return cmp.Or(
		wrong(e.Bench != nil, "on", "benchmarks run on this machine only (consider: no on)"),
		wrong(e.Slice > 0, "slice", "slices need the subject on this machine (consider: no on)"),
		wrong(e.Load.Command != "", "load command", "a load command runs on this machine only (consider: dyno's own load)"),
		wrong(e.Load.None, "load none", "on needs a load for its agents to send (consider: dyno watch on the machine itself)"),
		wrong(o.Kubernetes != nil && !inPod, "subject", "in Kubernetes the subject is an image or a deployment, not %s (consider: dyno image makes an image of a main package; then subject: {image: NAME})", s),
		wrong(o.Kubernetes == nil && s.URL != "" && o.elsewhere() && local(s.URL), "subject url", "%s is another service on each agent's machine (want this machine's own address)", s.URL),
		wrong(o.Kubernetes == nil && inPod, "subject", "%s runs in Kubernetes (want on: {kubernetes: {…}} without agents)", s),
		wrong(o.Kubernetes != nil && e.unlimited() != "", "vary GOGC", "%s without a memory limit can take all memory of a node (want limits: {memory: …}, or GOMEMLIMIT)", e.unlimited()),
		wrong(o.Kubernetes != nil && len(s.Files) > 0, "subject files", "files are not supported in Kubernetes (consider: a ConfigMap of the deployment)"),
	)
}

// unlimited is a setting whose heap grows without end, "" if there is none.
func (e *Experiment) unlimited() string {
	for _, s := range e.Levels() {
		t, err := e.trial(s)
		env := t.Subject.Env
		if err == nil && env["GOGC"] == "off" && t.Limits.Memory == 0 && (env["GOMEMLIMIT"] == "" || env["GOMEMLIMIT"] == "off") {
			return s.String()
		}
	}
	return ""
}

func (o *On) check() *PlanError {
	if len(o.Agents) > 0 && o.Kubernetes != nil {
		return PlanErrorf("on has agents and kubernetes (want one)").of("on")
	}
	for i, addr := range o.Agents {
		host, port, err := net.SplitHostPort(addr)
		switch {
		case err != nil || host == "" || port == "":
			return PlanErrorf("bad agent %q (want host:port, as dyno agent --listen has it)", addr).of("on", "agents")
		case slices.Contains(o.Agents[:i], addr):
			return PlanErrorf("agent %s is listed twice", addr).of("on", "agents")
		}
	}
	if k := o.Kubernetes; k != nil {
		return cmp.Or(
			wrong(k.Agents < 0, "on kubernetes agents", "agents is %d (want a number from 1)", k.Agents),
			wrong(k.Image == "", "on kubernetes", "no image of dyno for agents (want on: {kubernetes: {image: NAME}}; dyno image --agent makes one)"),
			wrong(second(k.Nodes, func(n string) string { return n }) >= 0, "on kubernetes nodes", "a node is listed twice"),
			wrong(len(k.Nodes) > mostNodes, "on kubernetes nodes", "%d nodes are too many (want at most %d)", len(k.Nodes), mostNodes),
		)
	}
	return wrong(o.Senders() > mostAgents, "on", "%d agents are too many (want at most %d)", o.Senders(), mostAgents)
}

// LaunchedHere reports whether dyno launches the subject on this machine.
func (e *Experiment) LaunchedHere() bool {
	return e.On.Kubernetes == nil && e.Bench == nil && e.Subject.Launched()
}

func (e *Experiment) checkAwake() *PlanError {
	return wrong(e.Awake != nil && *e.Awake && !e.LaunchedHere(), "awake", "the CPUs are kept awake for a subject that dyno launches on this machine (consider: awake: false)")
}
