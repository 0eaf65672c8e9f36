// Package gctrace reads what a Go program prints of its garbage collector under GODEBUG=gctrace=1. A
// [Splitter] parts it from the program's log while the program runs. [Read] finds it in a log file. A [Log]
// sums it up.
package gctrace

import (
	"bytes"
	"regexp"
)

// The grammar of the runtime's trace lines, as the runtime prints them: each piece between
// bars is one write(2), "&" is a whole number, "$" seconds, "~" milliseconds, "#" any other
// number, and what is in brackets may be missing. A newline ends the line. Extra bars do no
// harm, as a packet may be several pieces.
//
// From runtime/mgc.go (gcMarkTermination), mgcpacer.go (startCycle, endCycle), mgcsweep.go
// (sweepLocker) and proc.go (forcegchelper) of Go 1.5 to 1.27. Up to 1.17 a gc line had no
// stacks and globals; Go 1.5 had five phases; up to 1.25 an integer's minus was a write of
// its own, and floats were +2.500000e-001.
//
// Only anyAge knows five phases: a program's own "+" could be taken for the optional one.
var (
	current = compile("[gc |&| @|$|s |&|%|[ (checking for goroutine leaks)]: |" +
		"~|+|~|+|~| ms clock, |~|+|~|/|~|/|~|+|~| ms cpu, |" + otherPieces)
	anyAge = compile("[gc |&| @|$|s |&|%|[ (checking for goroutine leaks)]: |" +
		"~|+|~|+|~|[+|~|+|~|] ms clock, |~|+|~|[+|~|+|~|]/|~|/|~|+|~| ms cpu, |" + otherPieces)
)

const otherPieces = "&|->|&|->|&| MB, |&| MB goal, |&|[ MB stacks, |&| MB globals, |&]| P|[ (forced)]\n]" +
	"[pacer: |" +
	"[assist ratio=|#| (scan |#| MB in |#|->|#| MB)| workers=|#|+|#|\n]" +
	"[sweep done at heap size |#|MB; allocated |#|MB |[of spans|][during sweep|]; swept |#| pages|[ at |#| pages/byte]\n]" +
	"[H_m_prev=|#| h_t=|#| H_T=|#| h_a=|#| H_a=|#| h_g=|#| H_g=|#| u_a=|#| u_g=|#| W_a=|#|" +
	" goalΔ=|#| actualΔ=|#| u_a/u_g=|#|\n]" +
	"#|% CPU (|#| exp.)| for |#|+|#|+|#| B work (|#| B exp.) |in |#| B -> |#| B (∆goal |[-]#|, cons/mark |#|)|\n]" +
	"GC forced|\n"

type grammar []piece

type piece struct {
	lit  string // what must come; "" is a number
	form form   // of a number
	alt  int    // where to look if this piece, the first of a bracket, does not come; 0 is nowhere
}

type form uint8

const (
	formAny    form = iota
	formCount       // a whole number
	formSecond      // three decimals
	formMilli       // two digits that count, at most three decimals; whole from 10 on (runtime/mgc.go, fmtNSAsMS)
)

var symbols = map[string]form{"#": formAny, "&": formCount, "$": formSecond, "~": formMilli}

func (f form) fits(s []byte) bool {
	if f == formAny {
		return true
	}
	whole, frac, point := bytes.Cut(s, []byte("."))
	if digits(whole) != len(whole) || digits(frac) != len(frac) || len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	switch {
	case f == formCount:
		return !point
	case f == formSecond:
		return len(frac) == 3
	case !point:
		return len(whole) > 1 || whole[0] == '0'
	case len(whole) > 1:
		return false
	case whole[0] != '0':
		return len(frac) == 1
	}
	return len(frac) == 2 && frac[0] != '0' || len(frac) == 3 && frac[0] == '0' && string(frac) != "000"
}

var tokens = regexp.MustCompile(`[|\[\]#&$~]|[^|\[\]#&$~]+`)

func compile(text string) grammar {
	var pieces grammar
	var open []int // first pieces of brackets not closed yet
	for _, token := range tokens.FindAllString(text, -1) {
		switch token {
		case "|":
		case "#", "&", "$", "~":
			pieces = append(pieces, piece{form: symbols[token]})
		case "[":
			open = append(open, len(pieces))
		case "]":
			pieces[open[len(open)-1]].alt = len(pieces)
			open = open[:len(open)-1]
		default:
			pieces = append(pieces, piece{lit: token})
		}
	}
	return pieces
}

