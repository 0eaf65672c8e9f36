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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	*place
	trial *dyno.Trial
	bundle
	out      *logs.Output
	tail     *lastlines.Lines
	way      *way
	observer cluster.Observer
	warnings dyno.Warnings
	machine  dyno.Machine

	done    chan struct{} // closed when the subject has ended, or is lost
	err     error         // why; read after done
	stop    context.CancelFunc
	watched sync.WaitGroup
}

// start launches the subject of a trial and returns when it is ready.
func (p *place) start(ctx context.Context, t *dyno.Trial, dir string, limit time.Duration) (*lab.Running, error) {
	if _, err := p.agents(ctx); err != nil { // they own it
		return nil, err
	}
	node := p.nodeOf(t.Block)
	b, err := p.subjectPod(t, node)
	if err != nil {
		return nil, err
	}
	out, err := logs.NewOutput(dir)
	if err != nil {
		return nil, err
	}
	r := &running{place: p, trial: t, bundle: *b, out: out, tail: lastlines.New(out.Trace), done: make(chan struct{})}
	r.pod = new(corev1.Pod)
	if err := p.create(ctx, pods, b.pod, r.pod); err != nil {
		return nil, errors.Join(fmt.Errorf("start subject: %w", err), out.Close())
	}
	err = r.ready(ctx, cmp.Or(limit, readyTime(t)))
	if err == nil {
		p.stay(r.pod.Spec.NodeName)
		err = r.observe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.end(1))
	}
	l := &lab.Running{
		Base: r.observer.Served, What: r.what(), Sum: r.image(), Node: &r.machine,
		Target: probe.Target{PID: r.observer.PID, Socket: r.observer.Socket, Trace: r.out.Trace, Grouped: true},
		Done:   r.done, Err: r.why, Warnings: r.warnings,
		Stop: func() error { return r.end(5) },
		Kill: func() { r.end(0) },

		Probe: r.observer.Probe, Inspect: r.observer.Inspect, RSS: r.observer.RSS,
	}
	return l, nil
}

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

