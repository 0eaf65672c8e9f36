package gctrace

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// A mender puts gc lines together again that log text had cut into, in a file:
// a line of it may be the beginning of a gc line and then of the log, and the
// next, or a later one, what follows in the gc line.
//
// The pieces of a gc line have one order, and each begins another way than the
// one before, so where the line goes on is seldom in doubt. Where it was cut is,
// if the log text could be of the line too, as digits after a number. So every
// place where it may have been cut is kept as a head, and what completes a head
// decides. The runtime rounds times to a few forms of fixed length, which
// leaves a choice only for whole numbers; there the cycle that is closest to
// the one before is taken.
//
// Note: a Trace, which is told write by write, needs none of this. It guesses
// nothing, and so gives up some 3 % of torn lines where writes are merged.
type mender struct {
	heads  [][]head // by the piece that must come next
	active []int    // for which there are heads
	last   Cycle    // the cycle before
	now    int64    // bytes of text up to the line in hand

	begun, ended int64 // beginnings that are surely a gc line's; and of them those that were completed
}

// A head is the beginning of a gc line, if it was cut off there.
type head struct {
	text  []byte // whole pieces
	since int64  // bytes of text before it
	cut   int    // where in its last line it ends
	deep  int    // how often it was cut before
	odd   float64
	sure  bool
}

// A mended line is complete. odd is how unlikely it was cut so, in the measure
// of distance.
type mended struct {
	text []byte
	odd  float64
}

// How unlikely it is that log text begins with digits, and that digits before
// what goes on as a date or a time are not of it.
const (
	oddDigits = 1
	oddDate   = 2
)

const (
	headsMost = 16 // for one piece that may come next
	surely    = 4  // pieces that only a gc line begins with
	doubtful  = 2  // pieces, one after the other, that are no gc line after other text
)

// A form is how the runtime prints a number.
type form uint8

const (
	formNone   form = iota
	formCount       // a whole number
	formSecond      // three decimals
	formMilli       // two digits that count, at most three decimals; whole from 10 on (runtime/mgc.go, fmtNSAsMS)
)

// forms are those of the pieces of a gc line; it ends with lastPiece, after
// which only " (forced)" may come.
var forms, lastPiece = formsOf(anyAge)

func formsOf(grammar pieces) ([]form, int) {
	fs := make([]form, len(grammar))
	times := false
	for i, p := range grammar {
		switch {
		case p.lit == " P":
			return fs, i
		case p.lit != "":
			times = times && p.lit != " ms cpu, " || p.lit == ": "
		case grammar[i-1].lit == " @":
			fs[i] = formSecond
		case times:
			fs[i] = formMilli
		default:
			fs[i] = formCount
		}
	}
	panic("probe: no end of a gc line")
}

// fits reports whether the runtime prints a number so.
func (f form) fits(s []byte) bool {
	whole, frac, point := bytes.Cut(s, []byte("."))
	if digits(whole) != len(whole) || digits(frac) != len(frac) || len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	switch f {
	case formCount:
		return !point
	case formSecond:
		return len(frac) == 3
	}
	switch {
	case !point:
		return len(whole) > 1 || whole[0] == '0'
	case len(whole) > 1:
		return false
	case whole[0] != '0':
		return len(frac) == 1
	}
	return len(frac) == 2 && frac[0] != '0' || len(frac) == 3 && frac[0] == '0' && string(frac) != "000"
}

func (m *mender) waiting() bool { return len(m.active) > 0 }

// lost is how many lines began and did not go on.
func (m *mender) lost() int64 { return max(0, m.begun-m.ended) }

// reset forgets the heads, one of which was completed.
func (m *mender) reset() {
	sure := false
	for _, at := range m.active {
		for _, h := range m.heads[at] {
			sure = sure || h.sure
		}
		m.heads[at] = m.heads[at][:0]
	}
	m.active = m.active[:0]
	if sure {
		m.ended++
	}
}

func (m *mender) add(at int, h head) {
	if m.heads == nil {
		m.heads = make([][]head, lastPiece+1)
	}
	hs := m.heads[at]
	for i := range hs {
		if bytes.Equal(hs[i].text, h.text) {
			hs[i].since, hs[i].cut = h.since, h.cut
			return
		}
	}
	if len(hs) == 0 {
		m.active = append(m.active, at)
	}
	if len(hs) == headsMost { // one that was cut as often makes room
		i := slices.IndexFunc(hs, func(o head) bool { return o.deep >= h.deep })
		if i < 0 {
			return
		}
		hs = slices.Delete(hs, i, i+1)
	}
	m.heads[at] = append(hs, h)
}

// begin takes a line in which a gc line begins at from, but does not end. It
// returns the gc lines that it may be all the same; whole says that nothing
// more can come of them.
func (m *mender) begin(p []byte, from int) (lines []mended, whole bool) {
	f := anyAge.follow(0, p[from:], nil)
	if from > 0 && f.pieces <= doubtful {
		return nil, false
	}
	h := head{since: m.now, sure: f.pieces >= surely}
	if h.sure {
		m.begun++
	}
	if text := m.grow(h, 0, p, from); text != nil {
		return []mended{{text: text}}, false
	}
	return m.tails(p, from), true
}

