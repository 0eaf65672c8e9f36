package traffic

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// quoted returns the first text in quotes, in which servers escape bytes, and what follows.
func quoted(s string) (text, rest string, ok bool) {
	_, s, ok = strings.Cut(s, `"`)
	if !ok {
		return "", "", false
	}
	end := 0
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", "", false
	}
	return unescaped(s[:end]), s[end+1:], true
}

func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if s[i] == 'x' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// requestLine splits "GET /path HTTP/1.1".
func requestLine(s string) (method, target string, ok bool) {
	method, target, ok = strings.Cut(s, " ")
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target = target[:i]
	}
	return method, target, ok && isMethod(method) && target != ""
}

func isMethod(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'A' || c > 'Z') && c != '-' })
}

// The names of fields in the JSON logs of common servers and loggers: Caddy, nginx, Traefik, Envoy, Google Cloud, Elastic's
// schema, pino, slog, zap. Of two in a line, the first counts: when a request began rather than when it was logged, and the
// finer time. A dot leads into an object, or is a part of the name.
var (
	timeNames   = []string{"StartUTC", "StartLocal", "start_time", "startTime", "startedDateTime", "msec", "ts", "@timestamp", "timestamp", "time", "t", "requestTime", "time_iso8601", "time_local", "datetime", "date"}
	methodNames = []string{"request.method", "method", "request_method", "RequestMethod", "requestMethod", "httpRequest.requestMethod", "http.request.method", "http.method", "http_method", "httpMethod", "req.method", "verb"}
	targetNames = []string{"request.uri", "request_uri", "requestURI", "RequestURI", "RequestPath", "httpRequest.requestUrl", "requestUrl", "url.original", "uri", "http.target", "http.url", "req.url", "request.url", "request.path", "url.path", "path", "url", "request_path", "target"}
	queryNames  = []string{"args", "query", "query_string", "RawQuery", "url.query"}
	hostNames   = []string{"request.host", "RequestHost", "authority", ":authority", "http_host", "vhost", "req.headers.host", "req.host", "http.host", "url.domain", "host"}
	statusNames = []string{"status", "DownstreamStatus", "status_code", "statusCode", "response_code", "httpRequest.status", "http.response.status_code", "http.status_code", "response.status", "res.statusCode", "code"}
)

// An object is a JSON object whose values are not read yet.
type object map[string]json.RawMessage

// find is the first value that has one of the names.
func (o object) find(names []string) json.RawMessage {
	for _, name := range names {
		if v := o.get(name); v != nil {
			return v
		}
	}
	return nil
}

func (o object) get(name string) json.RawMessage {
	if v, ok := o[name]; ok && len(v) > 0 && v[0] != '{' {
		return v
	}
	outer, inner, ok := strings.Cut(name, ".")
	if v := o[outer]; ok && len(v) > 0 && v[0] == '{' {
		var nested object
		if json.Unmarshal(v, &nested) == nil {
			return nested.get(inner)
		}
	}
	return nil
}

// text is a value without its quotes.
func text(v json.RawMessage) string {
	if len(v) > 0 && v[0] == '"' {
		if body := v[1 : len(v)-1]; !bytes.ContainsRune(body, '\\') {
			return string(body)
		}
		var s string
		_ = json.Unmarshal(v, &s) // it is valid
		return s
	}
	return string(v)
}

// readObject reads a JSON object.
func readObject(line []byte) (o object, ok bool) {
	return o, json.Unmarshal(line, &o) == nil
}

