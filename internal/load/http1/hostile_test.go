package http1

import (
	"io"
	"reflect"
	"strings"
	"testing"
)

const (
	lengthOf  = ok + "Content-Length: "
	inChunks  = ok + "Transfer-Encoding: chunked\r\n\r\n"
	sentBytes = 64 << 10 // at once, of what is endless
)

// hostile are responses that fail: raw, and then again without end.
var hostile = []struct {
	name, raw, again string
	want             error
}{
	{name: "nothing", want: io.EOF},
	{name: "half a header", raw: ok + "A: b", want: io.ErrUnexpectedEOF},
	{name: "half a body", raw: lengthOf + "5\r\n\r\nhell", want: io.ErrUnexpectedEOF},
	{name: "half a chunk", raw: inChunks + "5\r\nhell", want: io.ErrUnexpectedEOF},
	{name: "no last chunk", raw: inChunks + "1\r\nx\r\n", want: io.ErrUnexpectedEOF},
	{name: "no end of trailers", raw: inChunks + "0\r\n", want: io.ErrUnexpectedEOF},
	{name: "interim alone", raw: "HTTP/1.1 100 Continue\r\n\r\n", want: io.ErrUnexpectedEOF},

	{name: "TLS alert", raw: "\x15\x03\x01\x00\x02\x02\x28", want: ErrStatusLine},
	{name: "SSH", raw: "SSH-2.0-OpenSSH_9.6\r\n", want: ErrStatusLine},
	{name: "HTTP/2", raw: "\x00\x00\x12\x04\x00\x00\x00\x00\x00", want: ErrStatusLine},
	{name: "garbage", again: "\x93\x00\xfe", want: ErrStatusLine},
	{name: "empty line first", raw: "\r\n" + ok, want: ErrStatusLine},
	{name: "HTTP/2.0", raw: "HTTP/2.0 200 OK\r\n\r\n", want: ErrStatusLine},
	{name: "short", raw: "HTTP/1.1 20\r\n\r\n", want: ErrStatusLine},
	{name: "long", raw: "HTTP/1.1 2000\r\n\r\n", want: ErrStatusLine},
	{name: "sign", raw: "HTTP/1.1 -20 OK\r\n\r\n", want: ErrStatusLine},
	{name: "099", raw: "HTTP/1.1 099 OK\r\n\r\n", want: ErrStatusLine},
	{name: "NUL in phrase", raw: "HTTP/1.1 200 O\x00K\r\n\r\n", want: ErrStatusLine},
	{name: "bare CR", raw: "HTTP/1.1 200 OK\rA: b\r\n\r\n", want: ErrStatusLine},
	{name: "endless phrase", raw: "HTTP/1.1 200 ", again: "OK", want: errHeaderSize},

	{name: "no colon", raw: ok + "abc\r\n\r\n", want: errField},
	{name: "no name", raw: ok + ": abc\r\n\r\n", want: errField},
	{name: "space before colon", raw: lengthOf[:len(lengthOf)-2] + " : 5\r\n\r\n", want: errField},
	{name: "NUL in name", raw: ok + "A\x00: b\r\n\r\n", want: errField},
	{name: "NUL in value", raw: ok + "Some-Name: some value of more than eight\x00 bytes\r\n\r\n", want: errField},
	{name: "DEL in value", raw: ok + "Some-Name: some\x7f value\r\n\r\n", want: errField},
	{name: "CR in value", raw: ok + "A: b\rContent-Length: 5\r\n\r\n", want: errField},
	{name: "two CR", raw: ok + "\r\r\n", want: errField},
	{name: "folded", raw: ok + "A: b\r\n c\r\n\r\n", want: errFolded},
	{name: "folded first", raw: ok + "\tA: b\r\n\r\n", want: errFolded},
	{name: "endless value", raw: ok + "A: ", again: "b", want: errHeaderSize},
	{name: "endless header", raw: ok, again: "A: b\r\n", want: errHeaderSize},
	{name: "endless names", raw: ok + "A", again: "b", want: errHeaderSize},
	{name: "endless interim", again: "HTTP/1.1 100 Continue\r\n\r\n", want: errHeaderSize},

	{name: "negative", raw: lengthOf + "-1\r\n\r\n", want: errLength},
	{name: "plus", raw: lengthOf + "+1\r\n\r\n", want: errLength},
	{name: "empty length", raw: lengthOf + "\r\n\r\n", want: errLength},
	{name: "hex", raw: lengthOf + "0x10\r\n\r\n", want: errLength},
	{name: "two words", raw: lengthOf + "1 1\r\n\r\n", want: errLength},
	{name: "overflow", raw: lengthOf + "18446744073709551621\r\n\r\n", want: errLength},
	{name: "2^63", raw: lengthOf + "9223372036854775808\r\n\r\n", want: errLength},
	{name: "conflict", raw: lengthOf + "1\r\nContent-Length: 2\r\n\r\nxx", want: errLengths},
	{name: "conflict in a list", raw: lengthOf + "1, 2\r\n\r\nxx", want: errLengths},
	{name: "conflict beside chunked", raw: lengthOf + "1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", want: errLengths},
	{name: "10 GB", raw: lengthOf + "10000000000\r\n\r\n", again: "x", want: ErrBodySize},
	{name: "10 GB to the end", raw: ok + "\r\n", again: strings.Repeat("x", 1<<20), want: ErrBodySize},

	{name: "10 GB in chunks", raw: inChunks, again: "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n", want: ErrBodySize},
	{name: "10 GB in a chunk", raw: inChunks + "2540be400\r\n", again: "x", want: ErrBodySize},
	{name: "chunk of 2^64", raw: inChunks + "10000000000000000\r\n", want: errChunkSize},
	{name: "chunk of -1", raw: inChunks + "ffffffffffffffff\r\n", want: errChunkSize},
	{name: "chunk of 2^63", raw: inChunks + "8000000000000000\r\n", want: errChunkSize},
	{name: "chunk over what is left", raw: inChunks + "1\r\nx\r\n40000000\r\n", want: ErrBodySize},
	{name: "signed chunk", raw: inChunks + "-1\r\n", want: errChunkSize},
	{name: "no chunk size", raw: inChunks + "\r\n", want: errChunkSize},
	{name: "extension alone", raw: inChunks + ";a=b\r\n", want: errChunkSize},
	{name: "chunk size in words", raw: inChunks + "five\r\nhello\r\n", want: errChunkSize},
	{name: "two sizes", raw: inChunks + "1 1\r\nx\r\n", want: errChunkSize},
	{name: "LF after size", raw: inChunks + "1\nx\n0\n\n", want: errChunkSize},
	{name: "CR in size", raw: inChunks + "1\r1\r\nx\r\n", want: errChunkSize},
	{name: "LF in extension", raw: inChunks + "1;a\nx\r\n", want: errChunkSize},
	{name: "NUL in extension", raw: inChunks + "1;a\x00\r\nx\r\n", want: errChunkSize},
	{name: "chunk too long", raw: inChunks + "1\r\nxx\r\n0\r\n\r\n", want: errChunkEnd},
	{name: "no CR after chunk", raw: inChunks + "1\r\nxx\n0\r\n\r\n", want: errChunkEnd},
	{name: "LF after chunk", raw: inChunks + "1\r\nx\n0\r\n\r\n", want: errChunkEnd},
	{name: "CR alone after chunk", raw: inChunks + "1\r\nx\r0\r\n\r\n", want: errChunkEnd},
	{name: "endless zeros", raw: inChunks, again: "0", want: errChunkSize},
	{name: "endless padding", raw: inChunks + "1", again: " ", want: errChunkLine},
	{name: "endless extension", raw: inChunks + "1;", again: "a", want: errChunkLine},
	{name: "endless trailers", raw: inChunks + "0\r\n", again: "A: b\r\n", want: errHeaderSize},
	{name: "endless trailer", raw: inChunks + "0\r\nA: ", again: "b", want: errHeaderSize},
	{name: "NUL in trailer", raw: inChunks + "0\r\nA: \x00\r\n\r\n", want: errField},
	{name: "folded trailer", raw: inChunks + "0\r\nA: b\r\n c\r\n\r\n", want: errFolded},
}

