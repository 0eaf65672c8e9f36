package http1

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request is ready to be sent. A client may reuse its slices for the next.
type Request struct {
	Method string
	Target []byte // path and query, in the form of the request line
	Host   []byte
	Fields []Field // of the header, without Host and Content-Length
	Body   []byte
	URL    *url.URL // of a request that never varies; else nil
	Wire   []byte   // the request as HTTP/1.1 writes it; empty if the engine does not need it
	Closes bool     // it says Connection: close

	KeepBody   int64 // how many bytes of the answer's body to keep
	KeepHeader bool  // the answer's header is needed
}

// ErrorBody is the least number of bytes that are kept of the body of an answer with status 400 or above. The
// body says what was wrong. The last byte only shows that there is more.
const ErrorBody = 201

// Kept returns how many bytes of a body to keep, for an answer with this status.
func Kept(keep int64, status int) int64 {
	if status >= 400 {
		return max(keep, ErrorBody)
	}
	return keep
}

// A Field is a line of a header.
type Field struct {
	Name  string
	Value []byte
}

// An Answer is what was kept of an answer.
type Answer struct {
	Status int
	Header http.Header // whole if it was needed, else with Set-Cookie at least, or nil
	Body   []byte      // its first bytes, as many as were to be kept
	Bytes  int64       // its length

	Closed bool          // the service closed the connection after it, unasked
	Gap    time.Duration // from its first part to its end, if it came in several reads
}

// Idempotent reports whether a request may be sent again when the service may have
// had it already (RFC 9110, section 9.2.2).
func (r *Request) Idempotent() bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.Method)
}

// AppendWire appends the request as HTTP/1.1 writes it (RFC 9112).
func (r *Request) AppendWire(b []byte) []byte {
	b = append(append(b, r.Method...), ' ')
	b = append(append(b, r.Target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, r.Host...), '\r', '\n')
	for _, f := range r.Fields {
		b = append(append(b, f.Name...), ':', ' ')
		b = append(append(b, f.Value...), '\r', '\n')
	}
	if len(r.Body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH" { // without a body they say so
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.Body)), 10)
		b = append(b, '\r', '\n')
	}
	return append(append(b, '\r', '\n'), r.Body...)
}

// URLOn returns the address of the request on a service at base.
func (r *Request) URLOn(base *url.URL) (*url.URL, error) {
	if r.URL != nil {
		return r.URL, nil
	}
	return on(base, string(r.Target))
}

func on(base *url.URL, path string) (*url.URL, error) {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	u.Scheme, u.Host = base.Scheme, base.Host
	return u, nil
}

// OriginForm brings a path or a service's Location into the request line's form, in
// place. It must stay on the service at base: a load on a stranger is an attack.
func OriginForm(base *url.URL, target []byte) ([]byte, error) {
	if isPlainTarget(target) {
		return target, nil
	}
	if len(target) > 0 && target[0] == '/' {
		path, _, _ := strings.Cut(string(target), "#")
		u, err := on(base, path)
		if err != nil {
			return nil, fmt.Errorf("bad path %q", target)
		}
		return appendURI(target[:0], u), nil
	}
	u, err := base.Parse(string(target))
	if err != nil {
		return nil, fmt.Errorf("bad path %q", target)
	}
	if u.Host != base.Host || u.Scheme != base.Scheme {
		return nil, fmt.Errorf("path %q leaves %s", target, base.Host)
	}
	return appendURI(target[:0], u), nil
}

// appendURI escapes what a request line cannot have; net/url leaves a query as it is.
func appendURI(b []byte, u *url.URL) []byte {
	for _, c := range []byte(u.RequestURI()) {
		if c <= ' ' || c >= 0x7f || c == '"' {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return b
}

// isPlainTarget reports whether a target can be sent as it is; net/url decides on
// all others.
func isPlainTarget(t []byte) bool {
	return len(t) > 0 && t[0] == '/' && !slices.ContainsFunc(t, func(b byte) bool { return !plainByte[b] })
}

var plainByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = digit(byte(c)) || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	for _, c := range "/?&=-._~:@!$'()*+,;" {
		t[c] = true
	}
	return t
}()

// Address returns the network and the address that a client of a URL dials: host and port, with the scheme's port if it names none, or the
// path of a unix socket (http://unix:/run/x.sock).
func Address(u *url.URL) (network, addr string) {
	if u.Host == "unix:" {
		return "unix", u.Path
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port)
}

// Origin is the scheme and host that requests to a service name: localhost at a unix socket, as curl has it.
func Origin(service *url.URL) *url.URL {
	if network, _ := Address(service); network == "unix" {
		return &url.URL{Scheme: service.Scheme, Host: "localhost"}
	}
	return service
}

// IsToken reports whether s may name a header (RFC 9110, section 5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if !token[s[i]] {
			return false
		}
	}
	return s != ""
}
