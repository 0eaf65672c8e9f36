package gctrace

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"
)

// LogLimit is the number of bytes of log that a Splitter passes on. It drops and counts the rest, except for
// the end.
const LogLimit = 64 << 20

const (
	lastSize    = 64 << 10 // bytes of log kept in memory
	untakenMost = 1 << 16  // cycles kept if no one takes them
	bufferSize  = 32 << 10 // bytes of trace lines written at once
)

// A Splitter is an io.Writer for a Go program's standard error. It parts the runtime's trace
// of collections (GODEBUG=gctrace=1, gcpacertrace=1) from the program's log.
//
// The runtime writes a line in some 44 pieces, and the program's log text may come between
// them. If each Write is one write(2), as from a pipe in packet mode (pipe2 with O_DIRECT), all
// lines are put together again and nothing is taken from the log. Only a log write that is
// itself the next piece, such as a lone "+", is mistaken, and exchanged for its like.
//
// If writes are merged or cut, whole lines are still found, and torn lines where the tear is
// sure; other pieces go to the log. No byte is lost or comes twice.
//
// Write never fails, so that a full disk does not block the program; Close says what went
// wrong. Any goroutine may call the methods.
type Splitter struct {
	mu      sync.Mutex
	log     io.Writer
	also    func(log []byte) // may be nil
	trace   io.Writer
	err     error  // the first of log and trace
	out     []byte // trace lines that are not written yet
	left    int64  // bytes of log that are still passed on
	dropped int64  // bytes
	last    []byte // what the log ended with, lastSize bytes or more

	lines  assembler
	paced  pace    // what the pacer said of the cycle under way
	cycles []Cycle // not taken yet
}

// NewSplitter returns a Splitter that writes trace lines, buffered, to trace and all other text
// to log. Close it when the program has ended.
func NewSplitter(log, trace io.Writer) *Splitter {
	s := &Splitter{log: log, trace: trace, left: LogLimit}
	s.lines = assembler{grammar: current, log: s.writeLog, done: s.finish}
	return s
}

// Also passes the log to f, too, in parts, and beyond LogLimit. f must neither keep the slice nor call the Splitter. Call Also before the first
// Write.
func (s *Splitter) Also(f func(log []byte)) { s.also = f }

// Write always returns len(p) and nil.
func (s *Splitter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.write(p)
	return len(p), nil
}

func (s *Splitter) finish(line []byte, _ bool) {
	if len(s.out)+len(line) > bufferSize {
		s.flush()
	}
	s.out = append(s.out, line...)
	if c, ok := s.paced.parse(line); ok {
		if len(s.cycles) == untakenMost {
			s.cycles = append(s.cycles[:0], s.cycles[untakenMost/2:]...)
		}
		c.At = time.Now()
		s.cycles = append(s.cycles, c)
	}
}

// Take appends the cycles that completed since the last call, the last 32,768 at least. A
// program cannot complete more within a second.
func (s *Splitter) Take(into []Cycle) []Cycle {
	s.mu.Lock()
	defer s.mu.Unlock()
	into = append(into, s.cycles...)
	s.cycles = s.cycles[:0]
	return into
}

func (s *Splitter) flush() {
	if len(s.out) > 0 {
		_, err := s.trace.Write(s.out)
		s.err = cmp.Or(s.err, err)
	}
	s.out = s.out[:0]
}

func (s *Splitter) writeLog(p []byte) {
	if s.also != nil {
		s.also(p)
	}
	if len(s.last) > 2*lastSize {
		s.last = append(s.last[:0], s.last[len(s.last)-lastSize:]...)
	}
	s.last = append(s.last, p[max(0, len(p)-lastSize):]...)
	n := min(int64(len(p)), s.left)
	if n > 0 {
		_, err := s.log.Write(p[:n])
		s.err = cmp.Or(s.err, err)
		s.left -= n
	}
	s.dropped += int64(len(p)) - n
}

// Close passes on the rest: an unfinished line and, if the log is over its limit, a note of how
// much is missing and the last 64 KiB. It returns the first error of log or trace, and closes
// neither.
func (s *Splitter) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.abandon()
	s.flush()
	if s.dropped > 0 {
		end := s.last[max(0, int64(len(s.last))-min(lastSize, s.dropped)):]
		_, err := fmt.Fprintf(s.log, "\n[dyno: %d bytes of log left out here]\n%s", s.dropped-int64(len(end)), end)
		s.err = cmp.Or(s.err, err)
		s.dropped = 0
	}
	return s.err
}
