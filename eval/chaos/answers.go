//go:build linux

package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"time"
)

const control = "\x1b[2J\x1b]0;owned\x07\u009b31m"

// An answer is what a hostile server does with a connection on which a request has come.
type answer struct {
	name string
	do   func(c net.Conn)
}

func text(name, s string) answer {
	return answer{name, func(c net.Conn) { io.WriteString(c, s) }}
}

// endless writes until the other side has had enough.
func endless(name, head, part string) answer {
	return answer{name, func(c net.Conn) {
		io.WriteString(c, head)
		more := []byte(strings.Repeat(part, 1+1<<14/len(part)))
		for n := 0; n < 1<<30; n += len(more) {
			if _, err := c.Write(more); err != nil {
				return
			}
		}
	}}
}

const okHead = "HTTP/1.1 200 OK\r\n"

var http1 = []answer{
	{"is silent", func(c net.Conn) { io.Copy(io.Discard, c) }},
	{"closes", func(net.Conn) {}},
	{"resets", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }},
	text("half a head", okHead+"Content-Le"),
	text("half a body", okHead+"Content-Length: 100\r\n\r\nhalf"),
	text("NUL bytes", strings.Repeat("\x00", 10000)),
	text("LF only", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
	text("HTTP/0.9", "ok"),
	text("status 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
	text("status 000", "HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n"),
	text("status 99999999999999999999", "HTTP/1.1 99999999999999999999 Much\r\nContent-Length: 0\r\n\r\n"),
	text("control sequences", "HTTP/1.1 500 "+control+"\r\nX: "+control+"\r\nContent-Length: 20\r\n\r\n"+control+strings.Repeat(" ", 20-len(control)%20)),
	text("length negative", okHead+"Content-Length: -1\r\n\r\nok"),
	text("length huge", okHead+"Content-Length: 9223372036854775807\r\n\r\nok"),
	text("two lengths", okHead+"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
	text("chunk huge", okHead+"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nok"),
	text("redirect to itself", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
	text("false gzip", okHead+"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"),
	endless("endless head", okHead, "X: y\r\n"),
	endless("endless header line", okHead+"X: ", "y"),
	endless("endless status line", "HTTP/1.1 200 ", "O"),
	endless("endless chunks", okHead+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
	endless("endless chunk extension", okHead+"Transfer-Encoding: chunked\r\n\r\n1;", "x"),
	endless("endless trailer", okHead+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"),
	endless("endless body", okHead+"\r\n", "x"),
	endless("endless 100 Continue", "", "HTTP/1.1 100 Continue\r\n\r\n"),
	endless("answers nobody asked for", "", okHead+"Content-Length: 2\r\n\r\nok"),
	{"byte by byte", func(c net.Conn) {
		for _, b := range []byte(okHead + "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}},
}

// frame returns a frame of HTTP/2 (RFC 9113, section 4.1).
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

const (
	data, headers, reset, settings, ping, goAway, window, continuation = 0, 1, 3, 4, 6, 7, 8, 9
	endStream, endHeaders                                              = 1, 4
	status200                                                          = "\x88" // of the static table of HPACK
)

var hello = frame(settings, 0, 0, "")

var http2 = []answer{
	{"is silent", func(c net.Conn) { io.Copy(io.Discard, c) }},
	text("closes", ""),
	text("garbage", strings.Repeat("garbage", 1000)),
	text("HTTP/1.1", okHead+"Content-Length: 2\r\n\r\nok"),
	text("goes away", hello+frame(goAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x02"+control)),
	text("resets streams", hello+frame(reset, 0, 1, "\x00\x00\x00\x02")),
	text("no end", hello+frame(headers, endHeaders, 1, status200)+frame(data, 0, 1, "half")),
	text("frame too long", hello+frame(data, 0, 1, strings.Repeat("x", 1<<20))),
	text("false HPACK", hello+frame(headers, endHeaders, 1, "\xff\xff\xff\xff\xff\xff\xff")),
	text("window of nothing", frame(settings, 0, 0, "\x00\x04\x00\x00\x00\x00")+frame(window, 0, 0, "\x00\x00\x00\x00")),
	text("no streams allowed", frame(settings, 0, 0, "\x00\x03\x00\x00\x00\x00")),
	text("control sequences", hello+frame(headers, endHeaders|endStream, 1, "\x08\x03500\x00\x01x\x10"+control[:16])),
	endless("flood of settings", "", hello),
	endless("flood of pings", hello, frame(ping, 0, 0, "12345678")),
	endless("flood of continuations", hello+frame(headers, 0, 1, status200), frame(continuation, 0, 1, strings.Repeat("\x00\x01x\x01y", 100))),
	endless("flood of data", hello+frame(headers, endHeaders, 1, status200), frame(data, 0, 1, strings.Repeat("x", 1000))),
	endless("flood of empty data", hello+frame(headers, endHeaders, 1, status200), frame(data, 0, 1, "")),
}

// answers are loads on servers that answer so.
func answers() []kind {
	var all []kind
	for _, a := range http1 {
		all = append(all, kind{"answer " + a.name, func(t *try) error { return t.loadHostile("http", a.do) }})
	}
	for _, a := range http2 {
		all = append(all, kind{"HTTP/2 answer " + a.name, func(t *try) error { return t.loadHostile("https", a.do, "--http", "2", "-k") }})
	}
	return all
}

func (t *try) loadHostile(scheme string, do func(net.Conn), more ...string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	address := l.Addr().String()
	if scheme == "https" {
		certificate := httptest.NewUnstartedServer(nil)
		certificate.EnableHTTP2 = true
		certificate.StartTLS()
		config := certificate.TLS.Clone()
		certificate.Close()
		l = tls.NewListener(l, config)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				if n, err := c.Read(make([]byte, 1<<16)); n > 0 && err == nil {
					do(c)
				}
			}()
		}
	}()
	args := append([]string{"load", fmt.Sprintf("%s://%s/", scheme, address), "-d", "300ms", "--timeout", "500ms", "-c", "2"}, more...)
	if t.rng.IntN(2) == 0 {
		args = append(args, "-r", "100/s")
	}
	d, err := t.start(args...)
	if err != nil {
		return err
	}
	d.expect(0, 1, 99)
	return nil
}
