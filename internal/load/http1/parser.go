// Package http1 has the form of HTTP/1.1: requests ready to be sent, their bytes,
// and the strict parser of responses. It owns neither connections nor time.
package http1

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
)

// Bounds of a response. Each is far above what honest services send; together they
// bound what a hostile one can make dyno hold.
const (
	// maxHeader is for status line, fields, trailers and interim responses (1xx).
	// Servers themselves stop at 8 to 64 KiB.
	maxHeader = 64 << 10

	// MaxBody is for all bytes received: a body without an end would hold a client
	// until its time-out and count as slow, not wrong.
	MaxBody = 1 << 30

	// maxChunkLine is for what follows a chunk's size, as in net/http.
	maxChunkLine = 4 << 10

	// maxSame is how long a remembered header block may be (see Parser.same): the
	// copy costs a response whose header always changes.
	maxSame = 1 << 10
)

// A protocolError is a response that dyno does not understand or take. Its text
// never varies, because errors are counted by their text.
type protocolError string

func (e protocolError) Error() string { return string(e) }

const (
	ErrStatusLine = protocolError("malformed status line")
	errField      = protocolError("malformed response header")
	errFolded     = protocolError("folded response header")
	errHeaderSize = protocolError("response header over 64 KiB")
	errLength     = protocolError("malformed Content-Length")
	errLengths    = protocolError("conflicting Content-Length")
	ErrBodySize   = protocolError("response body over 1 GiB")
	errChunkSize  = protocolError("malformed chunk size")
	errChunkLine  = protocolError("chunk line over 4 KiB")
	errChunkEnd   = protocolError("no line end after chunk")
)

// A Parser reads one connection's responses, HTTP/1.0 and 1.1 as RFC 9112 has them.
// Reset comes before each.
//
// It is strict where two readers could disagree on a response's end:
//   - Content-Length is digits; two of them have the same value.
//   - Transfer-Encoding beats Content-Length; then, as in HTTP/1.0, the connection
//     closes. If chunked is not the last coding, the body ends with the connection.
//   - Lines of chunks end in CRLF.
//   - A colon follows a name at once. Control bytes are errors, among them a CR
//     within a line. So are folded lines, which RFC 9112 deprecates.
//
// It tolerates lines that end in LF alone, a missing reason phrase, any case, white
// space around values, and chunk extensions. Trailers are checked and dropped.
//
// Responses to HEAD, 204, 304 and 101 have no body. What follows a 101 is not HTTP,
// so the connection closes.
type Parser struct {
	Answer      // so far, valid until the next Reset; interim responses (1xx) are skipped
	Close  bool // the connection cannot be used for another request
	Began  bool // at least one byte has come since Reset

	head   bool
	fields bool
	keep   int64
	state  parserState
	frame  frame
	room   int    // bytes that lines may still take
	left   int64  // bytes to come of the body, or of the chunk
	digits int    // of the chunk size, so far
	extra  int    // bytes after the chunk size, so far
	line   []byte // the beginning of a line whose end has not come

	// The last header block and what it said. Services repeat theirs, but for the
	// date: comparing is a sixth of the work.
	same      []byte
	sameFrame frame
}

// A frame is what a header block says of the message's end and the connection. It
// depends on the block's bytes alone.
type frame struct {
	status  int
	length  int64 // Content-Length; -1 if there is none
	coding  coding
	old     bool // HTTP/1.0
	closing bool // Connection: close
	keeping bool // Connection: keep-alive
}

type coding uint8

const (
	codingNone    coding = iota
	codingChunked        // as the last
	codingOther          // as the last
)

type parserState uint8

const (
	inStatus parserState = iota
	inFields
	inTrailer // the last that is made of lines
	inSize    // of a chunk
	inPadding // white space between it and the extension
	inExtension
	atSizeLF
	inChunk
	atChunkCR
	atChunkLF // the last of chunks
	inBody    // of a known length
	inRest    // a body that ends with the connection
	atEnd
)

// Reset prepares for the next response. head: its request was a HEAD; keep: how
// many bytes of the body to keep; fields: keep the header.
func (p *Parser) Reset(head bool, keep int64, fields bool) {
	p.Answer, p.Close, p.Began = Answer{Body: p.Body[:0]}, false, false
	p.head, p.keep, p.fields = head, keep, fields
	p.state, p.room, p.line, p.frame = inStatus, maxHeader, p.line[:0], frame{length: -1}
}

