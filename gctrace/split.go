package gctrace

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultLogLimit is how many bytes of log a Trace passes on, unless it is told.
const DefaultLogLimit = 64 << 20

const (
	tailSize    = 64 << 10 // bytes of log kept in memory
	patience    = 8 << 20  // bytes of log within a line, after which its rest is not awaited
	untakenMost = 1 << 16  // cycles kept for a probe that does not take them
	bufferSize  = 32 << 10 // bytes of trace lines written at once
	mendLines   = 16       // of log text inside a line, in one write, that are looked at
	plain       = 4        // bytes of half a piece that are more than chance
)

// A Trace is an io.Writer for a Go program's standard error. It parts what the
// runtime prints of its collector, under GODEBUG=gctrace=1 or gcpacertrace=1, from
// the program's log.
//
// The runtime holds a lock while it prints a line, but writes it in some 44
// pieces, and os.Stderr does not take that lock: log text comes between the
// pieces. If each Write is one write(2) of the program, as a pipe in packet
// mode gives them (pipe2 with O_DIRECT), all lines are put together again and
// nothing is taken from the log. It would take a log write that is itself the
// next piece, such as a lone "+", to be mistaken, and then it is exchanged for
// its like.
//
// Writes may also be merged or cut anywhere, as an ordinary pipe or a file
// gives them. Then whole lines are found all the same, and lines torn by log
// text where the tear can be seen for sure; pieces of others go to the log. No
// byte is lost or comes twice in either case.
//
// Write never fails, so that a full disk does not block the program; Close
// says what went wrong. The methods may be called at the same time.
type Splitter struct {
	// LogLimit is how many bytes of log are passed on; what is beyond is
	// counted and dropped, but for its end. 0 means DefaultLogLimit.
	LogLimit int64

	mu      sync.Mutex
	log     io.Writer
	trace   io.Writer
	err     error  // the first of log and trace
	out     []byte // trace lines that are not written yet
	logged  int64  // bytes
	dropped int64  // bytes
	tail    ring

	in      bool   // a line has begun
	at      int    // the piece that must come next
	line    []byte // what has come of the line
	stream  bool   // its writes are not its pieces: they are merged or cut
	carry   []byte // the end of the last write if that may be half a piece; not in line yet
	carried int    // how many bytes of the text in hand were carried
	joined  []byte // carry and the write that followed
	waited  int    // bytes of log since the line began

	paced    pace    // what the pacer said of the cycle under way
	cycles   []Cycle // not taken yet
	overruns int     // cycles dropped since no one took them
}

// NewTrace returns a Trace that writes trace lines to trace, buffered, and all
// other text to log as it comes. Close it when the program has ended.
func NewSplitter(log, trace io.Writer) *Splitter {
	return &Splitter{log: log, trace: trace}
}

