package http1

import (
	"bytes"
	"encoding/binary"
)

func digit(c byte) bool { return '0' <= c && c <= '9' }

func unhex(c byte) int {
	switch {
	case digit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// token has the bytes of names: RFC 9110, section 5.6.2.
var token = func() (t [256]bool) {
	for c := byte('!'); c < 0x7f; c++ {
		t[c] = bytes.IndexByte([]byte(`"(),/:;<=>?@[\]{}`), c) < 0
	}
	return t
}()

// startsHTTP reports whether a status line may begin with a and go on with b. Other
// protocols need not send a line end for dyno to notice them.
func startsHTTP(a, b []byte) bool {
	const want = "HTTP/1."
	if len(a) == 0 && len(b) >= len(want) {
		return string(b[:len(want)]) == want
	}
	i := min(len(a), len(want))
	k := min(len(b), len(want)-i)
	return string(a[:i]) == want[:i] && string(b[:k]) == want[i:i+k]
}

// Printable reports whether s has no control bytes but tabs.
func Printable(s []byte) bool {
	const ones = 0x0101010101010101
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64(s)
		del := w ^ 0x7f*ones
		// Exact in whether some byte is below ' ' or DEL, not in which.
		if ((w-' '*ones)&^w|(del-ones)&^del)&(0x80*ones) != 0 && !printableBytes(s[:8]) {
			return false
		}
	}
	return printableBytes(s)
}

func printableBytes(s []byte) bool {
	for _, c := range s {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

var comma = []byte{','}

func trim(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// equalFold ignores the case of ASCII only, unlike bytes.EqualFold. lower has letters
// and hyphens. s has no control bytes, or a CR would pass for a hyphen.
func equalFold(s []byte, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range s {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
