package needs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A sought text is looked for in what a server writes, which is passed on.
type sought struct {
	text []byte
	next io.Writer

	mu    sync.Mutex
	end   []byte // of what was written before, in which the text may begin
	found bool
}

func newSought(text string, next io.Writer) *sought { return &sought{text: []byte(text), next: next} }

func (s *sought) Write(p []byte) (int, error) {
	s.mu.Lock()
	if !s.found {
		all := append(s.end, p...)
		s.found = bytes.Contains(all, s.text)
		s.end = bytes.Clone(all[max(0, len(all)-len(s.text)):])
	}
	s.mu.Unlock()
	return s.next.Write(p)
}

func (s *sought) seen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// check runs the command that tells whether a server is ready.
func (s *server) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	var said bytes.Buffer
	status, err := subject.RunTool(ctx, s.tool(s.asks, nil), nil, s.home, &said, &said)
	if err == nil && status != guard.StatusOK {
		err = errors.New(status + ": " + tail(said.String(), 500))
	}
	return err
}

// listens tells whether a server accepts connections. The proxy of a mapped port accepts them before the server does, and
// ends them at once.
func (s *server) listens(ctx context.Context) error {
	if s.box == nil || s.box.publish == "" {
		return dial(ctx, s.addr)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return err
}
