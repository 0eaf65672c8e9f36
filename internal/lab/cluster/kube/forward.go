package kube

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// agentPort is the port that agents listen on in their pods.
const agentPort = 7761

// A way leads to the agent of a pod, and perhaps to others of its ports.
type way struct {
	addrs []string      // to dial, the agent's first
	stop  chan struct{} // nil of a direct way
	done  chan struct{}
	once  sync.Once
}

// wayTo leads to a pod directly if this is a pod, too, else through the API server.
func (c *client) wayTo(ctx context.Context, p *corev1.Pod, more ...int) (*way, error) {
	w := &way{done: make(chan struct{})}
	var forwarded []string
	for _, port := range append([]int{agentPort}, more...) {
		w.addrs = append(w.addrs, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(port)))
		forwarded = append(forwarded, fmt.Sprintf("0:%d", port))
	}
	if c.inside {
		return w, nil
	}
	w.stop = make(chan struct{})
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	url := c.of[pods].Post().Namespace(c.namespace).Resource("pods").Name(p.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", url)
	ready := make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, forwarded, w.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	var failed error
	go func() {
		defer close(w.done)
		failed = f.ForwardPorts()
	}()
	select {
	case <-ready:
	case <-w.done:
		return nil, c.explain("forward a port of", pods, p.Name, failed)
	case <-ctx.Done():
		close(w.stop) // a dial that hangs is not waited for
		return nil, context.Cause(ctx)
	case <-time.After(answerTime):
		close(w.stop)
		return nil, fmt.Errorf("forward a port of pod %s: no answer within %v", p.Name, answerTime)
	}
	ports, err := f.GetPorts()
	if err != nil {
		w.close()
		return nil, err
	}
	for i, port := range ports {
		w.addrs[i] = fmt.Sprintf("127.0.0.1:%d", port.Local)
	}
	return w, nil
}

func (w *way) close() {
	if w.stop != nil {
		w.once.Do(func() { close(w.stop) })
		<-w.done
	}
}

// dial connects to the agent.
func (w *way) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", w.addrs[0])
}
