// Package relay makes the way to a server longer, or unsafe. It owns its connections and knows nothing of what they carry.
package relay

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/pace"
)

// A Relay stands between a subject and a need, and hands each message to the need on a delay later. Answers are not
// delayed, so that a round trip takes the delay more. What is sent while a message waits waits for its own time
// only: it is a longer way, not a slower one. At a share of the messages it breaks the connection instead, in both
// directions, by a reset.
type Relay struct {
	Addr string // where it listens

	to     string
	delay  time.Duration
	drop   float64
	listen net.Listener
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// New starts a relay to an address. It must be closed.
func New(to string, delay dyno.Duration, drop float64) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Relay{Addr: l.Addr().String(), to: to, delay: time.Duration(delay), drop: drop, listen: l, ctx: ctx, cancel: cancel}
	r.all.Go(r.accept)
	return r, nil
}

// Close ends it and its connections.
func (r *Relay) Close() {
	r.cancel()
	r.listen.Close()
	r.all.Wait()
}

func (r *Relay) accept() {
	for {
		client, err := r.listen.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() { r.serve(client) })
	}
}

// serve moves the bytes of one connection until both directions have ended. The end of one is passed on after what
// came before it.
func (r *Relay) serve(client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(r.ctx, "tcp", r.to)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(r.ctx, func() { client.Close(); server.Close() })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(client, server)
		client.(*net.TCPConn).CloseWrite()
	})
	r.late(server, client)
	server.(*net.TCPConn).CloseWrite()
	back.Wait()
}

// A part is bytes with the moment at which they go on.
type part struct {
	bytes []byte
	due   time.Time
}

// mostWaiting bounds the parts that wait in a connection: what is more waits in the sockets.
const mostWaiting = 1024

// earlyStep is how fast a relay learns how late it wakes: some 30 to 100 µs.
const earlyStep = 10 * time.Microsecond

// late copies with the delay.
func (r *Relay) late(to, from net.Conn) {
	parts := make(chan part, mostWaiting)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(parts)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				parts <- part{b[:n], time.Now().Add(r.delay)}
			}
			if err != nil {
				return
			}
		}
	})
	p := pace.New(r.ctx)
	defer p.Close()
	broken := false
	early := time.Duration(0) // how much before it is due a part is woken for, so that half of them go on late, and half early
	for part := range parts {
		wake := part.due.Add(-early)
		slept := time.Now().Before(wake)
		if broken || !p.Wait(r.ctx, wake) {
			continue // the reader must not wait for room
		}
		switch {
		case !slept: // it came late for another reason
		case time.Now().After(part.due):
			early = min(early+earlyStep, r.delay/10)
		default:
			early = max(early-earlyStep, 0)
		}
		if rand.Float64() < r.drop { // as a firewall or a failover does
			broken = true
			for _, conn := range []net.Conn{from, to} {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
			continue
		}
		if _, err := to.Write(part.bytes); err != nil {
			broken = true
			from.Close()
		}
	}
	reader.Wait()
}
