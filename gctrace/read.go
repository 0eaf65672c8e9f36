package gctrace

import (
	"bytes"
	"errors"
	"io"
	"math"
)

// A TraceText says what a text was made of, besides collections.
type Text struct {
	Bytes, Lines int64
	Cycles       int64   // gc lines, those put together again included
	Torn         int64   // of these, lines that log text had cut into and that were put together again
	Guessed      int64   // of these, lines with a number that digits of the log may follow: the likeliest was taken
	Lost         int64   // beginnings of gc lines whose rest did not come
	Pacer        int64   // lines of gcpacertrace=1
	Scan         int64   // lines of gctrace=2
	Scavenger    int64   // lines of the scavenger, which up to Go 1.15 came with gctrace=1 and since with scavtrace=1
	Scavenged    float64 // bytes that those say were returned to the system
}

const (
	readSize = 256 << 10 // bytes read at once
	lineMost = 1 << 10   // bytes of a longer line in whose end a gc line may still be found
)

// ReadTrace reads the collections from a log file of any size in little memory,
// and calls each with them, in order, and with the text of their lines, which
// holds until each returns. Log text may come before a gc line and between any
// two of its pieces: a file does not say where one write ended and the next
// began, but what the runtime prints can only go on in one way (see mender). It
// reads what programs of Go 1.5 and later print. The error is r's.
func Read(r io.Reader, each func(c *Cycle, line []byte)) (Text, error) {
	return readTrace(r, each, make([]byte, readSize))
}

// readTrace is ReadTrace with a buffer of more than lineMost bytes.
func readTrace(r io.Reader, each func(c *Cycle, line []byte), buf []byte) (Text, error) {
	s := &traceReader{each: each}
	have, long := 0, false
	for {
		n, err := r.Read(buf[have:])
		s.Bytes += int64(n)
		have += n
		at := 0
		for {
			i := bytes.IndexByte(buf[at:have], '\n')
			if i < 0 {
				break
			}
			s.Lines++
			s.line(buf[at:at+i+1], long)
			at += i + 1
			long = false
		}
		if at == 0 && have == len(buf) { // no line of ours, but it may begin and end with one
			at = len(buf) - lineMost
			c := buf[at]
			buf[at] = '\n'
			s.line(buf[:at+1], long)
			buf[at], long = c, true
		}
		have = copy(buf, buf[at:have])
		if err == nil {
			continue
		}
		if have > 0 {
			s.Lines++
			buf[have] = '\n' // there is room: have is less than the size, or at most lineMost
			s.line(buf[:have+1], long)
		}
		s.emit()
		s.Lost = s.mend.lost()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return s.Text, err
	}
}

// A traceReader is ReadTrace between two lines.
type traceReader struct {
	Text
	each func(*Cycle, []byte)
	pace pace
	mend mender

	held     Cycle  // complete but for forcedMark, which may still come
	heldLine []byte // its text; empty if none is held
	heldFor  int    // lines
}

// heldMost is how many lines forcedMark is awaited.
const heldMost = 64

const forcedMark = " (forced)"

// line takes a line, with its newline. inside says that it is not the beginning
// of one.
func (s *traceReader) line(p []byte, inside bool) {
	if n := len(p); n > 1 && p[n-2] == '\r' { // as other systems' tools write it
		p[n-2], p = '\n', p[:n-1]
	}
	if len(s.heldLine) > 0 && s.forced(p) {
		return
	}
	switch {
	case inside:
	case bytes.HasPrefix(p, []byte("gc ")):
		if c, ok := s.pace.read(p); ok {
			s.found(&c, p)
			return
		}
	case bytes.HasPrefix(p, []byte("pacer: ")):
		s.Pacer++
		if bytes.Contains(p, []byte("% CPU (")) {
			s.pace.parse(p)
		}
		return
	case bytes.HasPrefix(p, []byte("scav ")), bytes.HasPrefix(p, []byte("scvg")):
		if released, ok := scavenged(p); ok {
			s.Scavenger++
			s.Scavenged += released
			return
		}
	case bytes.HasPrefix(p, []byte("scan: ")):
		s.Scan++
		return
	}
	s.other(p)
}

