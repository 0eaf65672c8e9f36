package load

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A silence cancels a request of net/http when the service says nothing for too
// long; net/http has no such limit. A nil silence does nothing.
type silence struct {
	limit  time.Duration
	timer  *time.Timer
	tooBad atomic.Bool
	r      io.Reader
}

// listen returns q, or a copy of it that begins the silence when it is written,
// or when the service has to say something for TLS.
func listen(q *http.Request, limit time.Duration, cancel context.CancelFunc) (*http.Request, *silence) {
	if limit == 0 {
		return q, nil
	}
	s := &silence{limit: limit}
	s.timer = time.AfterFunc(forEver, func() { s.tooBad.Store(true); cancel() })
	trace := &httptrace.ClientTrace{
		TLSHandshakeStart: s.broken,
		TLSHandshakeDone:  func(tls.ConnectionState, error) { s.timer.Reset(forEver) },
		WroteRequest:      func(httptrace.WroteRequestInfo) { s.broken() },
	}
	return q.WithContext(httptrace.WithClientTrace(q.Context(), trace)), s
}

const forEver = 1 << 62

// broken begins the time anew.
func (s *silence) broken() {
	if s != nil {
		s.timer.Reset(s.limit)
	}
}

func (s *silence) stop() {
	if s != nil {
		s.timer.Stop()
	}
}

// explain turns the error of the cancelled request into the time-out that it is.
func (s *silence) explain(err error) error {
	if err != nil && s != nil && s.tooBad.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// reader returns r, each read of which begins the time anew.
func (s *silence) reader(r io.Reader) io.Reader {
	if s == nil {
		return r
	}
	s.r = r
	return s
}

func (s *silence) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.broken()
	return n, err
}