// record reads an object with the fields of a request.
func (o object) record() (r record, kind found) {
	var headers struct {
		Request struct {
			Method, URI, Host string
			Headers           map[string][]string
		}
	}
	caddy := bytes.HasPrefix(o["request"], []byte("{"))
	if caddy {
		_ = json.Unmarshal(o["request"], &headers.Request) // what is not Caddy's is empty
	}
	r.fields = true
	var known bool
	r.method, r.target, known = requestLine(text(o.get("request"))) // nginx's $request
	if !known {
		if r.method, r.target = headers.Request.Method, headers.Request.URI; r.method == "" || r.target == "" {
			r.method, r.target = strings.ToUpper(text(o.find(methodNames))), text(o.find(targetNames))
		}
		if query := text(o.find(queryNames)); query != "" && query != "-" && query != "null" && !strings.Contains(r.target, "?") {
			r.target += "?" + strings.TrimPrefix(query, "?")
		}
	}
	if !isMethod(r.method) || r.target == "" {
		return r, notOne
	}
	r.status, _ = strconv.Atoi(text(o.find(statusNames)))
	if r.host = text(o.find(hostNames)); !isHost(r.host) {
		r.host = ""
	}
	for name, values := range headers.Request.Headers {
		for _, v := range values {
			r.headers = append(r.headers, Header{name, v})
		}
	}
	r.took = o.took(caddy)
	if r.at, known = parseTime(text(o.find(timeNames))); !known {
		return r, noInstant
	}
	return r, whole
}

// took is how long a request took where the line's time is that of its end, 0 if that is not known: those that took long
// came long before.
func (o object) took(caddy bool) time.Duration {
	switch {
	case caddy && o["ts"] != nil && o["duration"] != nil:
		return caddyDuration(text(o["duration"]))
	case o["msec"] != nil && o["request_time"] != nil: // of nginx, $msec is the time of the log
		return seconds(text(o["request_time"]))
	}
	return 0
}

// caddyDuration reads a duration as Caddy writes it (duration_format): a text, or a number. A fraction means seconds. A whole number means
// milliseconds, or nanoseconds if it is large: nothing else tells them apart.
func caddyDuration(s string) time.Duration {
	const leastNano = 100_000
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return seconds(s)
	case n < leastNano:
		return time.Duration(n) * time.Millisecond
	}
	return seconds(strconv.FormatFloat(float64(n)/1e9, 'f', 9, 64))
}

// seconds reads a number of seconds, or a duration as Go writes it.
func seconds(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if f, bad := strconv.ParseFloat(s, 64); bad == nil {
		d, err = time.Duration(f*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > 24*time.Hour {
		return 0
	}
	return d
}

var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", commonTime, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006/01/02 15:04:05",
	"02/Jan/2006:15:04:05", "Mon Jan _2 15:04:05 2006", "02/Jan/2006 15:04:05", "2006-01-02 15:04:05 Z0700"}

// parseTime reads a time as a text, or as a number since 1970 whose size tells the unit.
func parseTime(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, false
	}
	if '0' <= s[0] && s[0] <= '9' && !strings.ContainsAny(s, "-:/") {
		return sinceEpoch(s)
	}
	if i := strings.IndexByte(s, ','); i > 0 { // as Python and log4j write a fraction
		s = s[:i] + "." + s[i+1:]
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, inRange(at)
		}
	}
	return time.Time{}, false
}

// inRange reports whether nanoseconds since 1970 have a time.
func inRange(at time.Time) bool { return at.Year() >= 1970 && at.Year() < 2200 }

// sinceEpoch keeps all digits of a decimal, of which a float would lose some.
func sinceEpoch(s string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.ContainsAny(fraction, "eE+") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f < math.MaxInt64/2) {
			return time.Time{}, false
		}
		n, fraction = int64(f), strconv.FormatFloat(f-math.Floor(f), 'f', 9, 64)[2:]
	}
	unit := int64(time.Second)
	for most := int64(100_000_000_000); n >= most && unit > 1; most *= 1000 {
		unit /= 1000
	}
	digits := 0
	for u := unit; u > 1; u /= 10 {
		digits++
	}
	part, err := strconv.ParseUint(("0" + fraction + "000000000")[:digits+1], 10, 63)
	if err != nil {
		return time.Time{}, false
	}
	at := time.Unix(n/(int64(time.Second)/unit), n%(int64(time.Second)/unit)*unit+int64(part))
	return at, inRange(at)
}
