package traffic

import (
	"fmt"
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

// mostTokens is the number of parts of a line that are looked at.
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

// anyhow reads a line by the form of its parts, wherever they stand: a request, a status, and times. The
// request came at the finest of the times, and of equally fine ones at the earliest. It reads the lines of
// Envoy, Istio, AWS ALB, HAProxy, gin and most formats of httpd.
func anyhow(line string) (r record, kind found) {
	ts := tokens(line)
	at, end := request(ts, &r)
	if at < 0 {
		if slices.ContainsFunc(ts, func(t token) bool { return t.kind == '"' }) {
			return r, notOne
		}
		return r, nothing
	}
	if about(ts, at, end) {
		return r, notOne
	}
	r.status = status(ts, at, end)
	r.host = hostOf(ts, at)
	if slices.Contains(ts[:at], token{"GIN", '['}) { // its time is that of the end
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

// about reports whether a line only speaks of a request: the error logs of nginx (request: "GET / HTTP/1.1") and httpd ([core:error]), which
// often share a file with the access log, and gin's list of its routes.
func about(ts []token, at, end int) bool {
	if at > 0 && ts[at-1].text == "request:" || end < len(ts) && ts[end].text == "-->" {
		return true
	}
	return slices.ContainsFunc(ts[:at], func(t token) bool {
		_, level, ok := strings.Cut(t.text, ":")
		return t.kind == '[' && ok && slices.Contains(levels, level)
	})
}

// levels are the levels of httpd's error log.
var levels = []string{"emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}

// partsOf says which parts of a request a line has, for the message.
func partsOf(line string) string {
	var r record
	if strings.HasPrefix(line, "{") {
		return "no field that dyno knows for a method and a path"
	}
	ts := tokens(line)
	at, end := request(ts, &r)
	parts := []string{"no request such as GET /path"}
	if at >= 0 {
		parts[0] = "the request " + r.method + " " + r.target
		if n := status(ts, at, end); n > 0 {
			parts = append(parts, fmt.Sprintf("the status %d", n))
		}
	}
	when := "no time"
	if t, ok := instant(ts, at); ok {
		when = "the time " + t.Format(time.RFC3339Nano)
	}
	return strings.Join(append(parts, when), ", ")
}

// methods are the words that are taken for a method if no version of HTTP follows. Other words are a part of
// a message. Those after TRACE are of WebDAV, of caches, and new.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
	"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "PURGE", "QUERY"}

// request finds the request: a request line in quotes, or a method with a target behind it. Its first token is at, -1 without a request. The
// token after it is end.
func request(ts []token, r *record) (at, end int) {
	isTarget := func(s string) bool { return strings.HasPrefix(s, "/") || strings.Contains(s, "://") || s == "*" }
	for i, t := range ts {
		method, target, ok := requestLine(t.text)
		if t.kind == '"' && ok && (isTarget(target) || strings.Contains(t.text, " HTTP/")) {
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
	if end+3 < len(ts) && ts[end].text == "from" && ts[end+2].text == "-" { // chi
		end += 3
	}
	if end < len(ts) {
		if n, ok := is(ts[end]); ok {
			return n
		}
	}
	for _, t := range ts[:at] { // Squid
		if _, code, ok := strings.Cut(t.text, "/"); ok && strings.HasPrefix(t.text, "TCP_") {
			n, _ := is(token{text: code})
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
	if at >= 2 {
		if host := virtualHost(ts[0].text, ts[1].text); host != "" {
			return host
		}
	}
	var behind []string
	for _, t := range ts[at+1:] {
		if t.kind == '"' {
			behind = append(behind, t.text)
		}
	}
	for i := 0; i+2 < len(behind) && i < 5; i++ {
		if identity(behind[i]) && behind[i+1] != "-" { // in a mesh a name has no dot
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
	var finest bool
	consider := func(s string) bool {
		t, known := parseTime(s)
		fine := strings.ContainsAny(s, ".,")
		switch {
		case !known:
		case !ok, fine && !finest, fine == finest && t.Before(at):
			at, finest, ok = t, fine, true
		}
		return known
	}
	for i, t := range ts {
		switch {
		case i == request || t.text == "" || t.kind == '"' && len(t.text) > 40:
		case t.kind != 0:
			if strings.ContainsAny(t.text, ":") {
				if first, _, more := strings.Cut(t.text, " "); !consider(t.text) && more { // Ruby has its process behind
					consider(first)
				}
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
			o[key] = valueOf(value)
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
