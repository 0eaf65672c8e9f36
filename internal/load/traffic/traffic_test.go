package traffic

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/safe"
)

// recorded reads a text as a recording.
func recorded(t testing.TB, text string, secrets bool) *Recording {
	t.Helper()
	r, err := read(key{file: file(t, text), secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// lines has a line for each request: when, status, method, target, headers and body.
func lines(r *Recording) string {
	var out strings.Builder
	for i, at := range r.Times() {
		q := r.Request(i)
		fmt.Fprintf(&out, "%v %d %s %s", at, r.Status(i), q.Method, q.Target)
		for _, h := range q.Headers {
			fmt.Fprintf(&out, " %s=%s", h.Name, h.Value)
		}
		if q.Body != "" {
			fmt.Fprintf(&out, " %q", q.Body)
		}
		out.WriteString("\n")
	}
	return out.String()
}

const har = `{"log": {"version": "1.2", "creator": {"name": "x", "entries": []}, "pages": [{"id": "1"}], "entries": [
{"startedDateTime": "2026-11-25T10:00:00.250Z", "request": {"method": "POST", "url": "https://shop.example/cart?x=1#top", "headers": [
  {"name": ":authority", "value": "shop.example"}, {"name": "accept-encoding", "value": "gzip, br"}, {"name": "cookie", "value": "id=1"},
  {"name": "content-length", "value": "7"}, {"name": "content-type", "value": "application/json"}, {"name": "connection", "value": "keep-alive"}],
  "bodySize": 7, "postData": {"mimeType": "application/json", "text": "{\"n\":1}"}}, "response": {"status": 422, "content": {"text": "no"}}},
{"startedDateTime": "2026-11-25T12:00:00.000+02:00", "request": {"method": "GET", "url": "https://shop.example/", "headers": []}, "response": {"status": 200}},
{"startedDateTime": "2026-11-25T10:00:01Z", "request": {"method": "GET", "url": "https://cdn.example/a.js", "headers": []}, "response": {"status": 200}},
{"startedDateTime": "2026-11-25T10:00:01Z", "_resourceType": "websocket", "request": {"method": "GET", "url": "wss://shop.example/ws", "headers": []}, "response": {"status": 101}},
{"startedDateTime": "2026-11-25T10:00:02Z", "request": {"method": "POST", "url": "https://shop.example/form", "headers": [], "bodySize": 3, "postData": {"params": [{"name": "a", "value": "b c"}]}}, "response": {"status": 200}},
{"startedDateTime": "2026-11-25T10:00:03Z", "request": {"method": "PUT", "url": "https://shop.example/file", "headers": [], "bodySize": 9}, "response": {"status": 200}}
]}}`

var gor = "1 a1 1795636366250000000 0\nPOST /form?x=1 HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer t\r\nAccept: */*\r\nContent-Length: 5\r\n\r\na\r\n\nb\n🐵🙈🙉\n" +
	"1 a2 1795636366000000001 0\nGET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\n🐵🙈🙉\n" +
	"2 a1 1795636366350000000 9\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n\n🐵🙈🙉\n" +
	"3 a1 1795636366350000000 9\nHTTP/1.1 200 OK\r\n\r\n\n🐵🙈🙉\n" +
	"1 a3 1795636366240000000 0\nGET /a%20b HTTP/1.1\r\nHost: a.example\r\nX-Api-Key: 1\r\n\r\n\n🐵🙈🙉\n" +
	"1 a4 1795636366240000000 0\nPUT /cut HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc\n🐵🙈🙉\n"

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		left             []string
		secrets          int
	}{
		{"combined, of nginx and httpd, unsorted; hosts and durations beside do not matter",
			`a.example:80 10.0.0.1 - al [25/Nov/2026:10:00:03.500 +0100] "GET /b?x=1 HTTP/1.1" 404 12 "https://r.example/" "Mozilla/5.0 (\"x\")" 0.002` + "\n" +
				`10.0.0.1 - - [25/Nov/2026:09:00:01.250 +0000] "HEAD /a\x22b HTTP/2.0" 200 - "-" "-"` + "\r\n" +
				`10.0.0.1 - - [25/Nov/2026:09:00:02.250 +0000] "GET http://a.example/c HTTP/1.1" 200 5` + "\n",
			"0s 200 HEAD /a%22b\n1s 200 GET /c\n2.25s 404 GET /b?x=1 Referer=https://r.example/ User-Agent=Mozilla/5.0 (\"x\")\n", nil, 0},
		{"what an access log cannot tell, or no service takes",
			strings.Repeat(`x - - [25/Nov/2026:09:00:01.5 +0000] "POST /a HTTP/1.1" 200 5`+"\n", 3) +
				`x - - [25/Nov/2026:09:00:01.5 +0000] "PATCH /a HTTP/1.1" 200 5` + "\n" + `x - - [25/Nov/2026:09:00:01.5 +0000] "-" 408 0` + "\n" +
				`x - - [25/Nov/2026:09:00:01.5 +0000] "CONNECT a:443 HTTP/1.1" 405 0` + "\n" + `x - - [25/Nov/2026:09:00:01.5 +0000] "OPTIONS * HTTP/1.0" 200 0` + "\n" +
				`x - - [25/Nov/2026:09:00:01.5 +0000] "GET /ws HTTP/1.1" 101 0` + "\n" + `x - - [25/Nov/2026:09:00:01.5 +0000] "GET / HTT` + "\nnonsense\n" +
				`x - - [now] "GET / HTTP/1.1" 200 1` + "\n" + `x - - [25/Nov/2026:09:00:01.5 +0000] "GET a/b HTTP/1.1" 400 1` + "\n" +
				`x - - [25/Nov/2026:09:00:01.5 +0000] "DELETE /a HTTP/1.1" 204 0` + "\n",
			"0s 204 DELETE /a\n", []string{
				"3 POST requests, as the recording lacks their bodies", "2 lines that cannot be read", "1 CONNECT requests, which have no path", "1 OPTIONS * requests, which have no path",
				"1 PATCH requests, as the recording lacks their bodies", "1 WebSockets", "1 lines without a request", "1 requests with a bad path", "1 requests without a time"}, 0},
		{"Caddy: the time of the log is that of the end",
			`{"level":"info","ts":1795636374.5,"msg":"serving"}` + "\n" +
				`{"level":"info","ts":1795636374.5000001,"msg":"handled request","request":{"method":"GET","host":"a","uri":"/slow?v=1","headers":{"Authorization":["REDACTED"],"Accept-Encoding":["gzip"],"Cookie":["a=b"]}},"duration":0.25,"status":401}` + "\n" +
				`{"level":"info","ts":1795636374.2900001,"msg":"handled request","request":{"method":"GET","uri":"/fast","headers":{}},"duration":0.05,"status":200}` + "\n",
			"0s 200 GET /fast\n10ms 401 GET /slow?v=1 Accept-Encoding=gzip\n", []string{"1 header values that the log itself has redacted", "1 lines without a request"}, 1},
		{"nginx: one request line, or its parts",
			`{"msec":"1795636374.500","request":"GET /a HTTP/1.1","status":"200","request_time":"0.100"}` + "\n" +
				`{"time_iso8601":"2026-11-25T19:52:55+00:00","msec":1795636374.750,"request_method":"GET","uri":"/b","args":"x=1","status":404,"request_time":0.1}` + "\n",
			"0s 200 GET /a\n250ms 404 GET /b?x=1\n", nil, 0},
		{"Traefik, Envoy, Google Cloud, Elastic, pino, slog, zap",
			`{"StartUTC":"2026-11-25T10:00:00.000000001Z","time":"2026-11-25T10:00:09Z","RequestMethod":"GET","RequestPath":"/traefik","DownstreamStatus":200}` + "\n" +
				`{"start_time":"2026-11-25T10:00:01.25Z","method":"GET","path":"/envoy","response_code":503}` + "\n" +
				`{"timestamp":"2026-11-25T10:00:02.5Z","httpRequest":{"requestMethod":"GET","requestUrl":"https://a.example/gcp?x","status":200}}` + "\n" +
				`{"@timestamp":"2026-11-25T10:00:03.25Z","http.request.method":"get","url":{"original":"/elastic"},"http":{"response":{"status_code":200}}}` + "\n" +
				`{"time":1795600804250,"req":{"method":"GET","url":"/pino"},"res":{"statusCode":200}}` + "\n" +
				`{"time":"2026-11-25T12:00:05.25+02:00","level":"INFO","msg":"done","method":"GET","path":"/slog","status":200}` + "\n" +
				`{"ts":1.79560080625e9,"method":"GET","url":"/zap","status":200}` + "\n" +
				`{"time":1795600807250000,"method":"GET","url":"/micro"}` + "\n" + `{"time":"1795600808250000000","method":"GET","url":"/nano"}` + "\n",
			"0s 200 GET /traefik\n1.249999999s 503 GET /envoy\n2.499999999s 200 GET /gcp?x\n3.249999999s 200 GET /elastic\n4.249999999s 200 GET /pino\n" +
				"5.249999999s 200 GET /slog\n6.249999999s 200 GET /zap\n7.249999999s 0 GET /micro\n8.249999999s 0 GET /nano\n", nil, 0},
		{"HAR: one host of a page, without secrets",
			har, "0s 200 GET /\n250ms 422 POST /cart?x=1 Accept-Encoding=gzip, br Content-Type=application/json \"{\\\"n\\\":1}\"\n2s 200 POST /form \"a=b+c\"\n",
			[]string{"1 PUT requests, as the recording lacks their bodies", "1 WebSockets", "1 requests of other hosts than https://shop.example"}, 1},
		{"GoReplay: bodies, and the status of answers",
			gor, "0s 0 GET /a%20b\n10ms 404 POST /form?x=1 Accept=*/* \"a\\r\\n\\nb\"\n",
			[]string{"1 PUT requests, as the recording lacks their bodies", "1 WebSockets"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recorded(t, c.text, false)
			if got := lines(r); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if !reflect.DeepEqual(r.Facts.Left, c.left) || r.Facts.Secrets != c.secrets || r.Facts.WholeSeconds {
				t.Errorf("left out %q, %d secrets, whole seconds: %v; want %q and %d", r.Facts.Left, r.Facts.Secrets, r.Facts.WholeSeconds, c.left, c.secrets)
			}
		})
	}
}

func TestSecretsOnlyWhenAskedFor(t *testing.T) {
	for _, text := range []string{har, gor} {
		got := lines(recorded(t, text, true))
		if !strings.Contains(got, "Cookie=id=1") && !strings.Contains(got, "Authorization=Bearer t") {
			t.Errorf("no secret in\n%s", got)
		}
	}
}

// At the begin of their second they would be a burst that never was.
func TestWholeSecondsAreSpread(t *testing.T) {
	var log strings.Builder
	for second := range 10 {
		for i := range 1000 {
			fmt.Fprintf(&log, "x - - [25/Nov/2026:09:00:%02d +0000] \"GET /%d HTTP/1.1\" 200 5\n", second, 1000*second+i)
		}
	}
	r := recorded(t, log.String(), false)
	if !r.Facts.WholeSeconds || r.Facts.Requests != 10_000 {
		t.Fatalf("%+v", r.Facts)
	}
	for i, at := range r.Times() {
		if r.Request(i).Target != fmt.Sprintf("/%d", i) {
			t.Fatalf("request %d is %s: their order changed", i, r.Request(i).Target)
		}
		// Of 1000 at random, the n-th lies within 6 standard deviations, of 16 ms at most, of where it is expected.
		if want := time.Duration(i) * time.Millisecond; (at - want).Abs() > 100*time.Millisecond {
			t.Fatalf("request %d is at %v, want some %v", i, at, want)
		}
	}
	if again := recorded(t, log.String(), false); !reflect.DeepEqual(again.Times(), r.Times()) {
		t.Error("read twice, it has other times")
	}
	if p := r.Facts.Peak; p < 1000 || p > 2000 {
		t.Errorf("the densest tenth of a second has %d requests per second", p)
	}
}

// Agents get what this machine read, whatever the format was.
func TestWrittenIsRead(t *testing.T) {
	for _, text := range []string{har, gor, strings.Repeat(`x - - [25/Nov/2026:09:00:01 +0000] "GET /?q=%22 HTTP/1.1" 404 5`+"\n", 5)} {
		r := recorded(t, text, true)
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if err := r.WriteGor(z); err != nil {
			t.Fatal(err)
		}
		z.Close()
		back := recorded(t, out.String(), true)
		if lines(back) != lines(r) || back.Facts.Left != nil || back.Facts.WholeSeconds || back.Facts.Length != r.Facts.Length {
			t.Errorf("%+v\n%sbecame %+v\n%s", r.Facts, lines(r), back.Facts, lines(back))
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"a\nb\n", "no request in it can be sent again; left out: 2 lines that cannot be read; line 1: \"a\": in it is no request such as GET /path, no time (want an access log"},
		{`{"method":"GET","path":"/"}` + "\n", `line 1: no time in it (want for example "ts"`},
		{`x - - [yesterday] "GET / HTTP/1.1" 200 5` + "\n", "line 1: no time in it (want for example [02/Jan/2006:15:04:05 -0700]; consider: --log-format): \"x - - [yesterday]"},
		{`{"log": {"entries": [{]}}`, "it is no HAR file"},
		{"\x1f\x8bx", "gzip"},
	} {
		_, err := Read(&dyno.Load{Replay: file(t, c.text)})
		var mistake *dyno.PlanError
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		} else if mistake, _ = err.(*dyno.PlanError); mistake == nil || strings.Join(mistake.Key, ".") != "load.replay" {
			t.Errorf("%v is not a mistake of load.replay", err)
		}
	}
	if _, err := Read(&dyno.Load{Replay: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a directory: %v", err)
	}
}

// A log that is written all the time has more lines in each trial.
func TestGrowingLog(t *testing.T) {
	const line = `x - - [25/Nov/2026:09:00:01 +0000] "GET / HTTP/1.1" 200 5` + "\n"
	l := dyno.Load{Replay: file(t, strings.Repeat(line, 3))}
	if err := Note(&l); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Replay, []byte(strings.Repeat(line, 9)), 0o666); err != nil {
		t.Fatal(err)
	}
	last.Recording = nil
	if r, err := Read(&l); err != nil || r.Len() != 3 {
		t.Errorf("%v, %v; want the 3 requests of the plan", r, err)
	}
	if err := os.WriteFile(l.Replay, []byte(line), 0o666); err != nil {
		t.Fatal(err)
	}
	last.Recording = nil
	if _, err := Read(&l); err == nil || !strings.Contains(err.Error(), "shorter than when the run began") {
		t.Errorf("a rotated log: %v", err)
	}
}