// Feed takes the connection's next bytes, which it does not keep. It returns how
// many belong to this response and whether that is complete; then, or after an error
// (a protocolError), Reset must come next. n < len(b) only when done.
func (p *Parser) Feed(b []byte) (n int, done bool, err error) {
	if !p.Began && len(b) > 0 {
		p.Began = true
		if n, err = p.first(b); err != nil {
			return n, false, p.fail(err)
		}
	}
	for n < len(b) && p.state != atEnd {
		var k int
		rest := b[n:]
		switch {
		case p.state <= inTrailer:
			k, err = p.lines(rest)
		case p.state <= atChunkLF:
			k, err = p.chunks(rest)
		case p.state == inBody:
			k = int(min(p.left, int64(len(rest))))
			p.take(rest[:k])
			if p.left -= int64(k); p.left == 0 {
				p.state = atEnd
			}
		default:
			k = int(min(MaxBody-p.Bytes, int64(len(rest))))
			p.take(rest[:k])
			if k < len(rest) {
				err = ErrBodySize
			}
		}
		n += k
		if err != nil {
			return n, false, p.fail(err)
		}
	}
	return n, p.state == atEnd, nil
}

// EOF says that the connection ended. It returns nil if that completes the response,
// io.EOF if no byte had come, else io.ErrUnexpectedEOF.
func (p *Parser) EOF() error {
	p.Close = true
	switch {
	case p.state == inRest:
		p.state = atEnd
		return nil
	case !p.Began:
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

func (p *Parser) fail(err error) error {
	p.Close = true
	return err
}

// first reads the first bytes of a response, up to its header's end if they have it.
func (p *Parser) first(b []byte) (int, error) {
	if k := len(p.same); k > 0 && k <= len(b) && !p.fields && string(b[:k]) == string(p.same) {
		p.frame, p.Status, p.room = p.sameFrame, p.sameFrame.status, p.room-k
		return k, p.endHeader()
	}
	n, err := p.lines(b)
	if err == nil && p.state > inTrailer && p.Header == nil && !p.fields && n <= maxSame {
		p.same, p.sameFrame = append(p.same[:0], b[:n]...), p.frame
	}
	return n, err
}

func (p *Parser) lines(b []byte) (n int, err error) {
	for n < len(b) && p.state <= inTrailer && err == nil {
		rest := b[n:]
		i := bytes.IndexByte(rest, '\n')
		k := i + 1
		if i < 0 {
			k = len(rest)
		}
		if p.state == inStatus && !startsHTTP(p.line, rest) {
			return n, ErrStatusLine
		}
		if p.room -= k; p.room < 0 {
			return n, errHeaderSize
		}
		n += k
		if i < 0 {
			p.line = append(p.line, rest...)
			return n, nil
		}
		line := rest[:i]
		if len(p.line) > 0 {
			line = append(p.line, line...)
			p.line = line[:0]
		}
		if k := len(line) - 1; k >= 0 && line[k] == '\r' {
			line = line[:k]
		}
		switch {
		case p.state == inStatus:
			err = p.statusLine(line)
		case len(line) > 0:
			err = p.field(line)
		case p.state == inTrailer:
			p.state = atEnd
		case p.Status == 0: // 1xx
			p.state, p.frame = inStatus, frame{length: -1}
		default:
			err = p.endHeader()
		}
	}
	return n, err
}

// statusLine reads "HTTP/1.1 200 OK"; the phrase and its space may be missing.
func (p *Parser) statusLine(s []byte) error {
	const shape = "HTTP/1.x ddd"
	if len(s) < len(shape) || !digit(s[7]) || s[8] != ' ' || s[9] < '1' || !digit(s[9]) || !digit(s[10]) || !digit(s[11]) {
		return ErrStatusLine
	}
	if len(s) > len(shape) && (s[len(shape)] != ' ' || !Printable(s[len(shape):])) {
		return ErrStatusLine
	}
	p.frame.old = s[7] == '0'
	p.frame.status = int(s[9]-'0')*100 + int(s[10]-'0')*10 + int(s[11]-'0')
	if p.frame.status >= 200 || p.frame.status == http.StatusSwitchingProtocols {
		p.Status = p.frame.status
	}
	p.state = inFields
	return nil
}

func (p *Parser) field(s []byte) error {
	i := 0
	for i < len(s) && token[s[i]] {
		i++
	}
	if i == 0 && (s[0] == ' ' || s[0] == '\t') {
		return errFolded
	}
	if i == 0 || i == len(s) || s[i] != ':' || !Printable(s[i+1:]) {
		return errField
	}
	if p.state == inTrailer {
		return nil
	}
	name, value := s[:i], trim(s[i+1:])
	keep := p.fields
	switch len(name) {
	case len("Connection"): // and Set-Cookie
		if equalFold(name, "connection") {
			p.connection(value)
		} else if equalFold(name, "set-cookie") {
			keep = true
		}
	case len("Content-Length"):
		if equalFold(name, "content-length") {
			if err := p.contentLength(value); err != nil {
				return err
			}
		}
	case len("Transfer-Encoding"):
		if equalFold(name, "transfer-encoding") {
			p.transferEncoding(value)
		}
	}
	if keep && p.Status != 0 { // not of an interim response
		if p.Header == nil {
			p.Header = make(http.Header)
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		p.Header[key] = append(p.Header[key], string(value))
	}
	return nil
}

func (p *Parser) connection(list []byte) {
	for option := range bytes.SplitSeq(list, comma) {
		option = trim(option)
		p.frame.closing = p.frame.closing || equalFold(option, "close")
		p.frame.keeping = p.frame.keeping || equalFold(option, "keep-alive")
	}
}

// contentLength reads digits, or a list of them, as joins a server's equal fields.
func (p *Parser) contentLength(list []byte) error {
	for more := true; more; {
		var s []byte
		s, list, more = bytes.Cut(list, comma)
		if s = trim(s); len(s) == 0 || len(s) > 18 { // 19 digits may overflow
			return errLength
		}
		n := int64(0)
		for _, c := range s {
			if !digit(c) {
				return errLength
			}
			n = n*10 + int64(c-'0')
		}
		if p.frame.length >= 0 && p.frame.length != n {
			return errLengths
		}
		p.frame.length = n
	}
	return nil
}

// transferEncoding notes the last coding; several fields make one list.
func (p *Parser) transferEncoding(list []byte) {
	if p.frame.coding == codingNone {
		p.frame.coding = codingOther
	}
	for s := range bytes.SplitSeq(list, comma) {
		if s = trim(s); len(s) > 0 {
			p.frame.coding = codingOther
			if equalFold(s, "chunked") {
				p.frame.coding = codingChunked
			}
		}
	}
}

// endHeader decides where the body ends (RFC 9112, section 6.3).
func (p *Parser) endHeader() error {
	f := &p.frame
	p.Close = f.closing || f.old && !f.keeping
	switch {
	case f.status == http.StatusSwitchingProtocols:
		p.Close = true
		p.state = atEnd
	case p.head, f.status == http.StatusNoContent, f.status == http.StatusNotModified:
		p.state = atEnd
	case f.coding == codingChunked:
		p.Close = p.Close || f.old || f.length >= 0
		p.startChunk()
	case f.coding == codingOther, f.length < 0:
		p.Close = true
		p.state = inRest
	case f.length > MaxBody:
		return ErrBodySize
	case f.length == 0:
		p.state = atEnd
	default:
		p.left, p.state = f.length, inBody
	}
	return nil
}

func (p *Parser) take(b []byte) {
	p.Bytes += int64(len(b))
	if free := Kept(p.keep, p.Status) - int64(len(p.Body)); free > 0 {
		p.Body = append(p.Body, b[:min(free, int64(len(b)))]...)
	}
}

func (p *Parser) startChunk() { p.state, p.left, p.digits, p.extra = inSize, 0, 0, 0 }

func (p *Parser) chunks(b []byte) (n int, err error) {
	for n < len(b) && p.state >= inSize && err == nil {
		if p.state == inChunk {
			k := min(p.left, int64(len(b)-n))
			p.take(b[n : n+int(k)])
			n += int(k)
			if p.left -= k; p.left == 0 {
				p.state = atChunkCR
			}
			continue
		}
		c := b[n]
		n++
		switch p.state {
		case inSize:
			if x := unhex(c); x >= 0 {
				// 15 digits cannot overflow.
				if p.digits++; p.digits > 15 {
					return n, errChunkSize
				}
				p.left = p.left<<4 | int64(x)
			} else if p.digits == 0 {
				return n, errChunkSize
			} else {
				err = p.afterSize(c)
			}
		case inPadding, inExtension:
			err = p.afterSize(c)
		case atSizeLF:
			err = p.endSize(c)
		case atChunkCR:
			if p.state = atChunkLF; c != '\r' {
				err = errChunkEnd
			}
		case atChunkLF:
			if p.startChunk(); c != '\n' {
				err = errChunkEnd
			}
		}
	}
	return n, err
}

// afterSize reads the rest of a chunk size's line: padding, as some servers send,
// and any printable extension.
func (p *Parser) afterSize(c byte) error {
	if p.extra++; p.extra > maxChunkLine {
		return errChunkLine
	}
	switch {
	case c == '\r':
		p.state = atSizeLF
	case p.state == inExtension && (c >= ' ' && c != 0x7f || c == '\t'):
	case p.state != inExtension && c == ';':
		p.state = inExtension
	case p.state != inExtension && (c == ' ' || c == '\t'):
		p.state = inPadding
	default:
		return errChunkSize
	}
	return nil
}

func (p *Parser) endSize(c byte) error {
	switch {
	case c != '\n':
		return errChunkSize
	case p.left > MaxBody-p.Bytes:
		return ErrBodySize
	case p.left == 0:
		p.state = inTrailer
	default:
		p.state = inChunk
	}
	return nil
}
