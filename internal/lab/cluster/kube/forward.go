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

// A way leads to the agent of a pod.
type way struct {
	addr string        // to dial
	stop chan struct{} // nil of a direct way
	done chan struct{}
	once sync.Once
}

// wayTo leads to a pod directly if this is a pod, too, else through the API server.
func (c *client) wayTo(ctx context.Context, p *corev1.Pod) (*way, error) {
	if c.inside {
		return &way{addr: net.JoinHostPort(p.Status.PodIP, strconv.Itoa(agentPort))}, nil
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	url := c.of[pods].Post().Namespace(c.namespace).Resource("pods").Name(p.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", url)
	w := &way{stop: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", agentPort)}, w.stop, ready, io.Discard, io.Discard)
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
	w.addr = fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
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
	return new(net.Dialer).DialContext(ctx, "tcp", w.addr)
}
