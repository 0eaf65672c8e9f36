package traffic

import (
	"bytes"
	"cmp"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/unwrap"
)

// A record has what a line of a log says about a request. Unknown fields are zero.
type record struct {
	at      time.Time
	took    time.Duration // if at is when the request ended
	number  int64         // took in a unit that only the whole log tells, if it is not 0
	method  string
	target  string
	status  int
	host    string
	headers []Header
	fields  bool // it is of fields with names
}

// A found is what kind of line there is if it has no request that can be sent.
type found int

const (
	whole     found = iota
	nothing         // it is not as lines of a log are
	notOne          // no request, or what a client sent to a port that is not its
	noInstant       // a request without a time
)

// deepest is how often a line may be inside of another, as a service's JSON is inside of its container's.
const deepest = 4

// logLine reads a line of a log of any format. Each line is looked at by itself: logs of services have banners, and messages between
// their requests.
func (b *builder) logLine(line []byte) error {
	var outer time.Time // of what the line is inside of
	inside := false     // of an object
	for range deepest {
		if b.format != nil {
			if r, kind := b.format.record(string(line)); kind != nothing {
				return b.logged(r, kind, outer, line)
			}
		}
		if line[0] == '{' {
			o, ok := readObject(line)
			if !ok {
				break
			}
			if r, kind := o.record(); b.format == nil && (kind == whole || kind == noInstant) {
				return b.logged(r, kind, outer, line)
			}
			inner, ok := unwrap.Message(line)
			if inner = bytes.TrimSpace(inner); !ok || len(inner) == 0 {
				b.example(string(line))
				b.leave(noRequest)
				return nil
			}
			if at := o.time(); !at.IsZero() {
				outer = at
			}
			line, inside = inner, true
			continue
		}
		at, inner := prefix(line)
		if len(inner) == len(line) || len(inner) == 0 {
			break
		}
		if !at.IsZero() {
			outer = at
		}
		line = inner
	}
	r, kind := b.textLine(string(line))
	if kind == nothing && inside { // a message
		kind = notOne
	}
	return b.logged(r, kind, outer, line)
}

// logged adds a request of a log, which has no bodies. outer is the time of what the line was inside of: it counts where the line has
// none, or whole seconds only.
func (b *builder) logged(r record, kind found, outer time.Time, line []byte) error {
	if r.at.IsZero() && kind == noInstant {
		r.at, kind = outer, whole
	}
	if d := outer.Sub(r.at); r.at.Nanosecond() == 0 && 0 <= d && d < 2*time.Second {
		r.at = outer
	}
	switch {
	case kind == nothing:
		b.example(string(line))
		b.leave(unreadable)
		return nil
	case kind == notOne:
		b.example(string(line))
		b.leave(noRequest)
		return nil
	case r.at.IsZero():
		want := "[" + commonTime + "]"
		if r.fields {
			want = `"ts" or "time": seconds since 1970 or 2006-01-02T15:04:05.999Z`
		}
		b.timeless(want, line)
		return nil
	}
	if why := whyNot(r.method, r.target, r.status, false); why != "" {
		b.leave(why)
		return nil
	}
	if r.status < 0 || r.status > 999 {
		r.status = 0
	}
	b.logs = true
	i, err := b.add(r.at, r.took, Request{Method: r.method, Target: r.target}, r.status, b.keep(r.headers))
	if i >= 0 {
		if r.host == "" && !strings.HasPrefix(r.target, "/") {
			if u, err := url.Parse(r.target); err == nil {
				r.host = u.Host
			}
		}
		b.seen[i].host = b.hostNumber(r.host)
		if r.number > 0 {
			b.numbers = append(b.numbers, number{i, r.number})
		}
	}
	return err
}

