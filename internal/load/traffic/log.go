package traffic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
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
	known := slices.Contains(methods, method)
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target, known = target[:i], known || isMethod(method)
	}
	return method, target, ok && known && target != ""
}

func isMethod(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'A' || c > 'Z') && c != '-' })
}

// The names of fields in the JSON logs of common servers and loggers: Caddy, nginx, Traefik, Envoy, Google Cloud, Elastic's
// schema, pino, slog, zap. Of two in a line, the first counts: when a request began rather than when it was logged, and the
// finer time. A dot leads into an object, or is a part of the name.
var (
	timeNames   = []string{"StartUTC", "StartLocal", "start_time", "startTime", "startedDateTime", "started_at", "EdgeStartTimestamp", "requestReceivedTimestamp", "requestTimeEpoch", "msec", "ts", "@timestamp", "timestamp", "timeStamp", "time", "t", "requestTime", "@t", "time_iso8601", "time_local", "datetime", "date"}
	methodNames = []string{"request.method", "method", "request_method", "RequestMethod", "requestMethod", "httpRequest.requestMethod", "http.request.method", "http.method", "http_method", "httpMethod", "properties.httpMethod", "ClientRequestMethod", "req.method", "verb"}
	targetNames = []string{"request.uri", "request_uri", "requestURI", "RequestURI", "RequestPath", "httpRequest.requestUrl", "requestUrl", "url.original", "uri", "http.target", "http.url", "req.url", "http.request.uri", "properties.requestUri", "ClientRequestURI", "request.url", "request.path", "url.path", "path", "url", "request_path", "target"}
	queryNames  = []string{"args", "query", "query_string", "RawQuery", "url.query"}
	hostNames   = []string{"request.host", "RequestHost", "authority", ":authority", "http_host", "vhost", "req.headers.host", "req.host", "http.host", "http.request.host", "url.domain", "properties.host", "ClientRequestHost", "request.headers.host", "host"}
	statusNames = []string{"status", "DownstreamStatus", "status_code", "statusCode", "StatusCode", "response_code", "httpRequest.status", "http.response.status_code", "http.response.status", "http.status_code", "response.status", "res.statusCode", "properties.httpStatus", "EdgeResponseStatus", "responseStatus.code", "code"}
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
	if v, ok := o[name]; ok && len(v) > 0 && v[0] != '{' && string(v) != "null" {
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

// readObject reads a JSON object. That of an nginx without escape=json has bytes such as \x22, which JSON does not know.
func readObject(line []byte) (o object, ok bool) {
	err := json.Unmarshal(line, &o)
	if err != nil && bytes.Contains(line, []byte(`\x`)) {
		err = json.Unmarshal(escapedByte.ReplaceAllFunc(line, func(s []byte) []byte {
			c, _ := strconv.ParseUint(string(s[2:]), 16, 8)
			if c < 0x80 {
				return fmt.Appendf(nil, `\u%04x`, c)
			}
			return []byte{byte(c)} // of a letter in UTF-8
		}), &o)
	}
	return o, err == nil
}

var escapedByte = regexp.MustCompile(`\\x[0-9A-Fa-f]{2}`)

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
		if query := text(o.find(queryNames)); query != "" && query != "-" && !strings.Contains(r.target, "?") {
			r.target += "?" + strings.TrimPrefix(query, "?")
		}
	}
	if o["auditID"] != nil { // Kubernetes: each request has several lines, and a verb of its own kind
		if stage := text(o["stage"]); stage != "" && stage != "ResponseComplete" {
			return r, notOne
		}
		r.method = cmp.Or(verbs[r.method], r.method)
	}
	logger := text(o["logger"]) // Caddy logs a request that failed a second time, and what it asked of others
	if !known && !slices.Contains(methods, r.method) || r.target == "" || caddy && strings.HasPrefix(logger, "http.") && !strings.HasPrefix(logger, "http.log.access") {
		return r, notOne
	}
	r.status, _ = strconv.Atoi(text(o.find(statusNames)))
	r.host = o.host()
	for name, values := range headers.Request.Headers {
		for _, v := range values {
			r.headers = append(r.headers, Header{name, v})
		}
	}
	r.took, r.number = o.took(caddy)
	if r.at = o.time(); r.at.IsZero() {
		return r, noInstant
	}
	return r, whole
}

// time is the first of the names that holds one: a number in a field "time" may be how long it took. Without one it is zero.
func (o object) time() time.Time {
	for _, name := range timeNames {
		if at, ok := parseTime(text(o.get(name))); ok {
			return at
		}
	}
	return time.Time{}
}

// host is the host that was asked. Shippers of logs call the machine "host", too.
func (o object) host() string {
	v := o.find(hostNames)
	host := text(v)
	shipped := o["source_type"] != nil || o["short_message"] != nil || o["agent"] != nil
	if named := o.find(hostNames[:len(hostNames)-1]); named == nil && (shipped || !isHost(host)) || host == "-" {
		return ""
	}
	return host
}

// verbs are the methods of Kubernetes' verbs (https://kubernetes.io/docs/reference/access-authn-authz/authorization/).
var verbs = map[string]string{"LIST": "GET", "WATCH": "GET", "CREATE": "POST", "UPDATE": "PUT", "DELETECOLLECTION": "DELETE"}

// took returns how long a request took, if the time of its line is that of its end: slow requests came long
// before. It is 0 if that is not known. Caddy writes a text, a fraction of seconds, or a whole number whose
// unit the line does not tell (duration_format).
func (o object) took(caddy bool) (took time.Duration, number int64) {
	switch {
	case caddy && o["ts"] != nil && o["duration"] != nil:
		s := text(o["duration"])
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return 0, n
		}
		return seconds(s), 0
	case o["msec"] != nil && o["request_time"] != nil: // of nginx, $msec is the time of the log
		return seconds(text(o["request_time"])), 0
	}
	return 0, 0
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

// inRange reports whether a request may have come then. Near 1970 a number is how long something took.
func inRange(at time.Time) bool { return at.UTC().Year() >= 1990 && at.Year() < 2200 }

// sinceEpoch keeps all digits of a decimal. A float would lose some.
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
