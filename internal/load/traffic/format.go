package traffic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A format says what is where in a line: variables, with texts between them, as in nginx's log_format
// (https://nginx.org/en/docs/http/ngx_http_log_module.html). Names are those of nginx, or of the fields of JSON logs. Others are passed over.
type format []column

// A column is a variable, and the text behind it. The first column has no name: its text is before the first variable.
type column struct{ name, until string }

var variable = regexp.MustCompile(`\$(?:\{\w+\}|\w+)`)

// parseFormat reads a format. It must have a request and a time, and a text between each two variables.
func parseFormat(s string) (f format, err error) {
	if s == "" {
		return nil, nil
	}
	const example = `such as '$remote_addr [$time_local] "$request" $status'`
	at, name := 0, ""
	has := object{}
	for _, m := range variable.FindAllStringIndex(s, -1) {
		until := s[at:m[0]]
		if f != nil && until == "" {
			return nil, fmt.Errorf("log format %q: $%s has nothing behind it that tells where it ends (want a text, such as a space, between two variables)", s, name)
		}
		f = append(f, column{name, until})
		name = strings.Trim(s[m[0]:m[1]], "${}")
		has[name] = json.RawMessage("?")
		at = m[1]
	}
	f = append(f, column{name, s[at:]})
	switch {
	case has["request"] == nil && (has.find(methodNames) == nil || has.find(targetNames) == nil):
		return nil, fmt.Errorf("log format %q has no request (want $request, or $request_method and $request_uri, %s)", s, example)
	case has.find(timeNames) == nil:
		return nil, fmt.Errorf("log format %q has no time (want $time_local, $time_iso8601, $msec or $time, %s)", s, example)
	}
	return f, nil
}

// values returns the values of a line's variables. ok is false if the line does not have the format; missing
// is then the first text that the line lacks.
func (f format) values(line string) (values object, missing column, ok bool) {
	values = make(object, len(f))
	for i, c := range f {
		value, rest := line, ""
		if c.until != "" {
			end := endOf(line, c.until)
			if end < 0 && i == len(f)-1 && i > 0 { // a line may end before the last text
				end = len(line)
			}
			if end < 0 || i == 0 && end > 0 {
				return nil, c, false
			}
			value, rest = line[:end], line[min(end+len(c.until), len(line)):]
		} else if i == 0 {
			value, rest = "", line
		} else if !c.spaces() { // the last, which may have more behind
			value, _, _ = strings.Cut(line, " ")
		}
		if c.name != "" && value != "-" && values[c.name] == nil {
			values[c.name] = valueOf(unescaped(value))
		}
		line = rest
	}
	return values, column{}, true
}

// spaces reports whether the values of a variable may have spaces.
func (c *column) spaces() bool {
	return c.name == "request" || strings.HasPrefix(c.name, "http_") || slices.Contains(timeNames, c.name)
}

// endOf returns where the text before until ends, -1 if until does not follow. A quote that a server has
// escaped ends nothing.
func endOf(line, until string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], until)
		if i < 0 {
			return -1
		}
		i += from
		before := line[:i]
		if until[0] != '"' || (len(before)-len(strings.TrimRight(before, `\`)))%2 == 0 {
			return i
		}
		from = i + 1
	}
}

// valueOf is a text as the value of an object's field.
func valueOf(text string) json.RawMessage {
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "{") { // which would be taken for JSON
		quoted, _ := json.Marshal(text) // a string has no error
		return quoted
	}
	return json.RawMessage(text)
}

// record reads a line that is as the format says.
func (f format) record(line string) (r record, kind found) {
	values, _, ok := f.values(line)
	if !ok {
		return r, nothing
	}
	r, kind = values.record()
	if r.took == 0 { // nginx logs the end of a request, in whichever time
		r.took = seconds(text(values["request_time"]))
	}
	for name, value := range values {
		if header, ok := strings.CutPrefix(name, "http_"); ok && !slices.Contains(hostNames, name) && len(value) > 0 {
			r.headers = append(r.headers, Header{strings.ReplaceAll(header, "_", "-"), text(value)})
		}
	}
	return r, kind
}

// misfit says where a line is not as the format says.
func (f format) misfit(line string) string {
	_, missing, _ := f.values(line)
	if missing.name == "" {
		return fmt.Sprintf("it does not begin with %q as the log format says", missing.until)
	}
	return fmt.Sprintf("the log format wants %q behind $%s", missing.until, missing.name)
}
