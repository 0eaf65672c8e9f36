package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A backend answers after a wait, over connections of the loopback interface,
// as a database would: who waits for it is parked in the network poller.
type backend struct {
	ln   net.Listener
	wait time.Duration
	live sync.WaitGroup // goroutines
	done chan struct{}  // closed with the backend, under mu

	mu   sync.Mutex
	idle []net.Conn            // of those that ask
	open map[net.Conn]struct{} // both ends
}

func newBackend(wait time.Duration) (*backend, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backend{ln: ln, wait: wait, done: make(chan struct{}), open: make(map[net.Conn]struct{})}
	b.live.Add(1)
	go b.accept()
	return b, nil
}

// Close ends the backend's connections, and with them all waits. It is called once.
func (b *backend) Close() error {
	err := b.ln.Close()
	b.mu.Lock()
	close(b.done)
	for c := range b.open {
		c.Close()
	}
	b.mu.Unlock()
	b.live.Wait()
	return err
}

// work asks the backend. What it would sort with does not matter to a wait.
func (b *backend) work(int) ([]byte, error) {
	c, err := b.take()
	if err != nil {
		return nil, err
	}
	var answer [1]byte
	if _, err = c.Write(answer[:]); err == nil {
		_, err = io.ReadFull(c, answer[:])
	}
	if err != nil {
		b.drop(c)
		return nil, err
	}
	b.mu.Lock()
	b.idle = append(b.idle, c)
	b.mu.Unlock()
	return []byte(`{"waited":true}`), nil
}

// take returns an idle connection, or else a new one.
func (b *backend) take() (net.Conn, error) {
	b.mu.Lock()
	if last := len(b.idle) - 1; last >= 0 {
		c := b.idle[last]
		b.idle = b.idle[:last]
		b.mu.Unlock()
		return c, nil
	}
	b.mu.Unlock()
	c, err := net.Dial("tcp", b.ln.Addr().String())
	if err != nil {
		return nil, err
	}
	if !b.keep(c) {
		return nil, errors.New("the backend is closed")
	}
	return c, nil
}

// keep has the connection closed with the backend; it reports false, and closes
// it, if the backend is closed already.
func (b *backend) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.done:
		c.Close()
		return false
	default:
	}
	b.open[c] = struct{}{}
	return true
}

func (b *backend) drop(c net.Conn) {
	c.Close()
	b.mu.Lock()
	delete(b.open, c)
	b.mu.Unlock()
}

func (b *backend) accept() {
	defer b.live.Done()
	for {
		c, err := b.ln.Accept()
		if err != nil {
			return
		}
		if !b.keep(c) {
			return
		}
		b.live.Add(1)
		go b.serve(c)
	}
}

// serve answers each byte with a byte, after the wait.
func (b *backend) serve(c net.Conn) {
	defer b.live.Done()
	defer b.drop(c)
	var question [1]byte
	for {
		if _, err := io.ReadFull(c, question[:]); err != nil {
			return
		}
		select {
		case <-time.After(b.wait):
		case <-b.done:
			return
		}
		if _, err := c.Write(question[:]); err != nil {
			return
		}
	}
}