// prefix is what comes before the text of a program in the log of a container runtime (CRI: "2026-11-26T10:00:00.123456789Z stderr F ")
// or of syslog (RFC 5424: "<14>1 2026-11-26T10:00:00Z host app 12 - - "; RFC 3164: "<14>Nov 26 10:00:00 host app[12]: ").
// It returns the time in it, zero if that has no year, and what follows; all of the line if there is no such prefix. docker compose has "web-1  | ".
func prefix(line []byte) (at time.Time, rest []byte) {
	if name, inner, ok := bytes.Cut(line, []byte("| ")); ok && container.Match(name) {
		return at, bytes.TrimLeft(inner, " ")
	}
	if begins := line[0] == '<' || len(line) > 4 && (line[4] == '-' || line[3] == ' '); !begins { // as no time of a prefix does
		return at, line
	}
	rest = line
	if bytes.HasPrefix(line, []byte("<")) {
		if end := bytes.IndexByte(line[:min(len(line), 6)], '>'); end > 0 {
			rest = line[end+1:]
		}
	}
	fields := bytes.SplitN(rest, []byte(" "), 8)
	stamp := func(i int) (at time.Time, ok bool) {
		if i >= len(fields) || len(fields[i]) < len("2006-01-02T15:04:05Z") {
			return at, false
		}
		at, err := time.Parse(time.RFC3339Nano, string(fields[i]))
		return at, err == nil
	}
	switch at, ok := stamp(0); {
	case ok && len(fields) > 3 && (string(fields[1]) == "stdout" || string(fields[1]) == "stderr") && (string(fields[2]) == "F" || string(fields[2]) == "P"):
		return at, after(rest, 3)
	case ok && (len(rest) < len(line) || len(fields) > 2 && bytes.HasSuffix(fields[2], []byte("]:"))): // RFC 3164 with a time as RFC 3339 has it
		return at, afterTag(rest, 1, line)
	}
	if at, ok := stamp(1); ok && len(rest) < len(line) && string(fields[0]) == "1" && len(fields) > 7 { // RFC 5424
		text := after(rest, 6)
		if bytes.HasPrefix(text, []byte("- ")) {
			return at, text[2:]
		}
		if end := bytes.Index(text, []byte("] ")); bytes.HasPrefix(text, []byte("[")) && end > 0 {
			return at, text[end+2:]
		}
		return at, line
	}
	if len(rest) > len(time.Stamp) {
		if _, err := time.Parse(time.Stamp, string(rest[:len(time.Stamp)])); err == nil {
			return time.Time{}, afterTag(rest, len(bytes.Fields(rest[:len(time.Stamp)])), line)
		}
	}
	return time.Time{}, line
}

var container = regexp.MustCompile(`^[A-Za-z0-9_.-]+ +$`)

// after returns what follows a number of fields. One space or more ends a field.
func after(line []byte, fields int) []byte {
	for range fields {
		i := bytes.IndexByte(line, ' ')
		if i < 0 {
			return nil
		}
		line = bytes.TrimLeft(line[i:], " ")
	}
	return line
}

// afterTag is what follows the host and the tag "app[12]: " of a syslog line, after some fields of a time; else the line.
func afterTag(rest []byte, fields int, line []byte) []byte {
	text := after(rest, fields+1)
	tag, inner, ok := bytes.Cut(text, []byte(": "))
	if !ok || len(inner) == 0 || bytes.ContainsAny(tag, " \"") {
		return line
	}
	return bytes.TrimLeft(inner, " ")
}

// textLine reads a line of text: by its columns if the log has said what they are, as the common log format, or by what its parts are.
func (b *builder) textLine(line string) (record, found) {
	if strings.HasPrefix(line, "#") {
		if names, ok := strings.CutPrefix(line, "#Fields:"); ok {
			b.columns = strings.Fields(names)
		}
		return record{}, notOne
	}
	if b.format != nil {
		return record{}, nothing // else it had been read
	}
	if b.columns != nil {
		return columned(b.columns, line)
	}
	if strings.ContainsRune(line, '\x1b') {
		line = colours.ReplaceAllString(line, "")
	}
	if o, ok := pairs(line); ok {
		return b.pairs(o)
	}
	if r, ok := common(line); ok {
		return r, whole
	}
	r, kind := anyhow(line)
	if kind == whole || kind == noInstant {
		return r, kind
	}
	if o, ok := fieldsBehind(line); ok {
		if fields, k := o.record(); k == whole || k == noInstant {
			if at, known := instant(tokens(line), -1); known && k == noInstant {
				fields.at, k = at, whole
			}
			return fields, k
		}
	}
	return r, kind
}

// pairs reads the fields of a line of logfmt. The request may be in their message.
func (b *builder) pairs(o object) (record, found) {
	r, kind := o.record()
	message := text(o.find([]string{"msg", "message"}))
	if kind != notOne || message == "" {
		return r, kind
	}
	inner, kind := b.textLine(message) // which is shorter
	switch at := o.time(); {
	case kind == nothing:
		kind = notOne
	case kind == noInstant && !at.IsZero():
		inner.at, kind = at, whole
	}
	return inner, kind
}

// colours matches the sequences by which a terminal shows a text in colour.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// fieldsBehind is the JSON object, or the logfmt, behind the words of a line: zap's console encoder, lograge.
func fieldsBehind(line string) (o object, ok bool) {
	if i := strings.IndexByte(line, '{'); i > 0 && strings.HasSuffix(line, "}") {
		return readObject([]byte(line[i:]))
	}
	if i := strings.IndexByte(line, '='); i > 0 {
		return pairs(line[strings.LastIndexByte(line[:i], ' ')+1:])
	}
	return nil, false
}