type outcome uint8

const (
	whole outcome = iota // the text was used up between two pieces
	part                 // the text was used up inside a piece
	full                 // the line is complete; text may follow
	alien                // what follows is not of the line
)

type match struct {
	outcome
	n      int  // bytes of whole pieces
	at     int  // the piece that must come next
	pieces int  // how many came, not counting a minus
	nums   int  // how many of them were numbers
	num    int  // where the last piece began, if that was a number; -1 if it was none
	numAt  int  // where the grammar stood before it
	form   form // of it
}

// follow matches p from a piece on, and calls number, unless nil, with each number.
func (g grammar) follow(at int, p []byte, number func([]byte)) match {
	m := match{at: at, num: -1}
	for m.n < len(p) {
		size, here, partly := g.step(m.at, p[m.n:])
		if size == 0 {
			m.outcome = alien
			if partly {
				m.outcome = part
			}
			return m
		}
		if g[here].lit == "" {
			m.num, m.numAt, m.form = m.n, m.at, g[here].form
			m.nums++
			if number != nil {
				number(p[m.n : m.n+size])
			}
		} else {
			m.num = -1
		}
		if g[here].lit != "-" {
			m.pieces++
		}
		m.n += size
		m.at = here + 1
		if p[m.n-1] == '\n' {
			m.outcome, m.at = full, 0
			return m
		}
	}
	return m
}

// step returns which of the pieces that may come at a place p begins with, and its size; 0 if
// none, and then whether p may be the beginning of one.
func (g grammar) step(at int, p []byte) (size, here int, partly bool) {
	for {
		e := &g[at]
		if e.lit == "" {
			size = beforeStamp(p, numberLen(p))
			if rest := p[size:]; len(rest) <= 2 {
				switch string(rest) { // cut before its digits
				case "+", "-":
					partly = partly || size == 0
				case "e", "e+", "e-":
					size, partly = 0, partly || size > 0
				}
			}
		} else if len(p) >= len(e.lit) {
			if string(p[:len(e.lit)]) == e.lit {
				size = len(e.lit)
			}
		} else {
			partly = partly || e.lit[:len(p)] == string(p)
		}
		if size > 0 || e.alt == 0 {
			return size, at, partly
		}
		at = e.alt
	}
}

const longestNumber = 32

// numberLen is the length of the number at p's start, 0 if absent.
func numberLen(p []byte) int {
	i := 0
	if i < len(p) && (p[i] == '+' || p[i] == '-') {
		i++
	}
	if rest := p[i:]; bytes.HasPrefix(rest, []byte("Inf")) || bytes.HasPrefix(rest, []byte("NaN")) {
		return i + 3
	}
	first := i
	i += digits(p[i:])
	if i == first {
		return 0
	}
	if i < len(p) && p[i] == '.' {
		i += 1 + digits(p[i+1:])
	}
	if i < len(p) && p[i] == 'e' {
		j := i + 1
		if j < len(p) && (p[j] == '+' || p[j] == '-') {
			j++
		}
		if d := digits(p[j:]); d > 0 {
			i = j + d
		}
	}
	if i > longestNumber {
		return 0
	}
	return i
}

// beforeStamp is where a number ends if a date or a time of day follows it at once, whose
// digits are not the number's.
func beforeStamp(p []byte, size int) int {
	if size < len(p) && (p[size] == '/' || p[size] == '-' || p[size] == ':') {
		for _, lead := range [...]int{4, 2} {
			if size >= lead && stamped(p[size-lead:]) {
				return size - lead
			}
		}
	}
	return size
}

func stamped(text []byte) bool {
	for _, form := range [...]string{"20##/##/## ##:##:##", "20##-##-##", "##:##:##"} {
		n := 0
		for n < len(form) && n < len(text) && (form[n] == text[n] || form[n] == '#' && '0' <= text[n] && text[n] <= '9') {
			n++
		}
		if n == len(form) {
			return true
		}
	}
	return false
}

func digits(p []byte) int {
	i := 0
	for i < len(p) && '0' <= p[i] && p[i] <= '9' {
		i++
	}
	return i
}
