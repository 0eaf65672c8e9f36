package dyno

import (
	"cmp"
	"fmt"
	"net/url"
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

// LaunchedHere reports whether dyno launches the subject on this machine.
func (e *Experiment) LaunchedHere() bool {
	return e.On.Kubernetes == nil && e.Bench == nil && e.Subject.Launched()
}