// Write takes the next text of the program. It returns len(p) and nil always.
func (t *Splitter) Write(p []byte) (int, error) {
	size := len(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.carried = len(t.carry)
	if t.carried > 0 {
		t.joined = append(append(t.joined[:0], t.carry...), p...)
		p, t.carry = t.joined, t.carry[:0]
	}
	for len(p) > 0 {
		n := 0
		if t.in {
			n = t.within(p)
		} else {
			n = t.between(p)
		}
		p = p[n:]
		t.carried = max(0, t.carried-n)
	}
	return size, nil
}

// between passes on the text before the next line and returns its size.
func (t *Splitter) between(p []byte) int {
	i, _ := begin(p)
	t.writeLog(p[:i])
	if i < len(p) {
		t.in, t.at, t.line, t.stream, t.waited = true, 0, t.line[:0], false, 0
	}
	return i
}

// begin finds where a line begins in p, or may begin: where p does, since log
// text need not end in a newline, or after a newline.
func begin(p []byte) (int, match) {
	for i := 0; i < len(p); {
		if c := p[i]; c == 'g' || c == 'p' || c == 'G' {
			m := follow(0, p[i:], nil)
			ok := m.outcome != alien
			if !ok && m.pieces > 0 { // a line with log text in it?
				_, _, e := mend(p[i:], m, true)
				ok = e > 0
			}
			if ok {
				return i, m
			}
		}
		j := bytes.IndexByte(p[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
	}
	return len(p), match{}
}

// within takes text that comes after a line began and returns how much it took.
func (t *Splitter) within(p []byte) int {
	m := follow(t.at, p, nil)
	if m.pieces > 1 && m.nums > 0 && m.outcome != alien {
		t.stream = true
	}
	switch {
	case m.outcome == full:
		t.line = append(t.line, p[:m.n]...)
		t.finish()
		return m.n
	case m.outcome == whole && t.stream && m.num >= 0: // its next digits may follow
		t.keep(p[:m.num], m.numAt)
		t.carry = append(t.carry, p[m.num:]...)
		return len(p)
	case m.outcome == whole:
		t.keep(p, m.at)
		return len(p)
	case m.outcome == part && (t.stream || t.at == 0 || len(p)-m.n >= plain):
		t.stream = true
		t.keep(p[:m.n], m.at)
		t.carry = append(t.carry, p[m.n:]...)
		return len(p)
	}
	return t.foreign(p, m)
}

// keep adds pieces to the line.
func (t *Splitter) keep(pieces []byte, at int) {
	t.line = append(t.line, pieces...)
	t.at = at
}

// foreign takes text that does not continue the line, or only for m, and
// returns how much it took.
func (t *Splitter) foreign(p []byte, m match) int {
	c := t.carried
	if c > 0 && t.at == 0 { // what was carried did not begin a line
		t.writeLog(p[:c])
		t.in = false
		return c
	}
	if half := follow(t.at, p[:c], nil); c > 0 && half.outcome == whole { // a number, and that was all of it
		t.keep(p[:c], half.at)
		return c
	}
	if c == 0 {
		if b, at, e := mend(p, m, t.stream || t.at == 0); e > 0 {
			t.stream = true
			t.keep(p[:b], at)
			t.wait(p[b:e])
			return e
		}
	}
	if i, next := begin(p[c:]); next.pieces > 1 || next.pieces > 0 && i == 0 {
		t.carry = append(t.carry, p[:c]...)
		t.abandon()
		return c
	}
	t.carry = append(t.carry, p[:c]...)
	t.wait(p[c:])
	return len(p)
}

// mend looks for log text inside merged writes: p continues the line up to b,
// where piece at must come, is log up to e, the end of a log line, and then
// continues the line again. e is 0 if there is no such place that is plain.
//
// Digits before b are the line's only if a letter follows, and then only almost
// surely: a date, 2026/01/02, is what the line may have itself. If the writes of
// the line were its pieces up to now, stream is false, more is asked for.
func mend(p []byte, m match, stream bool) (b, at, e int) {
	before, after := m.pieces, 2
	if !stream {
		before, after = 0, 6
	}
	if m.num < 0 || letter(p[m.n]) {
		if e := resume(p, m.n, m.at, before, after); e > 0 {
			return m.n, m.at, e
		}
	}
	if m.num >= 0 {
		return m.num, m.numAt, resume(p, m.num, m.numAt, 0, after)
	}
	return 0, 0, 0
}

// resume finds the newline after b from which on p continues a line, with some
// pieces after it or up to the line's end. If p ends there, four pieces before
// b are enough to believe that those were the line's.
func resume(p []byte, b, at, before, after int) int {
	e := b
	for range mendLines {
		j := bytes.IndexByte(p[e:], '\n')
		if j < 0 {
			return 0
		}
		e += j + 1
		if e == len(p) {
			if before >= 4 {
				return e
			}
			return 0
		}
		if m := follow(at, p[e:], nil); m.outcome != alien && (m.pieces >= after || m.outcome == full && after <= 2) {
			return e
		}
	}
	return 0
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '{' || c == '['
}

// wait passes on log text that came within the line, and gives the line up when
// its rest does not come.
func (t *Splitter) wait(p []byte) {
	t.writeLog(p)
	if t.waited += len(p); t.waited > patience {
		t.abandon()
	}
}

// abandon gives what came of the line to the log.
func (t *Splitter) abandon() {
	t.writeLog(t.line)
	t.writeLog(t.carry)
	t.line, t.carry, t.in = t.line[:0], t.carry[:0], false
}

// finish takes in the complete line.
func (t *Splitter) finish() {
	if len(t.out)+len(t.line) > bufferSize {
		t.flush()
	}
	t.out = append(t.out, t.line...)
	if c, ok := t.paced.parse(t.line); ok {
		if len(t.cycles) == untakenMost {
			t.overruns += untakenMost / 2
			t.cycles = append(t.cycles[:0], t.cycles[untakenMost/2:]...)
		}
		c.At = time.Now()
		t.cycles = append(t.cycles, c)
	}
	t.line, t.in = t.line[:0], false
}

// take appends the cycles that completed since the last call to into; lost is
// how many more there were.
func (t *Splitter) Take(into []Cycle) (cycles []Cycle, lost int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	into, lost = append(into, t.cycles...), t.overruns
	t.cycles, t.overruns = t.cycles[:0], 0
	return into, lost
}

func (t *Splitter) flush() {
	if len(t.out) > 0 {
		_, err := t.trace.Write(t.out)
		t.fail(err)
	}
	t.out = t.out[:0]
}

func (t *Splitter) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *Splitter) writeLog(p []byte) {
	if len(p) == 0 {
		return
	}
	t.tail.write(p)
	limit := t.LogLimit
	if limit <= 0 {
		limit = DefaultLogLimit
	}
	n := min(int64(len(p)), limit-t.logged)
	if n > 0 {
		_, err := t.log.Write(p[:n])
		t.fail(err)
		t.logged += n
	}
	t.dropped += int64(len(p)) - n
}

// Close passes on what is left: pieces of a line that did not end, and of a log
// over its limit the last 64 KiB after a note of how much is missing. It
// returns the first error of log or trace; it closes neither.
func (t *Splitter) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandon()
	t.flush()
	if t.dropped > 0 {
		end := t.tail.bytes()
		end = end[max(0, int64(len(end))-t.dropped):]
		_, err := fmt.Fprintf(t.log, "\n[dyno: %d bytes of log left out here]\n%s", t.dropped-int64(len(end)), end)
		t.fail(err)
		t.dropped = 0
	}
	return t.err
}

// A ring keeps the last tailSize bytes written to it.
type ring struct {
	buf []byte
	n   int // where the next byte goes
	all bool
}

func (r *ring) write(p []byte) {
	if r.buf == nil {
		r.buf = make([]byte, tailSize)
	}
	p = p[max(0, len(p)-tailSize):]
	for len(p) > 0 {
		n := copy(r.buf[r.n:], p)
		p = p[n:]
		if r.n += n; r.n == tailSize {
			r.n, r.all = 0, true
		}
	}
}

// bytes returns a copy of what is kept.
func (r *ring) bytes() []byte {
	var b []byte
	if r.all {
		b = append(b, r.buf[r.n:]...)
	}
	return append(b, r.buf[:r.n]...)
}
