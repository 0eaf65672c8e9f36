//go:build linux

package main

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A request may come in parts, several at once, and its client may be gone
// when the answer is due.
func TestServer(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	s := &server{began: time.Now().Add(-time.Second), conns: make([]*conn, 1<<10)} // after the first stall
	s.conns[fds[1]] = new(conn)
	answers := func(sent string) int {
		t.Helper()
		if _, err := unix.Write(fds[0], []byte(sent)); err != nil {
			t.Fatal(err)
		}
		s.read(fds[1])
		s.flush()
		var buf [mostRequest]byte
		n, _ := unix.Read(fds[0], buf[:])
		return bytes.Count(buf[:max(n, 0)], []byte("hello world\n"))
	}
	const hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, step := range []struct {
		sent string
		want int
	}{
		{"GET /hello HTTP/1.1\r\nHost: x\r\n", 0}, {"\r\nGET /he", 1}, {"llo HTTP/1.1\r\n\r\n", 1}, // in parts
		{hello + hello + "GET /stall HTTP/1.1\r\n\r\n" + hello, 4}, // several
		{"GET /delay?us=3000000 HTTP/1.1\r\n\r\n" + "GET /delay?us=2000000 HTTP/1.1\r\n\r\n", 0},
	} {
		if got := answers(step.sent); got != step.want {
			t.Errorf("%q: %d answers, want %d", step.sent, got, step.want)
		}
	}
	if first := s.pending[s.head]; first.due-first.read != 2*time.Second {
		t.Errorf("the next answer is after %v, want the shorter delay's", first.due-first.read)
	}
	s.began = s.began.Add(-2500 * time.Millisecond) // time passes
	s.flush()
	if tr := s.truth(); tr.Requests != 8 || tr.Timed != 3 || tr.Service.Max < 2499 || tr.Service.Max > 4000 {
		t.Errorf("truth is %+v", tr)
	}
	s.close(fds[1])
	s.began = s.began.Add(-time.Second)
	s.flush()
	if len(s.service) != 2 || s.head != len(s.pending) {
		t.Errorf("%d answers and %d pending after the client has gone", len(s.service), len(s.pending)-s.head)
	}
}
