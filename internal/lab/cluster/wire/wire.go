// Package wire is what a coordinator and its agents say to each other: messages over one TLS connection a
// session. It owns the messages, the authentication, and the estimate of a clock's offset.
package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/turns"
)

// Silence is after what time without a message the other side is taken for lost. Each side says
// something every Beat.
const (
	Beat    = time.Second
	Silence = 3 * Beat
)

// A Message has one field that is not nil, or is a sign of life.
type Message struct {
	Hello   *Hello
	Welcome *Welcome
	Refused string // why the session ends before it began

	Ping, Pong *Tick

	Load   *LoadJob
	Begin  *Begin
	Finish bool // the window is over everywhere: tear down
	Watch  *WatchJob
	Look   *Look
	Stop   bool // of a watch

	Progress *Progress
	Ready    *Ready // the load is set up and warm, or the probe has begun
	Second   *Second
	Ended    bool // the window
	Record   *Record
	Requests []dyno.Request // that were kept, in the order of their ends
	Last     bool           // of a load's messages

	Sample  *Sample
	Part    *probe.File // of a file that a probe makes
	Reading *Reading
	Looked  *Looked
}

// A Hello opens a session. Both sides must have the same version.
type Hello struct{ Version string }

// A Welcome answers it.
type Welcome struct {
	Version string
	Machine dyno.Machine
}

// A Tick carries a moment of the agent's wall clock in a Pong.
type Tick struct {
	N   int
	Now time.Time
}

// A LoadJob is an agent's part of a load.
type LoadJob struct {
	Base   string
	Plan   []byte // the load in JSON, as a plan has it: {"load": …}
	Files  [][]byte
	Arg    map[string]string
	Seed   uint64
	Config []byte // of the load's program
	Part   load.Part
	Turns  *turns.Table // by the agent's clock; nil if the load is alone
	Keep   int          // most requests that are kept; 0 means none
}

// Begin begins the window, at a moment of the agent's clock.
type Begin struct {
	At    time.Time
	Turns *turns.Table
}

// Ready says how long an answer of the warm-up took, 0 if that is not known.
type Ready struct{ Answer time.Duration }

// Progress comes every quarter of a second.
type Progress struct {
	Now          time.Time // by the agent's clock
	Phase        string
	Done, Failed int64
	At           time.Duration // since the window began; 0 before
}

// A Second is the latency of a part of the window.
type Second struct {
	From, To time.Duration
	Latency  *hist.Histogram
}

// A Record ends a load.
type Record struct {
	*load.Record
	Throttled float64 // seconds in the window
	Err       string
}

// A WatchJob says what a probe has to watch. The fields mean the same as in probe.Target.
type WatchJob struct {
	Probe                     string
	PID                       int
	Socket                    string
	Every                     time.Duration
	Grouped, Insecure         bool
	Expvar, Prometheus, Pprof string
	Metrics, Profile          []string
	Length                    time.Duration
}

// A Sample is a point of a series.
type Sample struct {
	Metric string
	At     time.Duration
	Value  float64
}

// A Reading ends a watch.
type Reading struct {
	probe.Reading
	Err string
}

// A Look asks for one thing of a process.
type Look struct {
	What      string // a name of Looks
	PID       int
	Socket    string // of the injected probe; "" if there is none
	Name      string // of a profile
	Container string // whose first process is to be found
}

// What a Look asks for.
const (
	LookFind     = "find"  // the first process of Container
	LookHello    = "hello" // whether the injected probe answers
	LookResident = "resident"
	LookUsage    = "usage" // of a process and all that it has started
	LookSnapshot = "snapshot"
	LookBrief    = "brief"
	LookCollect  = "collect"
	LookFree     = "free"
	LookProfile  = "profile"
)

// A Looked answers a Look.
type Looked struct {
	PID         int
	CPU         float64 // seconds
	Resident    float64 // bytes
	Snapshot    dyno.Snapshot
	Data        []byte
	Err         string
	Unsupported bool // errors.ErrUnsupported
}

// A Conn is one session. Several goroutines may send, one may receive.
type Conn struct {
	conn net.Conn
	mu   sync.Mutex
	enc  *gob.Encoder
	out  *bufio.Writer
	dec  *gob.Decoder
}

// A patient connection is given up when nothing moves for Silence, however long a message takes.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(Silence))
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	p.SetWriteDeadline(time.Now().Add(Silence))
	return p.Conn.Write(b)
}

func newConn(c net.Conn) *Conn {
	c = patient{c}
	out := bufio.NewWriter(c)
	return &Conn{conn: c, enc: gob.NewEncoder(out), out: out, dec: gob.NewDecoder(bufio.NewReader(c))}
}

// Send sends a message.
func (c *Conn) Send(m *Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.enc.Encode(m); err != nil {
		return err
	}
	return c.out.Flush()
}

// ErrSilent is wrapped by the error of Receive if nothing comes for Silence.
var ErrSilent = errors.New("silent for " + Silence.String())

// Receive returns the next message.
func (c *Conn) Receive() (*Message, error) {
	m := new(Message)
	if err := c.dec.Decode(m); err != nil {
		if probe.IsTimeout(err) {
			err = ErrSilent
		}
		return nil, err
	}
	return m, nil
}

// Close ends the session.
func (c *Conn) Close() error { return c.conn.Close() }

// LocalHost is the address of this machine that the peer sees.
func (c *Conn) LocalHost() string {
	host, _, _ := net.SplitHostPort(c.conn.LocalAddr().String())
	return host
}

// Dial opens a session with an agent. dial makes the connection, nil means TCP.
func Dial(ctx context.Context, addr, version string, key *Key, dial func(ctx context.Context) (net.Conn, error)) (*Conn, *Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*Silence)
	defer cancel()
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
	}
	raw, err := dial(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("dial agent %s: %w (consider: whether dyno agent runs there)", addr, err)
	}
	secure := tls.Client(raw, key.config())
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		cure := "the same token on both sides"
		if ctx.Err() != nil {
			cure = "whether the network to it is up"
		}
		return nil, nil, fmt.Errorf("dial agent %s: %w (consider: %s)", addr, err, cure)
	}
	c := newConn(secure)
	w, err := c.hello(version)
	if err != nil {
		c.Close()
		return nil, nil, fmt.Errorf("dial agent %s: %w", addr, err)
	}
	return c, w, nil
}

// A RefusedError says why an agent serves no coordinator of this kind, for example one of another version.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func (c *Conn) hello(version string) (*Welcome, error) {
	if err := c.Send(&Message{Hello: &Hello{version}}); err != nil {
		return nil, err
	}
	m, err := c.Receive()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w (consider: the same token on both sides)", err)
	case m.Refused != "":
		return nil, &RefusedError{m.Refused}
	case m.Welcome == nil:
		return nil, errors.New("it is no agent of dyno")
	}
	return m.Welcome, nil
}

// Accept is the agent's side of Dial, on a connection of Listen.
func Accept(c net.Conn, version string, m dyno.Machine) (*Conn, error) {
	conn := newConn(c)
	first, err := conn.Receive()
	if err != nil {
		return nil, err
	}
	if first.Hello == nil {
		return nil, errors.New("no hello")
	}
	if theirs := first.Hello.Version; theirs != version {
		why := fmt.Sprintf("the agent is dyno %s, this is dyno %s (consider: the same executable everywhere)", version, theirs)
		return nil, errors.Join(errors.New(why), conn.Send(&Message{Refused: why}))
	}
	return conn, conn.Send(&Message{Welcome: &Welcome{version, m}})
}
