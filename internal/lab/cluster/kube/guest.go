package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// A guest is a pod with a container that dyno watches, by an agent beside it: a subject, or a server that it needs.
type guest struct {
	*place
	pod  *corev1.Pod
	name string           // of the container
	what string           // it is, as messages have it
	log  io.Writer        // gets what it writes
	tail *lastlines.Lines // has its last lines; nil if errors have none

	way     *way
	key     *wire.Key // of the agent
	machine dyno.Machine
	mu      sync.Mutex // of held
	held    *wire.Conn // a session that lasts

	done    chan struct{} // closed when the container has ended, or is lost
	err     error         // why; read after done
	stop    context.CancelFunc
	watched sync.WaitGroup
}

// open makes the guest's pod.
func (g *guest) open(ctx context.Context, pod *corev1.Pod) error {
	g.done, g.pod = make(chan struct{}), new(corev1.Pod)
	if err := g.create(ctx, pods, pod, g.pod); err != nil {
		return fmt.Errorf("start %s: %w", g.what, err)
	}
	return nil
}

// ready waits until the container and the agent beside it have started. cure is what helps if it takes longer than limit.
func (g *guest) ready(ctx context.Context, limit time.Duration, cure string) error {
	created := time.Now()
	failed := 0
	var up time.Time // since when the container runs: pulling its image is not getting ready
	for {
		pod := new(corev1.Pod)
		if err := g.get(ctx, pods, g.pod.Name, pod); err != nil {
			if failed++; failed < 5 && sleep(ctx, 500*time.Millisecond) { // the API server may be busy
				continue
			}
			return fmt.Errorf("start %s: %w", g.what, err)
		}
		g.pod, failed = pod, 0
		if started(pod, g.name, samplerName) && pod.Status.PodIP != "" {
			return nil
		}
		if up.IsZero() && stateOf(pod, g.name).Running != nil {
			up = time.Now()
		}
		why := stuck(pod, time.Since(created))
		switch {
		case g.disrupted(pod) != "":
			return &lab.VoidError{Why: g.disrupted(pod)}
		case stateOf(pod, g.name).Terminated != nil:
			g.last(ctx)
			if why = g.ending(pod); g.tail == nil { // the need says whose it is
				why = "it ended: " + why
			}
			return g.fails(why)
		case why != "":
			return fmt.Errorf("start %s: %s", g.what, why)
		case !up.IsZero() && time.Since(up) > limit+2*time.Second:
			g.last(ctx)
			return g.fails(fmt.Sprintf("%s is not ready after %v at %s", g.what, limit, cure))
		case up.IsZero() && time.Since(created) > pullTime:
			return fmt.Errorf("start %s: its container does not run after %v (consider: kubectl -n %s describe pod %s)", g.what, pullTime, g.namespace, g.pod.Name)
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// meet opens a session with the agent beside the container, and the way to ports of the pod.
func (g *guest) meet(ctx context.Context, ports ...int) (err error) {
	if g.way, err = g.wayTo(ctx, g.pod, ports...); err != nil {
		return err
	}
	if g.key, err = g.keyOf(ctx, g.pod.Name, samplerName); err != nil {
		return err
	}
	held, welcome, err := wire.Dial(ctx, g.pod.Name, g.version, g.key, g.way.dial)
	if err != nil {
		return err
	}
	g.held, g.machine = held, welcome.Machine
	return nil
}

// ask asks the agent in the session that lasts.
func (g *guest) ask(l wire.Look) (*wire.Looked, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cluster.Ask(g.held, l)
}

// find is the process of the container, as the agent sees it.
func (g *guest) find() (pid int, err error) {
	a, err := g.ask(wire.Look{What: wire.LookFind, Container: containerID(g.pod, g.name)})
	if err != nil {
		return 0, err
	}
	return a.PID, nil
}

// attend begins to follow the guest's log and its end.
func (g *guest) attend(ctx context.Context) {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	g.watched.Go(func() { g.keepFollowing(following) })
	g.watched.Go(func() { g.watch(following) })
}

// watch notices the end of the guest, and that its node is lost.
func (g *guest) watch(ctx context.Context) {
	lost := make(chan error, 1)
	g.watched.Go(func() { lost <- g.beat(ctx) })
	finish := func(err error) {
		g.err = err
		close(g.done)
	}
	for {
		pod := new(corev1.Pod)
		err := g.get(ctx, pods, g.pod.Name, pod)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && g.disrupted(pod) != "":
			finish(&lab.VoidError{Why: g.disrupted(pod)})
			return
		case err == nil && stateOf(pod, g.name).Terminated != nil:
			sleep(ctx, 200*time.Millisecond) // its last words are on the way
			finish(g.fails(g.ending(pod)))
			return
		case apierrors.IsNotFound(err):
			finish(&lab.VoidError{Why: fmt.Sprintf("the %s's pod %s was deleted by somebody else", g.what, g.pod.Name)})
			return
		}
		select {
		case err := <-lost:
			if err != nil && ctx.Err() == nil {
				g.whyLost(ctx, err, finish)
			}
			return
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// beat gives the agent signs of life, to which it answers.
func (g *guest) beat(ctx context.Context) error {
	for sleep(ctx, wire.Beat) {
		g.mu.Lock()
		_, err := g.held.Clock()
		g.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// whyLost tells the end of the guest's pod from the loss of its node.
func (g *guest) whyLost(ctx context.Context, lost error, finish func(error)) {
	pod := new(corev1.Pod)
	if err := g.get(ctx, pods, g.pod.Name, pod); err == nil && stateOf(pod, g.name).Terminated != nil {
		finish(g.fails(g.ending(pod)))
		return
	}
	finish(&lab.VoidError{Why: fmt.Sprintf("the agent beside the %s on node %s was lost: %v", g.what, g.pod.Spec.NodeName, lost)})
}

// why is lab.Running.Err.
func (g *guest) why() error {
	select {
	case <-g.done:
		return g.err
	default:
		return nil
	}
}

// fails is an error with the guest's last lines.
func (g *guest) fails(why string) error {
	if g.tail != nil && g.tail.String() != "" {
		return fmt.Errorf("%s\n%s", why, g.tail)
	}
	return errors.New(why)
}

// keepFollowing copies the guest's log. If the stream breaks, it opens another, which has the text written
// meanwhile.
func (g *guest) keepFollowing(ctx context.Context) {
	var last time.Time // of the lines that were copied
	for {
		if err := g.follow(ctx, g.pod.Name, g.name, &last, g.log); err == nil || !sleep(ctx, time.Second) {
			return
		}
	}
}

// last reads the log of a guest that was not followed.
func (g *guest) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	g.follow(ctx, g.pod.Name, g.name, new(time.Time), g.log)
}

// end stops the guest, and leaves nothing of its pod.
func (g *guest) end(grace int64) error {
	if g.stop != nil {
		g.stop()
	}
	err := g.delete(context.Background(), pods, g.pod.Name, grace, true)
	if g.held != nil {
		g.held.Close()
	}
	g.watched.Wait()
	if g.way != nil {
		g.way.close()
	}
	return err
}
