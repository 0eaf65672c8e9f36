package check

import (
	"cmp"
	"net"
	"net/url"
	"slices"

	"github.com/dynolab/dyno"
)

// Bounds of a plan away from this machine.
const (
	mostAgents = 1000
	mostNodes  = 100
)

func checkOn(e *dyno.Experiment) *dyno.PlanError {
	o, s := e.On, &e.Subject
	inPod := s.InPod()
	if !o.Away() {
		return wrong(inPod, "subject", "%s runs in Kubernetes (want on: {kubernetes: {…}}, or --on kubernetes)", s)
	}
	if err := checkAway(&o); err != nil {
		return err
	}
	return cmp.Or(
		wrong(e.Bench != nil, "on", "benchmarks run on this machine only (consider: no on)"),
		wrong(e.Slice > 0, "slice", "slices need the subject on this machine (consider: no on)"),
		wrong(e.Load.Command != "", "load command", "a load command runs on this machine only (consider: dyno's own load)"),
		wrong(e.Load.None, "load none", "on needs a load for its agents to send (consider: dyno watch on the machine itself)"),
		wrong(o.Kubernetes != nil && !inPod, "subject", "in Kubernetes the subject is an image or a deployment, not %s (consider: dyno image makes an image of a main package; then subject: {image: NAME})", s),
		wrong(o.Kubernetes == nil && s.URL != "" && elsewhere(o) && local(s.URL), "subject url", "%s is another service on each agent's machine (want this machine's own address)", s.URL),
		wrong(o.Kubernetes == nil && inPod, "subject", "%s runs in Kubernetes (want on: {kubernetes: {…}} without agents)", s),
		wrong(o.Kubernetes != nil && unlimited(e) != "", "vary GOGC", "%s without a memory limit can take all memory of a node (want limits: {memory: …}, or GOMEMLIMIT)", unlimited(e)),
		wrong(o.Kubernetes != nil && len(s.Files) > 0, "subject files", "files are not supported in Kubernetes (consider: a ConfigMap of the deployment)"),
	)
}

// unlimited is a setting whose heap grows without end, "" if there is none.
func unlimited(e *dyno.Experiment) string {
	for _, s := range e.Levels() {
		t, err := e.Written(s)
		env := t.Subject.Env
		if err == nil && env["GOGC"] == "off" && t.Limits.Memory == 0 && (env["GOMEMLIMIT"] == "" || env["GOMEMLIMIT"] == "off") {
			return s.String()
		}
	}
	return ""
}

func checkAway(o *dyno.On) *dyno.PlanError {
	if len(o.Agents) > 0 && o.Kubernetes != nil {
		return dyno.PlanErrorf("on has agents and kubernetes (want one)").Of("on")
	}
	for i, addr := range o.Agents {
		host, port, err := net.SplitHostPort(addr)
		switch {
		case err != nil || host == "" || port == "":
			return dyno.PlanErrorf("bad agent %q (want host:port, as dyno agent --listen has it)", addr).Of("on", "agents")
		case slices.Contains(o.Agents[:i], addr):
			return dyno.PlanErrorf("agent %s is listed twice", addr).Of("on", "agents")
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

// elsewhere reports whether an agent is on another machine, as far as its address says.
func elsewhere(o dyno.On) bool {
	return slices.ContainsFunc(o.Agents, func(addr string) bool { return !local("http://" + addr) })
}

// local reports whether a URL is of the machine that asks.
func local(u string) bool {
	p, err := url.Parse(u)
	return err == nil && (p.Hostname() == "localhost" || p.Host == dyno.SocketHost || net.ParseIP(p.Hostname()).IsLoopback())
}
