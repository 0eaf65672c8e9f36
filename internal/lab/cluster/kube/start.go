package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// A running is the pod of a trial.
type running struct {
	guest
	trial *dyno.Trial
	bundle
	out      *logs.Output
	observer cluster.Observer
	warnings dyno.Warnings
}

// start launches the subject of a trial, after its needs, and returns when it is ready.
func (p *place) start(ctx context.Context, t *dyno.Trial, dir string, limit time.Duration) (*lab.Running, error) {
	if _, err := p.agents(ctx); err != nil { // they own it
		return nil, err
	}
	return lab.WithNeeds(ctx, p.keeper, t, dir, func(ctx context.Context, needs map[string]map[string]string) (*lab.Running, error) {
		return p.launch(ctx, t, needs, dir, limit)
	})
}

// launch launches the subject of a trial when its needs are there.
func (p *place) launch(ctx context.Context, t *dyno.Trial, needs map[string]map[string]string, dir string, limit time.Duration) (*lab.Running, error) {
	b, err := p.subjectPod(t, needs, p.nodeOf(t.Block))
	if err != nil {
		return nil, err
	}
	out, err := logs.NewOutput(dir)
	if err != nil {
		return nil, err
	}
	tail := lastlines.New(out.Trace)
	r := &running{guest: guest{place: p, name: b.container, what: subjectName, log: tail, tail: tail}, trial: t, bundle: *b, out: out}
	if err := r.open(ctx, b.made); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	err = r.ready(ctx, cmp.Or(limit, readyTime(t)), fmt.Sprintf("port %d (consider: {{.Addr}} or {{.Port}} in its arguments or env, addr: http://{{.Host}}:PORT, or a longer ready_timeout)", r.port))
	if err == nil {
		p.stay(r.pod.Spec.NodeName)
		err = r.observe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.leave(1))
	}
	l := &lab.Running{
		Base: r.observer.Served, What: r.runs(), Sum: r.image(), Node: &r.machine,
		Target: probe.Target{PID: r.observer.PID, Socket: r.observer.Socket, Trace: r.out.Trace, Grouped: true},
		Done:   r.done, Err: r.why, Warnings: r.warnings,
		Stop: func() error { return r.leave(5) },
		Kill: func() { r.leave(0) },

		Probe: r.observer.Probe, Inspect: r.observer.Inspect, RSS: r.observer.RSS,
	}
	return l, nil
}

// leave stops the subject, and leaves nothing of its pod.
func (r *running) leave(grace int64) error { return errors.Join(r.end(grace), r.out.Close()) }

// nodeOf is the node of a block's subjects; "" if the scheduler is to choose one.
func (p *place) nodeOf(block int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nodes) == 0 {
		return ""
	}
	return p.nodes[(block-1)%len(p.nodes)]
}

// stay keeps all subjects on the first one's node if the plan names none: what is compared is on one node.
func (p *place) stay(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nodes) == 0 {
		p.nodes = []string{node}
	}
}

// observe finds the subject's process by the agent beside it, and begins to follow its log and its end.
func (r *running) observe(ctx context.Context) (err error) {
	if err = r.meet(ctx); err != nil {
		return err
	}
	address := func(host string) string { return r.scheme + "://" + net.JoinHostPort(host, strconv.Itoa(r.port)) }
	_, beside := r.plan.WhyAlone()
	r.observer = cluster.Observer{
		Beside: beside,
		Base:   address("127.0.0.1"), Served: address(r.pod.Status.PodIP),
		Dial: func(ctx context.Context) (*wire.Conn, error) {
			c, _, err := wire.Dial(ctx, r.pod.Name, r.version, r.key, r.way.dial)
			return c, err
		},
	}
	if r.observer.PID, err = r.find(); err != nil {
		return err
	}
	if !bool(r.trial.Subject.NoInject) { // whether the image has it shows only here
		switch _, err := r.observer.Ask(ctx, wire.Look{What: wire.LookHello, PID: r.observer.PID, Socket: probeSocket}); {
		case err == nil:
			r.observer.Socket = probeSocket
		case strings.Contains(err.Error(), "permission denied"):
			r.warnings.Add(dyno.WarnNotInjected, "the runtime probe does not let the agent beside it in, which runs as another user (consider: securityContext.runAsUser in the pod)")
		}
	}
	r.attend(ctx)
	return nil
}

// image names the image that ran, by its digest if Kubernetes knows it.
func (r *running) image() string {
	for _, s := range r.pod.Status.ContainerStatuses {
		if s.Name == r.name {
			return cmp.Or(s.ImageID, s.Image)
		}
	}
	return ""
}