// other takes a line that is not wholly one of the runtime's.
func (s *traceReader) other(p []byte) {
	if s.mend.waiting() {
		s.mend.now = s.Bytes
		if s.mended(s.mend.rest(p)) {
			return
		}
	}
	for from := 0; ; {
		i := bytes.Index(p[from:], []byte("gc "))
		if i < 0 {
			return
		}
		from += i
		if from > 0 { // log text without a newline, or a time stamp, was before it
			if c, ok := s.pace.read(p[from:]); ok {
				s.found(&c, p[from:])
				return
			}
		}
		s.mend.now = s.Bytes
		if s.mended(s.mend.begin(p, from)) {
			return
		}
		from += len("gc ")
	}
}

// found passes a cycle on.
func (s *traceReader) found(c *Cycle, line []byte) {
	s.emit()
	s.Cycles++
	s.mend.last = *c
	s.each(c, line)
}

// clearly is how much further than the likeliest line another one must be, for
// there to be no doubt.
const clearly = 6

// mended takes the likeliest of some lines that were put together, if any is
// one. whole says that nothing more can come of it.
func (s *traceReader) mended(lines []mended, whole bool) bool {
	var best Cycle
	var text []byte
	least, second := math.Inf(1), math.Inf(1)
	for _, l := range lines {
		p := s.pace
		c, ok := p.read(l.text)
		if !ok || c == best {
			continue
		}
		switch d := s.mend.distance(&c) + l.odd; {
		case d < least:
			best, text, least, second = c, l.text, d, least
		case d < second:
			second = d
		}
	}
	if text == nil {
		return false
	}
	s.emit()
	s.pace = pace{}
	s.Cycles++
	s.Torn++
	if second < least+clearly {
		s.Guessed++
	}
	s.mend.last = best
	s.held, s.heldLine, s.heldFor = best, append(s.heldLine[:0], text...), 0
	s.mend.reset()
	if whole {
		s.emit()
	}
	return true
}

// forced looks whether p is what is left of the line that is held, and passes
// that on when nothing more is to come.
func (s *traceReader) forced(p []byte) bool {
	switch string(p) {
	case forcedMark + "\n":
		s.held.Forced = true
		s.heldLine = append(s.heldLine[:len(s.heldLine)-1], p...)
		s.emit()
		return true
	case "\n":
		s.emit()
		return true
	}
	if s.heldFor++; s.heldFor > heldMost {
		s.emit()
	}
	return false
}

func (s *traceReader) emit() {
	if len(s.heldLine) > 0 {
		s.each(&s.held, s.heldLine)
		s.heldLine = s.heldLine[:0]
	}
}

// scavenged reads a line of the scavenger: how many bytes it returned to the
// system. From runtime/mheap.go (mHeap_Scavenge) of Go 1.5 to 1.12, in MiB, and
// runtime/mgcscavenge.go (bgscavenge, printScavTrace) since.
func scavenged(p []byte) (released float64, ok bool) {
	c := cursor{p: p}
	if c.has("scvg") {
		c.has("-")
		if !c.has(": ") {
			c.num()
			c.lit(": ")
		}
		if c.has("inuse: ") {
			return 0, !c.bad
		}
		released = c.num() * (1 << 20)
		c.lit(" MB released\n")
		return released, !c.bad
	}
	c.lit("scav ")
	released = c.num()
	if c.has(" ") && !c.has("KiB work") { // it was the scavenger's generation, as Go 1.14 to 1.18 tell it
		released = c.num()
		c.lit(" KiB work")
	}
	if c.has(" (bg), ") {
		released += c.num()
		c.lit(" KiB work (eager)")
	}
	c.lit(", ")
	return released * (1 << 10), !c.bad
}