func TestParserHostile(t *testing.T) {
	const good = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi"
	for _, c := range hostile {
		if len(c.again) >= 1<<20 {
			continue // see TestParserHostileMemory
		}
		t.Run(c.name, func(t *testing.T) {
			var p Parser
			q := query{keep: 100}
			if c.again == "" {
				if got := readAll(t, c.raw, q); got.Err != c.want || !got.Close {
					t.Errorf("got %+v, want %v", got, c.want)
				}
				return
			}
			// As a flood, and as a slow drip.
			flood := read(t, &p, q, endless(c.raw, c.again, sentBytes, 4*sentBytes))
			drip := read(t, new(Parser), q, endless(c.raw, c.again, 1, 2*maxHeader))
			if flood.Err != c.want || !flood.Close {
				t.Errorf("flood: got %+v, want %v", flood, c.want)
			}
			if !reflect.DeepEqual(drip, flood) {
				t.Errorf("drip:\n got %+v\nwant %+v", drip, flood)
			}
			if got := read(t, &p, q, inOnePiece(good)); got.Status != 201 || got.Body != "hi" || got.Err != nil || got.Close {
				t.Errorf("the next response: %+v", got)
			}
		})
	}
}

// TestParserHeaderLimit has trailers share the limit with the header before
// them, whether that was read or remembered.
func TestParserHeaderLimit(t *testing.T) {
	const start, end = inChunks + "0\r\nA: ", "\r\n\r\n"
	fill := maxHeader - len(start+end) + len("0\r\n")
	for over, want := range []error{nil, errHeaderSize} {
		raw := start + strings.Repeat("b", fill+over) + end
		var p Parser
		for i, pieces := range []func(func([]byte) bool){inOnePiece(raw), inOnePiece(raw), bytewise(raw)} {
			if got := read(t, &p, query{}, pieces); got.Err != want {
				t.Errorf("%d bytes over, read %d: got %+v, want %v", over, i, got, want)
			}
		}
	}
}