// runs is the image, with the beginning of its digest.
func (r *running) runs() string {
	_, digest, ok := strings.Cut(r.image(), "sha256:")
	if !ok {
		return "image " + r.image()
	}
	return "image sha256:" + digest[:min(12, len(digest))]
}

func tracesCollections(t *dyno.Trial) bool {
	return len(t.Probes.Use) == 0 || slices.Contains(t.Probes.Use, "gctrace")
}

// started reports whether containers of a pod run and have passed their startup probes.
func started(p *corev1.Pod, names ...string) bool {
	n := 0
	for _, s := range p.Status.ContainerStatuses {
		if slices.Contains(names, s.Name) && s.State.Running != nil && s.Started != nil && *s.Started {
			n++
		}
	}
	return n == len(names)
}

// disrupted says why a pod ends for a reason that is not its container's, such as an eviction; "" if it does
// not. A kill for lack of memory is the container's.
func (g *guest) disrupted(p *corev1.Pod) string {
	if t := stateOf(p, g.name).Terminated; t != nil && t.Reason == "OOMKilled" {
		return ""
	}
	why := ""
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			why = c.Reason + ": " + c.Message
		}
	}
	switch {
	case why != "":
	case p.Status.Reason == "Evicted" || p.Status.Reason == "Preempting" || p.Status.Reason == "NodeShutdown":
		why = p.Status.Reason + ": " + p.Status.Message
	case p.DeletionTimestamp != nil:
		why = "somebody else deleted it"
	default:
		return ""
	}
	return fmt.Sprintf("the pod %s of the %s was taken away: %s", p.Name, g.what, why)
}

func stateOf(p *corev1.Pod, container string) corev1.ContainerState {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container {
			return s.State
		}
	}
	return corev1.ContainerState{}
}

// containerID is the number of a container, without the name of its runtime.
func containerID(p *corev1.Pod, container string) string {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container {
			_, id, _ := strings.Cut(s.ContainerID, "://")
			return id
		}
	}
	return "?"
}

// stuck says why a pod does not start and will not; "" if it may.
func stuck(p *corev1.Pod, waited time.Duration) string {
	if p.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("pod %s failed: %s", p.Name, ending(p, ""))
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && waited > patience {
			return fmt.Sprintf("no node has room for pod %s: %s (consider: smaller limits, fewer agents, or on.kubernetes.beside if there is one node)", p.Name, c.Message)
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull":
			if waited < patience { // it is tried again
				continue
			}
			fallthrough
		case "ErrImageNeverPull", "InvalidImageName", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return fmt.Sprintf("container %s: %s: %s (consider: whether image %s is in the cluster's reach; dyno image makes one)", s.Name, w.Reason, cmp.Or(w.Message, "no message"), s.Image)
		}
	}
	return ""
}

// ending says how the guest ended.
func (g *guest) ending(p *corev1.Pod) string {
	t := stateOf(p, g.name).Terminated
	switch {
	case t == nil || g.name != serverName:
		return ending(p, g.name)
	case t.Reason == "OOMKilled":
		return "the kernel killed it for lack of memory (OOMKilled)"
	}
	return fmt.Sprintf("exit status %d (%s)", t.ExitCode, t.Reason)
}

// ending says how a pod, or one container of it, ended.
func ending(p *corev1.Pod, container string) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		t := s.State.Terminated
		if t == nil || t.ExitCode == 0 && container == "" || container != "" && s.Name != container {
			continue
		}
		if t.Reason == "OOMKilled" {
			return oom(p, s.Name)
		}
		what := "subject ended"
		if container != subjectName {
			what = "container " + s.Name + " ended"
		}
		return strings.TrimSuffix(fmt.Sprintf("%s: exit status %d (%s): %s", what, t.ExitCode, t.Reason, t.Message), ": ")
	}
	return strings.TrimSuffix(cmp.Or(p.Status.Reason, string(p.Status.Phase))+": "+p.Status.Message, ": ")
}

// oom says that the kernel killed a container for lack of memory, and what helps.
func oom(p *corev1.Pod, container string) string {
	for _, c := range p.Spec.Containers {
		if c.Name != container {
			continue
		}
		limit := "the node had no more"
		cure := "a memory limit"
		if l, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
			limit = fmt.Sprintf("it reached its limit of %.4g MiB", float64(l.Value())/(1<<20))
			cure = fmt.Sprintf("GOMEMLIMIT=%dMiB, a higher limit", l.Value()*9/10>>20)
		}
		set := func(name string) string {
			if v := valueOf(c.Env, name); v != "" {
				return name + "=" + v
			}
			return name + " is not set"
		}
		return fmt.Sprintf("the kernel killed the subject for lack of memory (OOMKilled): %s; %s, %s (consider: %s)", limit, set("GOMEMLIMIT"), set("GOGC"), cure)
	}
	return "OOMKilled"
}
