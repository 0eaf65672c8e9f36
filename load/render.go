package load

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// render makes the request of a step with the variables v, in r, whose memory
// it uses again. It does not make r.wire.
func (s *step) render(r *request, v *vars) (err error) {
	r.method, r.closes, r.keep, r.header = s.method, s.closes, s.keep, s.header
	if r.target, err = s.target.append(r.target[:0], v); err != nil {
		return err
	}
	if r.target, err = s.origin(r.target); err != nil {
		return err
	}
	if r.host, err = s.host.append(r.host[:0], v); err != nil {
		return err
	}
	if r.body, err = s.body.append(r.body[:0], v); err != nil {
		return err
	}
	if cap(r.fields) < len(s.fields) {
		r.fields = append(r.fields[:cap(r.fields)], make([]field, len(s.fields)-cap(r.fields))...)
	}
	r.fields = r.fields[:len(s.fields)]
	for i, f := range s.fields {
		to := &r.fields[i]
		to.name = f.name
		if to.value, err = f.value.append(to.value[:0], v); err != nil {
			return err
		}
		if !printable(to.value) {
			return fmt.Errorf("header %s has a control character", f.name)
		}
	}
	if !printable(r.host) {
		return fmt.Errorf("header Host has a control character")
	}
	return nil
}

// origin brings a target, which is a path or what a service sent as a Location,
// into the form of the request line. It must stay on the service: a load on a
// stranger is an attack.
func (s *step) origin(target []byte) ([]byte, error) {
	if isPlainTarget(target) {
		return target, nil
	}
	if len(target) > 0 && target[0] == '/' {
		path, _, _ := strings.Cut(string(target), "#")
		u, err := on(s.base, path)
		if err != nil {
			return nil, fmt.Errorf("bad path %q", target)
		}
		return appendURI(target[:0], u), nil
	}
	u, err := s.base.Parse(string(target))
	if err != nil {
		return nil, fmt.Errorf("bad path %q", target)
	}
	if u.Host != s.base.Host || u.Scheme != s.base.Scheme {
		return nil, fmt.Errorf("path %q leaves %s", target, s.base.Host)
	}
	return appendURI(target[:0], u), nil
}

// on is the URL of a path on the service.
func on(base *url.URL, path string) (*url.URL, error) {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	u.Scheme, u.Host = base.Scheme, base.Host
	return u, nil
}

// appendURI appends the form of u that a request line can have. net/url leaves
// a query as it is.
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

// isPlainTarget reports whether a target can be sent as it is; the others may
// be right too, and are left to net/url.
func isPlainTarget(t []byte) bool {
	if len(t) == 0 || t[0] != '/' {
		return false
	}
	for _, b := range t {
		if !plainByte[b] {
			return false
		}
	}
	return true
}

// plainByte has the bytes of a plain target.
var plainByte [256]bool

func init() {
	for b := range 256 {
		alnum := b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' && b < 128
		plainByte[b] = alnum
	}
	for _, b := range "/?&=-._~:@!$'()*+,;" {
		plainByte[b] = true
	}
}

// appendWire appends the request as HTTP/1.1 writes it (RFC 9112).
func (r *request) appendWire(b []byte) []byte {
	b = append(append(b, r.method...), ' ')
	b = append(append(b, r.target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, r.host...), '\r', '\n')
	for _, f := range r.fields {
		b = append(append(b, f.name...), ':', ' ')
		b = append(append(b, f.value...), '\r', '\n')
	}
	if len(r.body) > 0 || bodyful(r.method) {
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.body)), 10)
		b = append(b, '\r', '\n')
	}
	return append(append(b, '\r', '\n'), r.body...)
}