// endless yields raw and then again, piece by piece, until limit.
func endless(raw, again string, piece, limit int) func(yield func([]byte) bool) {
	block := []byte(raw + again)
	for len(block) < len(raw)+max(piece, len(again)) {
		block = append(block, again...)
	}
	return func(yield func([]byte) bool) {
		rest := block
		for sent := 0; sent < limit; sent += piece {
			if len(rest) == 0 {
				rest = block[len(raw):]
			}
			k := min(piece, len(rest))
			if !yield(rest[:k]) {
				return
			}
			rest = rest[k:]
		}
	}
}

// TestParserHostileMemory feeds a gigabyte, and allocates nothing for it.
func TestParserHostileMemory(t *testing.T) {
	for _, c := range hostile {
		if len(c.again) < 1<<20 {
			continue
		}
		var p Parser
		head, again := []byte(c.raw), []byte(c.again)
		allocs := testing.AllocsPerRun(1, func() {
			p.Reset(false, 100, false)
			if _, done, err := p.Feed(head); done || err != nil {
				t.Fatal(done, err)
			}
			var err error
			fed := 0
			for ; err == nil && fed < 10_000; fed++ {
				_, _, err = p.Feed(again)
			}
			if err != ErrBodySize || fed != MaxBody>>20+1 {
				t.Errorf("%s: after %d MiB: %v", c.name, fed, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", c.name, allocs)
		}
	}
}
