package main

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"time"
)

// What busy services do with memory, none of which leaks.
type healthy struct {
	batch   [][]byte      // since the last flush
	flushed [][]byte      // of the batch before
	ring    [][]byte      // the last answers, oldest at next
	next    int           //
	work    chan struct{} // of the workers
	workers int
	buffers sync.Pool
}

// gather keeps a record of every request and hands -entries of them on together.
func (s *shop) gather() {
	s.batch = append(s.batch, newEntry(time.Time{}).text)
	if len(s.batch) >= s.entries {
		s.flushed, s.batch = s.batch, nil
	}
}

// recall keeps the last -entries answers.
func (s *shop) recall() {
	if len(s.ring) < s.entries {
		s.ring = append(s.ring, newEntry(time.Time{}).text)
		return
	}
	s.ring[s.next] = newEntry(time.Time{}).text
	s.next = (s.next + 1) % s.entries
}

// hire starts a worker with a buffer of its own for one request in 8, until there
// are -entries. Workers stay.
func (s *shop) hire() {
	if s.work == nil {
		s.work = make(chan struct{})
	}
	if s.served%8 == 0 && s.workers < s.entries {
		s.workers++
		go s.serve(make([]byte, 16<<10))
	}
	select {
	case s.work <- struct{}{}:
	default:
	}
}

func (s *shop) serve(buffer []byte) {
	for range s.work {
		clear(buffer)
	}
}

// borrow takes a buffer from a pool, which grows in it, and gives it back.
func (s *shop) borrow() {
	b, _ := s.buffers.Get().(*bytes.Buffer)
	if b == nil {
		b = new(bytes.Buffer)
	}
	b.Reset()
	b.Write(make([]byte, 1<<(8+rand.IntN(11))))
	s.buffers.Put(b)
}

// reload reads the table anew every -ttl. The old one is alive until the new one is read.
func (s *shop) reload() {
	if s.table != nil && time.Since(s.began) < s.ttl {
		return
	}
	s.began = time.Now()
	s.table = newTable(s.size)
}

func newTable(size int) (t [][]byte) {
	for range size / 4096 {
		t = append(t, make([]byte, 4096))
	}
	return t
}
