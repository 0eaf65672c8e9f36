package engine

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A readTimer cancels a net/http request when the service is silent for too long;
// net/http has no such limit. A nil readTimer does nothing.
type readTimer struct {
	limit   time.Duration
	timer   *time.Timer
	expired atomic.Bool
	r       io.Reader
}

// withReadTimer returns q, or a copy that starts the timer when it is written or
// when TLS waits for the service.
func withReadTimer(q *http.Request, limit time.Duration, cancel context.CancelFunc) (*http.Request, *readTimer) {
	if limit == 0 {
		return q, nil
	}
	t := &readTimer{limit: limit}
	t.timer = time.AfterFunc(never, func() { t.expired.Store(true); cancel() })
	trace := &httptrace.ClientTrace{
		TLSHandshakeStart: t.restart,
		TLSHandshakeDone:  func(tls.ConnectionState, error) { t.timer.Reset(never) },
		WroteRequest:      func(httptrace.WroteRequestInfo) { t.restart() },
	}
	return q.WithContext(httptrace.WithClientTrace(q.Context(), trace)), t
}

const never = 1 << 62

func (t *readTimer) restart() {
	if t != nil {
		t.timer.Reset(t.limit)
	}
}

func (t *readTimer) stop() {
	if t != nil {
		t.timer.Stop()
	}
}

func (t *readTimer) explain(err error) error {
	if err != nil && t != nil && t.expired.Load() {
		return context.DeadlineExceeded
	}
	return err
}

func (t *readTimer) reader(r io.Reader) io.Reader {
	if t == nil {
		return r
	}
	t.r = r
	return t
}

func (t *readTimer) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.restart()
	return n, err
}