// grow keeps a head for every place where the line that goes on in p at from
// may have been cut off. If all of it is there but its end, it is returned.
func (m *mender) grow(h head, at int, p []byte, from int) []byte {
	text := slices.Concat(h.text, p[from:min(len(p), from+lineMost)])
	done := len(h.text)
	base := from - done
	for {
		size, here, _ := anyAge.step(at, text[done:])
		if size == 0 || here > lastPiece {
			return nil
		}
		at = here + 1
		keep := func(n int, odd float64) {
			next := h
			next.text, next.cut, next.odd = text[:n:n], base+n, h.odd+odd
			m.add(at, next)
		}
		odd, fits, part := 0.0, true, false
		if f, num := forms[here], text[done:done+size]; f != formNone {
			fits = f.fits(num)
			if rest := text[done+size:]; len(rest) > 1 && strings.IndexByte("/-:.", rest[0]) >= 0 && digits(rest[1:2]) == 1 {
				odd = oddDate
			}
			for k := 1; k < size && !(fits && bytes.IndexByte(num, '.') > 0); k++ {
				if f.fits(num[:k]) && num[k] != '.' {
					keep(done+k, oddDigits)
					part = true
				}
			}
		}
		done += size
		if here == lastPiece {
			end := "\n"
			if rest := string(text[done:]); strings.HasPrefix(rest, forcedMark) || strings.HasSuffix(rest, forcedMark+"\n") {
				end = forcedMark + end
			}
			return append(text[:done:done], end...)
		}
		if fits || !part {
			keep(done, odd)
		}
	}
}

// rest takes a line that may go on with a head, as begin does.
func (m *mender) rest(p []byte) (lines []mended, whole bool) {
	m.expire()
	var goesOn []int
	for _, at := range m.active {
		if size, _, _ := anyAge.step(at, p); size == 0 {
			continue
		}
		if f := anyAge.follow(at, p, nil); f.outcome == full && f.n == len(p) {
			for _, h := range m.heads[at] {
				lines = append(lines, mended{slices.Concat(h.text, p), h.odd})
			}
		}
		goesOn = append(goesOn, at)
	}
	if lines != nil {
		return lines, true
	}
	if lines = m.tails(p, -1); lines != nil {
		return lines, true
	}
	for _, at := range goesOn {
		for _, h := range slices.Clone(m.heads[at]) {
			h.deep++
			h.odd += oddDigits // or another piece
			h.since = m.now
			if text := m.grow(h, at, p, 0); text != nil {
				lines = append(lines, mended{text, h.odd})
			}
		}
	}
	return lines, false
}

// tails looks for the end of a gc line after log text that lacks a newline. If
// from is not negative, the heads that end after it are of this line.
func (m *mender) tails(p []byte, from int) (lines []mended) {
	if !ends(p) || len(p) > lineMost {
		return nil
	}
	for i := 1; i < len(p); i++ {
		for _, at := range m.active {
			size, here, _ := anyAge.step(at, p[i:])
			if size == 0 || forms[here] != formNone && !forms[here].fits(p[i:i+size]) {
				continue
			}
			if f := anyAge.follow(at, p[i:], nil); f.outcome != full || f.n != len(p)-i || f.pieces < 2 {
				continue
			}
			for _, h := range m.heads[at] {
				if from >= 0 && h.since == m.now && h.cut >= i {
					continue
				}
				odd := h.odd
				if forms[here] != formNone && (digits(p[i-1:i]) == 1 || p[i-1] == '.') {
					odd += oddDigits
				}
				lines = append(lines, mended{slices.Concat(h.text, p[i:]), odd})
			}
		}
	}
	return lines
}

// expire drops the heads that waited too long.
func (m *mender) expire() {
	m.active = slices.DeleteFunc(m.active, func(at int) bool {
		m.heads[at] = slices.DeleteFunc(m.heads[at], func(h head) bool { return m.now-h.since > patience })
		return len(m.heads[at]) == 0
	})
}

// distance is how far a cycle is from one that would follow the last: the sum
// of the logarithms of what its figures are a multiple of, and much more where
// it cannot follow.
func (m *mender) distance(c *Cycle) float64 {
	const impossible = 100
	l, d := &m.last, 0.0
	if l.N > 0 && c.N != l.N+1 {
		d += impossible
	}
	if c.Start < l.Start || c.HeapEnd < c.HeapStart || c.Percent > 100 {
		d += impossible
	}
	if l.Procs > 0 && c.Procs != l.Procs {
		d += impossible
	}
	for _, q := range []struct{ cpu, clock float64 }{{c.SweepTermCPU, c.SweepTerm}, {c.MarkTermCPU, c.MarkTerm}} {
		if most := q.clock * float64(c.Procs); q.cpu > most { // up to Go 1.7 it may be less
			d += far(q.cpu, most, 1e-4)
		}
	}
	if l.N == 0 { // there is none before
		return d
	}
	for _, q := range []struct{ a, b, unit float64 }{
		{c.Percent, l.Percent, 1},
		{c.SweepTerm, l.SweepTerm, 1e-4}, {c.Mark, l.Mark, 1e-3}, {c.MarkTerm, l.MarkTerm, 1e-4},
		{c.Assist, l.Assist, 1e-3}, {c.Background, l.Background, 1e-3}, {c.Idle, l.Idle, 1e-3},
		{c.HeapStart, l.HeapStart, 1 << 20}, {c.HeapEnd, max(l.HeapEnd, c.HeapStart), 1 << 20}, {c.Live, l.Live, 1 << 20},
		{c.Goal, l.Goal, 1 << 20}, {c.Stacks, l.Stacks, 1 << 20}, {c.Globals, l.Globals, 1 << 20},
	} {
		d += far(q.a, q.b, q.unit)
	}
	return d
}

// far is the logarithm of the factor between a and b, in which units of either
// do not count.
func far(a, b, unit float64) float64 { return math.Abs(math.Log((a + unit) / (b + unit))) }
