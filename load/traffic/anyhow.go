package traffic

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A token is a part of a line between spaces: plain, in quotes or in brackets.
type token struct {
	text string
	kind byte // '"', '[' or 0
}

// mostTokens is how many parts of a line are looked at.
const mostTokens = 100

func tokens(line string) (ts []token) {
	for line = strings.TrimLeft(line, " \t"); line != "" && len(ts) < mostTokens; line = strings.TrimLeft(line, " \t") {
		switch line[0] {
		case '"':
			if text, rest, ok := quoted(line); ok {
				ts, line = append(ts, token{text, '"'}), rest
				continue
			}
		case '[':
			if text, rest, ok := strings.Cut(line[1:], "]"); ok {
				ts, line = append(ts, token{text, '['}), rest
				continue
			}
		}
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		ts, line = append(ts, token{line[:end], 0}), line[end:]
	}
	return ts
}

// anyhow reads a line by what its parts are, wherever they stand: a request, times of which the finest and then the earliest is when it
// came, a status. So Envoy's and Istio's, AWS ALB's, HAProxy's, gin's and most formats of httpd are read.
func anyhow(line string) (r record, kind found) {
	ts := tokens(line)
	at, end := request(ts, &r)
	if at < 0 {
		if slices.ContainsFunc(ts, func(t token) bool { return t.kind == '"' }) {
			return r, notOne
		}
		return r, nothing
	}
	r.status = status(ts, at, end)
	r.host = hostOf(ts, at)
	if ts[0] == (token{"GIN", '['}) { // its time is that of the end
		for _, t := range ts[1:at] {
			if d, err := time.ParseDuration(t.text); err == nil {
				r.took = d
			}
		}
	}
	var ok bool
	if r.at, ok = instant(ts, at); !ok {
		return r, noInstant
	}
	return r, whole
}

// methods are those that a plain word is taken for. In quotes a method is known by what follows.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// request finds the request: a request line in quotes, or a method with a target behind it. Its first token is at, -1 without a request. The
// token after it is end.
func request(ts []token, r *record) (at, end int) {
	isTarget := func(s string) bool { return strings.HasPrefix(s, "/") || strings.Contains(s, "://") || s == "*" }
	for i, t := range ts {
		method, target, ok := requestLine(t.text)
		if t.kind == '"' && ok && (strings.Contains(t.text, " HTTP/") || isTarget(target)) {
			r.method, r.target = method, target
			return i, i + 1
		}
	}
	for i, t := range ts {
		word := strings.Trim(t.text, `|,;`)
		if t.kind == '[' || !slices.Contains(methods, word) {
			continue
		}
		for j := i + 1; j < min(len(ts), i+3); j++ { // a bar may be between
			if isTarget(ts[j].text) {
				r.method, r.target = word, strings.TrimRight(ts[j].text, ",;")
				return i, j + 1
			}
		}
	}
	return -1, -1
}

// status is the number of a status right behind the request, or else the first before it.
func status(ts []token, at, end int) int {
	is := func(t token) (int, bool) {
		n, err := strconv.Atoi(strings.Trim(t.text, `|,;`))
		return n, err == nil && len(t.text) >= 3 && n >= 100 && n <= 599
	}
	if end < len(ts) && ts[end].kind == 0 && strings.HasPrefix(ts[end].text, "HTTP/") {
		end++
	}
	if end < len(ts) {
		if n, ok := is(ts[end]); ok {
			return n
		}
	}
	for _, t := range ts[:at] {
		if n, ok := is(t); ok && t.kind == 0 {
			return n
		}
	}
	return 0
}

// hostOf is the host that was asked: that of an absolute target (in [origin]), before the client's address, or Envoy's authority, which is the
// fourth of the quoted texts behind the request, after an identity.
func hostOf(ts []token, at int) string {
	var before []string
	for _, t := range ts[:min(at, 2)] {
		before = append(before, t.text)
	}
	if host := virtualHost(before); host != "" {
		return host
	}
	var behind []string
	for _, t := range ts[at+1:] {
		if t.kind == '"' {
			behind = append(behind, t.text)
		}
	}
	for i := 0; i+2 < len(behind) && i < 5; i++ {
		if identity(behind[i]) && (isHost(behind[i+1]) || strings.Count(behind[i+1], ".") == 3) {
			return behind[i+1]
		}
	}
	return ""
}

// identity reports whether a text looks as a UUID does.
func identity(s string) bool {
	return strings.Count(s, "-") == 4 && len(s) >= 8 && strings.Trim(s, "0123456789abcdefABCDEF-…") == ""
}

// instant is the finest of the times in a line, and of those the earliest.
func instant(ts []token, request int) (at time.Time, ok bool) {
	consider := func(s string) {
		t, known := parseTime(s)
		fine := func(t time.Time) bool { return t.Nanosecond() != 0 }
		switch {
		case !known:
		case !ok, fine(t) && !fine(at), fine(t) == fine(at) && t.Before(at):
			at, ok = t, true
		}
	}
	for i, t := range ts {
		switch {
		case i == request || t.text == "" || t.kind == '"' && len(t.text) > 40:
		case t.kind != 0:
			if strings.ContainsAny(t.text, ":") {
				consider(t.text)
			}
		case i == 0 && strings.ContainsRune(t.text, '.') && len(t.text) >= 12: // seconds since 1970
			consider(t.text)
		case len(t.text) > 16 && strings.ContainsRune(t.text, 'T'):
			consider(strings.TrimRight(t.text, ",;|"))
		case len(t.text) == 10 && strings.ContainsAny(t.text, "-/") && i+1 < len(ts):
			clock := i + 1
			if ts[clock].text == "-" && clock+1 < len(ts) { // gin
				clock++
			}
			both := t.text + " " + strings.TrimRight(ts[clock].text, "|;")
			if clock+1 < len(ts) && zone(ts[clock+1].text) {
				both += " " + ts[clock+1].text
			}
			consider(both)
		}
	}
	return at, ok
}

// zone reports whether a text is an offset such as +0100.
func zone(s string) bool { return len(s) == 5 && (s[0] == '+' || s[0] == '-') }

// pairs reads a line of logfmt, as slog's text handler, logrus and Grafana's programs write it: key=value key="value with spaces".
func pairs(line string) (o object, ok bool) {
	if first, _, found := strings.Cut(line, "="); !found || strings.ContainsAny(first, " \"[") {
		return nil, false
	}
	o = object{}
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		key, rest, found := strings.Cut(line, "=")
		if !found {
			break
		}
		if i := strings.LastIndexByte(key, ' '); i >= 0 { // words without a value
			key = key[i+1:]
		}
		value := ""
		if strings.HasPrefix(rest, `"`) {
			if value, line, found = quoted(rest); !found {
				break
			}
		} else if value, line, found = strings.Cut(rest, " "); !found {
			line = ""
		}
		if _, known := o[key]; !known && key != "" {
			o[key] = []byte(strconv.Quote(value))
		}
	}
	return o, len(o) > 1
}

func unescapeQuery(s string) (string, error) {
	for range 2 { // CloudFront escapes twice
		t, err := url.PathUnescape(s)
		if err != nil {
			return "", err
		}
		s = t
	}
	return s, nil
}
