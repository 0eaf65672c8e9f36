package gctrace

import "bytes"

const (
	mostWithin = 8 << 20 // bytes of log within a line, after which its rest is not awaited
	mendLines  = 16      // lines of log inside a line, in one write, that are looked at
	plain      = 4       // bytes of half a piece that are more than chance
	sure       = 4       // pieces that only a line of the trace begins with
)

// An assembler puts trace lines together from text in which log text may come between any
// two of their pieces. What is not sure goes to the log.
type assembler struct {
	grammar grammar
	log     func([]byte)                     // takes all other text
	done    func(line []byte, repaired bool) // takes a complete line; repaired says that log text was inside

	in      bool   // a line has begun
	at      int    // the piece that must come next
	line    []byte // what has come of the line
	stream  bool   // its writes are not its pieces: they are merged or cut
	carry   []byte // the end of the last write if that may be half a piece; not in line yet
	carried int    // how many bytes of the text in hand were carried
	joined  []byte // carry and the write that followed
	waited  int    // bytes of log since the line began
}

func (a *assembler) write(p []byte) {
	if len(p) == 0 {
		return
	}
	a.carried = len(a.carry)
	if a.carried > 0 {
		a.joined = append(append(a.joined[:0], a.carry...), p...)
		p, a.carry = a.joined, a.carry[:0]
	}
	for len(p) > 0 {
		n := 0
		if a.in {
			n = a.within(p)
		} else {
			n = a.between(p)
		}
		p = p[n:]
		a.carried = max(0, a.carried-n)
	}
}

func (a *assembler) between(p []byte) int {
	i, _ := a.grammar.begin(p)
	if i > 0 {
		a.log(p[:i])
	}
	if i < len(p) {
		a.in, a.at, a.line, a.stream, a.waited = true, 0, a.line[:0], false, 0
	}
	return i
}

// begin finds where a line begins in p, or may begin: at p's start, since log text need not
// end in a newline, or after a newline.
func (g grammar) begin(p []byte) (int, match) {
	for i := 0; i < len(p); {
		if c := p[i]; c == 'g' || c == 'p' || c == 'G' {
			m := g.follow(0, p[i:], nil)
			ok := m.outcome != alien
			if !ok && m.pieces > 0 { // a line with log text in it?
				_, _, e := g.mend(p[i:], m, true)
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

func (a *assembler) within(p []byte) int {
	m := a.grammar.follow(a.at, p, nil)
	if m.pieces > 1 && m.nums > 0 && m.outcome != alien {
		a.stream = true
	}
	switch {
	case m.outcome == full:
		a.line = append(a.line, p[:m.n]...)
		a.done(a.line, a.waited > 0)
		a.line, a.in = a.line[:0], false
		return m.n
	case m.outcome == whole && a.stream && m.num >= 0: // its next digits may follow
		a.keep(p[:m.num], m.numAt)
		a.carry = append(a.carry, p[m.num:]...)
		return len(p)
	case m.outcome == whole:
		a.keep(p, m.at)
		return len(p)
	case m.outcome == part && (a.stream || a.at == 0 || len(p)-m.n >= plain):
		a.stream = true
		a.keep(p[:m.n], m.at)
		a.carry = append(a.carry, p[m.n:]...)
		return len(p)
	}
	return a.foreign(p, m)
}

func (a *assembler) keep(pieces []byte, at int) {
	a.line = append(a.line, pieces...)
	a.at = at
}

// foreign takes text that does not continue the line, or only for m, and returns how much.
func (a *assembler) foreign(p []byte, m match) int {
	c := a.carried
	if c > 0 && a.at == 0 { // what was carried did not begin a line
		a.log(p[:c])
		a.in = false
		return c
	}
	if half := a.grammar.follow(a.at, p[:c], nil); c > 0 && half.outcome == whole { // a number, and that was all of it
		a.keep(p[:c], half.at)
		return c
	}
	if c == 0 {
		if b, at, e := a.grammar.mend(p, m, a.stream || a.at == 0); e > 0 {
			a.stream = true
			a.keep(p[:b], at)
			a.wait(p[b:e])
			return e
		}
	}
	if i, next := a.grammar.begin(p[c:]); next.pieces > 1 || next.pieces > 0 && i == 0 {
		a.carry = append(a.carry, p[:c]...)
		a.abandon()
		return c
	}
	a.carry = append(a.carry, p[:c]...)
	a.wait(p[c:])
	return len(p)
}

// mend looks for log text inside merged writes: p continues the line up to b, where piece at
// must come, is log up to e, the end of a log line, and continues the line again. e is 0 if
// no such place is plain. It asks for more if the line's writes were its pieces so far
// (stream is false).
func (g grammar) mend(p []byte, m match, stream bool) (b, at, e int) {
	before, after := m.pieces, 2
	if !stream {
		before, after = 0, 6
	}
	b = m.n
	if m.num >= 0 {
		b = endOfNumber(p, m)
	}
	if b > 0 || m.num < 0 {
		if e := g.resume(p, b, m.at, before, after); e > 0 {
			return b, m.at, e
		}
	}
	if m.num >= 0 {
		return m.num, m.numAt, g.resume(p, m.num, m.numAt, 0, after)
	}
	return 0, 0, 0
}

// endOfNumber is where the last number of m ends if log text follows it; 0 if its last digits
// may be the log's. The runtime rounds times to few forms, and a letter or a time stamp shows
// where log text begins.
func endOfNumber(p []byte, m match) int {
	if letter(p[m.n]) || stamped(p[m.n:]) {
		return m.n
	}
	num, end := p[m.num:m.n], 0
	for k := 1; k <= len(num); k++ {
		if !m.form.fits(num[:k]) || k < len(num) && num[k] == '.' {
			continue
		}
		if end > 0 {
			return 0
		}
		end = m.num + k
	}
	return end
}

// resume finds the newline after b from which p continues a line, with some pieces or to the
// line's end. If p ends before, the line must be sure to have begun.
func (g grammar) resume(p []byte, b, at, before, after int) int {
	e := b
	for range mendLines {
		j := bytes.IndexByte(p[e:], '\n')
		if j < 0 {
			j = len(p) - e - 1
		}
		e += j + 1
		if e == len(p) {
			if before >= sure {
				return e
			}
			return 0
		}
		switch m := g.follow(at, p[e:], nil); {
		case m.outcome == alien: // torn once more?
			if after <= 2 && m.pieces >= sure {
				return e
			}
		case m.pieces >= after || m.outcome == full && after <= 2:
			return e
		}
	}
	return 0
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '{' || c == '['
}

// wait passes on log text within the line, and abandons a line whose rest does not come.
func (a *assembler) wait(p []byte) {
	a.log(p)
	if a.waited += len(p); a.waited > mostWithin {
		a.abandon()
	}
}

func (a *assembler) abandon() {
	if !a.in {
		return
	}
	a.log(append(a.line, a.carry...))
	a.line, a.carry, a.in = a.line[:0], a.carry[:0], false
}