// commonTime is the layout of times in the common log format: whole seconds.
const commonTime = "02/Jan/2006:15:04:05 -0700"

// common reads a line of the common or combined log format (https://httpd.apache.org/docs/current/logs.html). The host that was asked, or
// more, may stand before the time.
func common(line string) (r record, ok bool) {
	rest := line
	for r.at.IsZero() { // an address may be in brackets, too
		var stamp string
		if _, rest, ok = strings.Cut(rest, "["); !ok {
			return r, false
		}
		if stamp, rest, ok = strings.Cut(rest, "]"); !ok {
			return r, false
		}
		if len(stamp) >= len(commonTime) {
			r.at, _ = time.Parse(commonTime, stamp)
		}
	}
	before := line[:len(line)-len(rest)]
	request, rest, ok := quoted(rest)
	if !ok {
		return r, false
	}
	if r.method, r.target, ok = requestLine(request); !ok {
		return r, false
	}
	if first, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " "); len(first) == 3 {
		r.status, _ = strconv.Atoi(first)
	}
	first, second, _ := strings.Cut(before, " ")
	second, _, _ = strings.Cut(second, " ")
	if second != "-" { // nearly always it is
		r.host = virtualHost(first, second)
	}
	if referer, rest, ok := quoted(rest); ok {
		if agent, rest, ok := quoted(rest); ok { // combined
			r.headers = headersOf(referer, agent)
			if r.host == "" {
				r.host = upstream.FindString(rest)
			}
		}
	}
	return r, true
}

// upstream is the service that ingress-nginx sent a request to (its log-format-upstream: [NAMESPACE-SERVICE-PORT]), which tells requests to
// several apart as well as their hosts.
var upstream = regexp.MustCompile(`\[[a-z0-9-]+-[a-z0-9-]+-[a-z0-9]+\]`)

// headersOf returns the two headers of the combined format. There are none if the log has other texts in
// their places, such as a cookie.
func headersOf(referer, agent string) (headers []Header) {
	if referer != "" && referer != "-" && !strings.Contains(referer, "://") {
		return nil
	}
	for _, h := range []Header{{"Referer", referer}, {"User-Agent", agent}} {
		if h.Value != "" && h.Value != "-" {
			headers = append(headers, h)
		}
	}
	return headers
}

// virtualHost is the host that was asked, if it comes before the client's address (httpd), or behind it (lighttpd).
func virtualHost(first, second string) string {
	isAddr := func(s string) bool {
		_, err := netip.ParseAddr(strings.Trim(s, "[]"))
		return err == nil
	}
	switch {
	case isHost(first) && isAddr(second):
		return first
	case isHost(second) && isAddr(first):
		return second
	}
	return ""
}

// isHost reports whether a text is the name of a host, with or without a port, and no address.
func isHost(s string) bool {
	name, port, _ := strings.Cut(s, ":")
	if _, err := strconv.ParseUint("0"+port, 10, 32); err != nil || !strings.ContainsRune(name, '.') && port == "" && name != "localhost" {
		return false
	}
	letter := false
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			letter = true
		case '0' <= c && c <= '9' || c == '.' || c == '-':
		default:
			return false
		}
	}
	return letter
}

// columned reads a line of the W3C's extended log file format, which names its columns (https://www.w3.org/TR/WD-logfile.html): IIS, CloudFront.
func columned(names []string, line string) (record, found) {
	values := strings.Split(line, "\t")
	if len(values) < 2 {
		values = strings.Fields(line)
	}
	if len(values) < len(names) {
		return record{}, nothing
	}
	get := func(name string) string {
		i := slices.Index(names, name)
		if i < 0 || values[i] == "-" {
			return ""
		}
		return values[i]
	}
	r := record{method: get("cs-method"), target: get("cs-uri-stem"), host: cmp.Or(get("x-host-header"), get("cs-host"))}
	if !isMethod(r.method) || r.target == "" {
		return r, notOne
	}
	if query := get("cs-uri-query"); query != "" {
		r.target += "?" + query
	}
	r.status, _ = strconv.Atoi(get("sc-status"))
	agent := get("cs(User-Agent)")
	if !strings.Contains(line, "\t") { // IIS has + for a space
		agent = strings.ReplaceAll(strings.ReplaceAll(agent, "+", " "), "  ", " +")
	}
	if agent, err := unescapeQuery(agent); err == nil {
		r.headers = headersOf(get("cs(Referer)"), agent)
	}
	if get("x-edge-location") != "" { // CloudFront: the time is that of the end
		r.took = seconds(get("time-taken"))
	}
	var ok bool
	if r.at, ok = parseTime(get("date") + " " + get("time")); !ok {
		return r, noInstant
	}
	return r, whole
}