// A million equal requests take some 30 bytes each.
func TestMemoryIsBounded(t *testing.T) {
	const n = 500_000
	var log bytes.Buffer
	for i := range n {
		fmt.Fprintf(&log, "x - - [25/Nov/2026:09:%02d:%02d +0000] \"GET /item/%d HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n", i/60%60, i%60, i%1000)
	}
	var before, after runtime.MemStats
	name := file(t, log.String())
	log = bytes.Buffer{}
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := read(key{file: name})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := float64(after.HeapAlloc-before.HeapAlloc) / n; each > 30 || len(r.distinct) != 1000 {
		t.Errorf("%.1f bytes a request, %d distinct ones", each, len(r.distinct))
	}
	runtime.KeepAlive(r)
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		har, gor, `{"ts":1.5e9,"request":{"method":"GET","uri":"/","headers":{"A":["b"]}},"duration":0.1,"status":404}`, `{"time":"x","request":"GET / HTTP/1.1"}`,
		`x - - [25/Nov/2026:09:00:01 +0000] "GET /a b HTTP/1.1" 200`, `x - - [25/Nov/2026:09:00:01 +0000] "GET /\x22 HTTP/1.1" 200 5 "-" "a\\"`, "1 a 1\n🐵🙈🙉\n", `{"log":{"entries":[[],{}]}}`,
	} {
		f.Add([]byte(text))
	}
	corpus, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(corpus) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := newBuilder(false)
		if b.read(bytes.NewReader(text)) != nil {
			return
		}
		r, err := b.finish()
		if err != nil {
			return
		}
		for i, at := range r.Times() {
			q := r.Request(i)
			if at < 0 || i > 0 && at < r.Times()[i-1] || at >= time.Duration(r.Facts.Length) {
				t.Fatalf("request %d is at %v", i, at)
			}
			if !isMethod(q.Method) || !strings.HasPrefix(q.Target, "/") || strings.ContainsAny(q.Target, " \r\n") {
				t.Fatalf("request %d: %s %q", i, q.Method, q.Target)
			}
			for _, h := range q.Headers {
				if safe.Secret(h.Name) || strings.ContainsAny(h.Name+h.Value, "\r\n") {
					t.Fatalf("request %d has header %q", i, h)
				}
			}
		}
	})
}

// Whatever the format and the line, a value is a part of the line, and each is of a variable of the format.
func FuzzFormat(f *testing.F) {
	f.Add("$remote_addr [$time_local] \"$request\" $status", `10.0.0.1 [26/Nov/2026:10:00:00 +0000] "GET /\"a\" HTTP/1.1" 200 5`)
	f.Add("${msec}|$request_method|$uri|$http_x", `1.5|GET|/a|\x22{`)
	f.Fuzz(func(t *testing.T, s, line string) {
		format, err := parseFormat(s)
		if err != nil || format == nil {
			return
		}
		values, _, ok := format.values(line)
		if r, kind := format.record(line); !ok && (kind != nothing || r.method != "") {
			t.Fatalf("%q is as %q says, and is not", line, s)
		}
		for name, v := range values {
			if !strings.Contains(s, name) || len(text(v)) > len(line) {
				t.Fatalf("%s of %q is %q", name, line, v)
			}
		}
	})
}