// ready waits until the subject and the agent beside it have started.
func (r *running) ready(ctx context.Context, limit time.Duration) error {
	created := time.Now()
	failed := 0
	var up time.Time // since when the subject's container runs: pulling its image is not getting ready
	for {
		pod := new(corev1.Pod)
		if err := r.get(ctx, pods, r.pod.Name, pod); err != nil {
			if failed++; failed < 5 && sleep(ctx, 500*time.Millisecond) { // the API server may be busy
				continue
			}
			return fmt.Errorf("start subject: %w", err)
		}
		r.pod, failed = pod, 0
		if started(pod, r.name, samplerName) && pod.Status.PodIP != "" {
			return nil
		}
		if up.IsZero() && stateOf(pod, r.name).Running != nil {
			up = time.Now()
		}
		why := stuck(pod, time.Since(created))
		switch {
		case disrupted(pod, r.name) != "":
			return &lab.VoidError{Why: disrupted(pod, r.name)}
		case stateOf(pod, r.name).Terminated != nil:
			r.last(ctx)
			return r.fails(ending(pod, r.name))
		case why != "":
			return fmt.Errorf("start subject: %s", why)
		case !up.IsZero() && time.Since(up) > limit+2*time.Second:
			r.last(ctx)
			return r.fails(fmt.Sprintf("subject is not ready after %v at port %d (consider: {{.Addr}} or {{.Port}} in its arguments or env, addr: http://{{.Host}}:PORT, or a longer ready_timeout)", limit, r.port))
		case up.IsZero() && time.Since(created) > pullTime:
			return fmt.Errorf("start subject: its container does not run after %v (consider: kubectl -n %s describe pod %s)", pullTime, r.namespace, r.pod.Name)
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// observe finds the subject's process by the agent beside it, and begins to follow its log and its end.
func (r *running) observe(ctx context.Context) (err error) {
	if r.way, err = r.wayTo(ctx, r.pod); err != nil {
		return err
	}
	key, err := r.keyOf(ctx, r.pod.Name, samplerName)
	if err != nil {
		return err
	}
	address := func(host string) string { return r.scheme + "://" + net.JoinHostPort(host, strconv.Itoa(r.port)) }
	_, beside := r.plan.WhyAlone()
	r.observer = cluster.Observer{
		Beside: beside,
		Base:   address("127.0.0.1"), Served: address(r.pod.Status.PodIP),
		Dial: func(ctx context.Context) (*wire.Conn, error) {
			c, _, err := wire.Dial(ctx, r.pod.Name, r.version, key, r.way.dial)
			return c, err
		},
	}
	held, welcome, err := wire.Dial(ctx, r.pod.Name, r.version, key, r.way.dial)
	if err != nil {
		return err
	}
	r.machine = welcome.Machine
	found, err := r.observer.Ask(ctx, wire.Look{What: wire.LookFind, Container: containerID(r.pod, r.name)})
	if err != nil {
		held.Close()
		return err
	}
	r.observer.PID = found.PID
	if !bool(r.trial.Subject.NoInject) { // whether the image has it shows only here
		switch _, err := r.observer.Ask(ctx, wire.Look{What: wire.LookHello, PID: found.PID, Socket: probeSocket}); {
		case err == nil:
			r.observer.Socket = probeSocket
		case strings.Contains(err.Error(), "permission denied"):
			r.warnings.Add(dyno.WarnNotInjected, "the runtime probe does not let the agent beside it in, which runs as another user (consider: securityContext.runAsUser in the pod)")
		}
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.watched.Go(func() { r.keepFollowing(following) })
	r.watched.Go(func() { r.watch(following, held) })
	return nil
}

// watch notices the end of the subject, and that its node is lost.
func (r *running) watch(ctx context.Context, held *wire.Conn) {
	defer held.Close()
	lost := make(chan error, 1)
	r.watched.Go(func() { lost <- beat(ctx, held) })
	finish := func(err error) {
		r.err = err
		close(r.done)
	}
	for {
		pod := new(corev1.Pod)
		err := r.get(ctx, pods, r.pod.Name, pod)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && disrupted(pod, r.name) != "":
			finish(&lab.VoidError{Why: disrupted(pod, r.name)})
			return
		case err == nil && stateOf(pod, r.name).Terminated != nil:
			sleep(ctx, 200*time.Millisecond) // its last words are on the way
			finish(r.fails(ending(pod, r.name)))
			return
		case apierrors.IsNotFound(err):
			finish(&lab.VoidError{Why: fmt.Sprintf("the subject's pod %s was deleted by somebody else", r.pod.Name)})
			return
		}
		select {
		case err := <-lost:
			if err != nil && ctx.Err() == nil {
				r.whyLost(ctx, err, finish)
			}
			return
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// whyLost tells the end of the subject's pod from the loss of its node.
func (r *running) whyLost(ctx context.Context, lost error, finish func(error)) {
	pod := new(corev1.Pod)
	if err := r.get(ctx, pods, r.pod.Name, pod); err == nil && stateOf(pod, r.name).Terminated != nil {
		finish(r.fails(ending(pod, r.name)))
		return
	}
	finish(&lab.VoidError{Why: fmt.Sprintf("the agent beside the subject on node %s was lost: %v", r.pod.Spec.NodeName, lost)})
}

// why is lab.Running.Err.
func (r *running) why() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// fails is an error with the subject's last lines.
func (r *running) fails(why string) error {
	if lines := r.tail.String(); lines != "" {
		return fmt.Errorf("%s\n%s", why, lines)
	}
	return errors.New(why)
}

// keepFollowing copies the subject's log. If the stream breaks, it opens another, which has the text written
// meanwhile.
func (r *running) keepFollowing(ctx context.Context) {
	var last time.Time // of the lines that were copied
	for {
		if err := r.follow(ctx, r.pod.Name, r.name, &last, r.tail); err == nil || !sleep(ctx, time.Second) {
			return
		}
	}
}

// last reads the log of a subject that was not followed.
func (r *running) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r.follow(ctx, r.pod.Name, r.name, new(time.Time), r.tail)
}

// end stops the subject, and leaves nothing of its pod.
func (r *running) end(grace int64) error {
	if r.stop != nil {
		r.stop()
	}
	err := r.delete(context.Background(), pods, r.pod.Name, grace, true)
	r.watched.Wait()
	if r.way != nil {
		r.way.close()
	}
	return errors.Join(err, r.out.Close())
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

// what is the image, with the beginning of its digest.
func (r *running) what() string {
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

// disrupted says why a pod ends for a reason that is not its subject's, such as an eviction; "" if it does
// not. A kill for lack of memory is the subject's.
func disrupted(p *corev1.Pod, container string) string {
	if t := stateOf(p, container).Terminated; t != nil && t.Reason == "OOMKilled" {
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
	return fmt.Sprintf("the pod %s of the subject was taken away: %s", p.Name, why)
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
