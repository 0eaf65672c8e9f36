package cluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/agent"
	"github.com/dynolab/dyno/internal/lab/cluster/conform"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/subject/guard"
)

var alone func() // serves as an agent, in a process that is one

func TestMain(m *testing.M) {
	guard.Main()
	if alone != nil {
		alone()
	}
	if os.Getenv(fakes) != "" {
		serveFakes()
	}
	os.Exit(m.Run())
}

func subject(t *testing.T) dyno.Subject {
	dir, err := filepath.Abs("conform/testdata/subject")
	if err != nil {
		t.Fatal(err)
	}
	return dyno.Subject{Package: dir, Dir: dir}
}

func program(t *testing.T) string {
	dir, err := filepath.Abs("conform/testdata/load")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLocal(t *testing.T) {
	conform.Run(t, conform.Placement{Subject: subject(t), Program: program(t), Open: func(t *testing.T) (*lab.Lab, func() error) {
		l, release, err := lab.Open("")
		if err != nil {
			t.Fatal(err)
		}
		return l, release
	}})
}

const token = "a token of the tests"

func key(t *testing.T, token string) *wire.Key {
	k, err := wire.TokenKey(token)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// start starts an agent in this process; stop is called by the test's end, too.
func start(t *testing.T, version string) (addr string, stop func()) {
	l, err := key(t, token).Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	a := agent.Agent{Version: version, Log: slog.New(slog.DiscardHandler)}
	go func() { served <- a.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		cancel()
		if !stopped {
			<-served
		}
		stopped = true
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func fleet(t *testing.T, addrs ...string) *cluster.Fleet {
	f := &cluster.Fleet{Version: "v1", Key: key(t, token), Late: 5 * time.Second} // a busy machine is no fault of theirs
	for _, addr := range addrs {
		f.Members = append(f.Members, cluster.Member{Name: addr})
	}
	return f
}

func open(t *testing.T, f *cluster.Fleet) (*lab.Lab, func() error) {
	l, release, err := cluster.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return l, release
}

func TestAgents(t *testing.T) {
	var addrs []string
	for range 4 {
		addr, _ := start(t, "v1")
		addrs = append(addrs, addr)
	}
	conform.Run(t, conform.Placement{
		Subject: subject(t), Program: program(t), On: dyno.On{Agents: addrs},
		Open: func(t *testing.T) (*lab.Lab, func() error) { return open(t, fleet(t, addrs...)) },
	})
}

// Who has another token or another version is refused, and told so.
func TestStrangers(t *testing.T) {
	addr, _ := start(t, "v1")
	for _, c := range []struct {
		version, token, want string
	}{
		{"v2", token, "the agent is dyno v1, this is dyno v2 (consider: the same executable everywhere)"},
		{"v1", "another token of tests", "another key"},
	} {
		f := fleet(t, addr)
		f.Version, f.Key = c.version, key(t, c.token)
		if _, _, err := cluster.Open(t.Context(), f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c, err, c.want)
		}
	}
	if _, err := wire.TokenKey("short"); err == nil {
		t.Error("a short token is taken")
	}
	_, _, err := cluster.Open(t.Context(), fleet(t, "127.0.0.1:1"))
	if err == nil || !strings.Contains(err.Error(), "(consider: whether dyno agent runs there)") {
		t.Errorf("no agent there: %v", err)
	}
}

// A trial whose agent is lost, dead or mute, is void within seconds, and measured again.
func TestLostAgent(t *testing.T) {
	for _, mute := range []bool{false, true} {
		first, _ := start(t, "v1")
		second, stop := start(t, "v1")
		link := newLink(t, second)
		if mute {
			stop = func() { link.cut.Store(true) }
		}
		l, release := open(t, fleet(t, first, link.addr))
		e := &dyno.Experiment{
			Subject: subject(t), Repeats: 1,
			Load: dyno.Load{Concurrency: 2, Duration: dyno.Duration(20 * time.Second)},
		}
		e.Subject.Env = map[string]string{"LISTEN": "{{.Addr}}"}
		if err := l.PrepareAll(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		l.Dir = func(int) (string, error) { return t.TempDir(), nil }
		var void []string
		var last time.Time
		var wait time.Duration
		l.Void = func(r *dyno.Result, again bool) {
			void = append(void, r.Err)
			if wait == 0 {
				wait = time.Since(last)
			}
		}
		time.AfterFunc(2*time.Second, func() { last = time.Now(); stop() })
		var got *dyno.Result
		err := l.Run(t.Context(), e, func(r *dyno.Result) error { got = r; return nil })
		if alike := (*lab.AlikeError)(nil); err != nil && !errors.As(err, &alike) {
			t.Fatal(err)
		}
		if len(void) != 3 || !got.Void || !strings.Contains(void[0], "agent "+link.addr+" was lost") {
			t.Errorf("mute %v: void %q, result %q", mute, void, got.Err)
		}
		if wait > 2*wire.Silence {
			t.Errorf("mute %v: it was told after %v", mute, wait)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}

// A link passes bytes on to an agent until it is cut, and then none.
type link struct {
	addr string
	cut  atomic.Bool
}

func newLink(t *testing.T, to string) *link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	k := &link{addr: l.Addr().String()}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			go k.pass(from, there)
			go k.pass(there, from)
		}
	}()
	return k
}

func (k *link) pass(to io.WriteCloser, from io.Reader) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if k.cut.Load() {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
