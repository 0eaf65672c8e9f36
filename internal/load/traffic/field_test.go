package traffic

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Lines of the documentation of servers, loggers and tools, and of public reports, each with what it says: when after the first line of its
// case, status, method and target.
func TestFieldLines(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		left             []string
	}{
		{"Envoy and Istio: the time is that of the start", `[2026-04-23T12:07:22.912Z] "GET /productpage HTTP/1.1" 200 - "-" 0 5723 32 31 "10.1.2.3" "curl/7.64.0" "8cda8b91-1111-2222-3333-444455556666" "example.com" "127.0.0.1:9080" inbound|9080|http|productpage.default.svc.cluster.local - 10.60.1.30:9080 10.1.2.3:0 -
[2026-04-23T12:07:23.101Z] "GET /b HTTP/1.1" 503 UF "-" 0 91 5 - "10.1.2.3" "curl/7.64.0" "8cda8b91-1111-2222-3333-444455556667" "example.com" "-" - - 10.60.1.30:9080 10.1.2.3:0 -
[2026-04-23T12:07:24.101Z] "GET /c HTTP/1.1" 200 - via_upstream - "-" 0 91 5 4 "-" "Mozilla/5.0 (X11)" "8cda8b91-1111-2222-3333-444455556668" "other.example:8080" "10.0.0.1:80" outbound|80||x 10.0.0.2:1 10.0.0.1:80 10.0.0.2:2 x -
[2026-04-23T12:07:25.101Z] "- - -" 0 - - - "-" 5 5 10 - "-" "-" "-" "-" "10.0.0.1:3306" outbound - - - - -
`, "0s 200 GET /productpage\n189ms 503 GET /b\n", []string{"1 lines without a request", "1 requests of other hosts than example.com"}},
		{"gin: the time is that of the end", `[GIN] 2026/11/26 - 08:33:33 | 200 |  1.187118477s |       127.0.0.1 | GET      "/v1/get_data"
[GIN] 2026/11/26 - 08:33:35 | 404 |     152.391µs |       127.0.0.1 | GET      "/v1/x?a=b"
[GIN-debug] Listening and serving HTTP on :8080
`, "0s 200 GET /v1/get_data\n3.3s 404 GET /v1/x?a=b\n", []string{"1 lines that cannot be read"}},
		{"a banner before JSON, and JSON before text", "Starting server on :8080\n" + `{"time":"2026-11-26T10:00:00.123Z","level":"INFO","msg":"request","method":"GET","path":"/a","status":200}
{"time":"2026-11-26T10:00:00.223Z","level":"INFO","msg":"request","method":"GET","path":"/b","status":200}
10.0.0.1 - - [26/Nov/2026:10:00:01.5 +0000] "GET /c HTTP/1.1" 200 5
`, "0s 200 GET /a\n100ms 200 GET /b\n1.377s 200 GET /c\n", []string{"1 lines that cannot be read"}},
		{"an address of IPv6 in brackets", `[2001:db8::1] - - [26/Nov/2026:10:00:00.5 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8"` + "\n", "0s 200 GET /a User-Agent=curl/8\n", nil},
		{"AWS ALB: when the request was created", `h2 2026-09-10T23:55:00.361692Z app/lb/6378464905b0814a 10.0.1.2:50718 10.0.0.0:80 0.000 0.003 0.000 200 200 29 805 "GET https://api.example.com:443/api/v1/alerts/me/outstanding HTTP/2.0" "okhttp/4.11.0" TLS_AES_128_GCM_SHA256 TLSv1.3 arn:aws:x "Root=1-5-6" "api.example.com" "session-reused" 11 2026-09-10T23:55:00.358000Z "forward" "-" "-" "10.0.0.0:80" "200" "-" "-"
https 2026-09-10T23:55:00.561692Z app/lb/6378464905b0814a 10.0.1.2:50718 - -1 -1 -1 502 - 29 805 "GET https://api.example.com:443/b HTTP/1.1" "okhttp/4.11.0" - - arn:aws:x "Root=1-5-6" "api.example.com" "session-reused" 11 2026-09-10T23:55:00.458000Z "forward" "-" "-" "-" "-" "-" "-"
`, "0s 200 GET /api/v1/alerts/me/outstanding\n100ms 502 GET /b\n", nil},
		{"several hosts: that of most requests", `a.example:443 10.0.0.1 - - [26/Nov/2026:10:00:00.1 +0000] "GET /a HTTP/2.0" 200 5
b.example:443 10.0.0.1 - - [26/Nov/2026:10:00:00.2 +0000] "GET /b HTTP/2.0" 200 5
a.example:443 10.0.0.1 - - [26/Nov/2026:10:00:00.3 +0000] "GET /c HTTP/2.0" 200 5
`, "0s 200 GET /a\n200ms 200 GET /c\n", []string{"1 requests of other hosts than a.example"}},
		{"several hosts in JSON", `{"start_time":"2026-11-25T10:00:01.000Z","method":"GET","path":"/a","response_code":200,"authority":"a.example"}
{"start_time":"2026-11-25T10:00:01.100Z","method":"GET","path":"/b","response_code":200,"authority":"b.example"}
{"start_time":"2026-11-25T10:00:01.200Z","method":"GET","path":"/c","response_code":200,"authority":"a.example"}
`, "0s 200 GET /a\n200ms 200 GET /c\n", []string{"1 requests of other hosts than a.example"}},
		{"HAProxy behind syslog", `<134>Nov 26 10:00:01 lb haproxy[14389]: 10.0.1.2:33317 [26/Nov/2026:10:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"
Nov 26 10:00:01 lb haproxy[14389]: 10.0.1.2:33317 [26/Nov/2026:10:00:00.755] http-in static/srv1 10/0/30/69/109 304 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /b HTTP/1.1"
`, "0s 200 GET /index.html\n100ms 304 GET /b\n", nil},
		{"Kubernetes (CRI): text and JSON of a container", `2026-11-26T10:00:00.223456789Z stdout F {"time":"2026-11-26T10:00:00.123Z","msg":"request","method":"GET","path":"/a","status":200}
2026-11-26T10:00:00.323Z stderr F 10.0.0.1 - - [26/Nov/2026:10:00:00.223 +0000] "GET /b HTTP/1.1" 200 5
2026-11-26T10:00:00.423Z stdout F GET /c 200 1ms
`, "0s 200 GET /a\n100ms 200 GET /b\n300ms 200 GET /c\n", nil},
		{"docker's json-file around a text", `{"log":"10.0.0.1 - - [26/Nov/2026:10:00:00.1 +0000] \"GET /a HTTP/1.1\" 200 5\n","stream":"stdout","time":"2026-11-26T10:00:00.2Z"}
{"log":"{\"ts\":1795687200.25,\"method\":\"GET\",\"url\":\"/b\",\"status\":201}\n","stream":"stdout","time":"2026-11-26T10:00:00.3Z"}
{"log":"GET /c 200\n","stream":"stdout","time":"2026-11-26T10:00:00.35Z"}
`, "0s 200 GET /a\n150ms 201 GET /b\n250ms 200 GET /c\n", nil},
		{"journald", `{"MESSAGE":"10.0.0.1 - - [26/Nov/2026:10:00:00.1 +0000] \"GET /a HTTP/1.1\" 200 5","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795687200200000"}` + "\n", "0s 200 GET /a\n", nil},
		{"RFC 5424", `<14>1 2026-11-26T10:00:00.2Z host app 12 - - GET /a 200` + "\n" + `<14>1 2026-11-26T10:00:00.3Z host app 12 ID47 [x@1 a="b"] {"method":"GET","path":"/b","status":200}` + "\n", "0s 200 GET /a\n100ms 200 GET /b\n", nil},
		{"logfmt: slog's text handler, logrus, Grafana", `time=2026-11-26T10:00:00.100Z level=INFO msg="request done" method=GET path=/a status=200
level=info ts=2026-11-26T10:00:00.25Z method=GET path="/b c" status=404 duration=2ms
level=info ts=2026-11-26T10:00:00.25Z msg="started"
`, "0s 200 GET /a\n150ms 404 GET /b%20c\n", []string{"1 lines without a request"}},
		{"CloudFront", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query time-taken\n" +
			"2026-11-26\t10:00:01\tFRA2\t392\t10.0.0.1\tGET\td1.cloudfront.net\t/a\t200\t-\tMozilla/5.0%2520(X11)\tx=1\t0.750\n", "0s 200 GET /a?x=1 User-Agent=Mozilla/5.0 (X11)\n", []string{"2 lines without a request"}},
		{"IIS", "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip sc-status time-taken\n" +
			"2026-11-26 10:00:01 10.0.0.2 GET /a x=1 443 - 10.0.0.1 200 15\n", "0s 200 GET /a?x=1\n", []string{"2 lines without a request"}},
		{"httpd with other times in its brackets", `10.0.0.1 - - [2026-11-26T10:00:00.250+0100] "GET /a HTTP/1.1" 200 5
10.0.0.1 - - [Thu Nov 26 09:00:00.500000 2026] "GET /b HTTP/1.1" 200 5
10.0.0.1 - - [2026-11-26 09:00:00.750] "GET /c HTTP/1.1" 200 5
`, "0s 200 GET /a\n250ms 200 GET /b\n500ms 200 GET /c\n", nil},
		{"Google Cloud, as a JSON array", `[
  {"httpRequest": {"requestMethod": "GET", "requestUrl": "https://a.example/x", "status": 200, "latency": "0.005s"}, "timestamp": "2026-11-25T10:00:02.5Z"},
  5,
  {"httpRequest": {"requestMethod": "GET", "requestUrl": "https://a.example/y", "status": 200}, "timestamp": "2026-11-25T10:00:02.75Z"}
]`, "0s 200 GET /x\n250ms 200 GET /y\n", []string{"1 lines that cannot be read"}},
		{"Fastify: two lines of one request", `{"level":30,"time":1795687200100,"pid":1,"hostname":"node-1","reqId":"req-1","req":{"method":"GET","url":"/a","host":"a.example:3000","remoteAddress":"127.0.0.1"},"msg":"incoming request"}
{"level":30,"time":1795687200150,"pid":1,"hostname":"node-1","reqId":"req-1","res":{"statusCode":200},"responseTime":1.2,"msg":"request completed"}
`, "0s 0 GET /a\n", []string{"1 lines without a request"}},
		{"a request that is logged when it begins and when it ends", `{"time":"2026-11-26T10:00:00.1Z","msg":"request started","method":"GET","path":"/a"}
{"time":"2026-11-26T10:00:00.2Z","msg":"request completed","method":"GET","path":"/a","status":200}
{"time":"2026-11-26T10:00:00.3Z","msg":"request started","method":"GET","path":"/b"}
{"time":"2026-11-26T10:00:00.5Z","msg":"request completed","method":"GET","path":"/b","status":200}
`, "0s 200 GET /a\n200ms 200 GET /b\n", []string{"2 " + twice}},
		{"a duration that is called as a time", `{"time_local":"26/Nov/2026:10:00:00.5 +0000","request":"GET /a HTTP/1.1","status":"200","time":0.012}
{"time_local":"26/Nov/2026:10:00:01.75 +0000","request":"GET /b HTTP/1.1","status":"200","time":0.5}
`, "0s 200 GET /a\n1.25s 200 GET /b\n", nil},
		{"whole seconds in a container, whose own time is finer", `2026-11-26T10:00:00.250456789Z stdout F 10.0.0.1 - - [26/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5
2026-11-26T10:00:01.750456789Z stdout F 10.0.0.1 - - [26/Nov/2026:10:00:01 +0000] "GET /b HTTP/1.1" 200 5
`, "0s 200 GET /a\n1.5s 200 GET /b\n", nil},
		{"a request in the message of logfmt", `time=2026-11-26T10:00:00.1Z level=INFO msg="GET /a 200 1.2ms"
time=2026-11-26T10:00:00.3Z level=INFO msg="10.0.0.1 - - [26/Nov/2026:10:00:00.2 +0000] \"GET /b HTTP/1.1\" 404 5"
`, "0s 200 GET /a\n100ms 404 GET /b\n", nil},
		{"docker compose", "web-1  | 10.0.0.1 - - [26/Nov/2026:10:00:00.5 +0000] \"GET /a HTTP/1.1\" 200 5\n", "0s 200 GET /a\n", nil},
		{"words that are no methods, and services of a mesh", `{"ts":1795687200.25,"msg":"config loaded","method":"load","path":"/etc/app.yaml"}
{"start_time":"2026-11-25T10:00:01.100Z","method":"GET","path":"/a","response_code":200,"authority":"reviews"}
{"start_time":"2026-11-25T10:00:01.200Z","method":"GET","path":"/b","response_code":200,"authority":"ratings"}
{"start_time":"2026-11-25T10:00:01.300Z","method":null,"path":null,"response_code":0,"authority":null}
{"start_time":"2026-11-25T10:00:01.400Z","method":"GET","path":"/c","response_code":200,"authority":"ratings"}
`, "0s 200 GET /b\n200ms 200 GET /c\n", []string{"2 lines without a request", "1 requests of other hosts than ratings"}},
		{"odd prefixes", `<14>1 2026-11-26T10:00:00Z host app    started
{"msg":"  Jan 2 15:04:05"}
10.0.0.1 - - [26/Nov/2026:10:00:00.5 +0000] "GET /a HTTP/1.1" 200 5
`, "0s 200 GET /a\n", []string{"1 lines that cannot be read", "1 lines without a request"}},
		{"a cookie in the place of the referer", `10.0.0.1 - - [26/Nov/2026:10:00:00.5 +0000] "GET /a HTTP/1.1" 200 5 "session=abc" "curl/8"` + "\n", "0s 200 GET /a\n", nil},
		{"two JSON arrays, the second cut off", `[{"httpRequest": {"requestMethod": "GET", "requestUrl": "/x", "status": 200}, "timestamp": "2026-11-25T10:00:02.5Z"}]
[{"httpRequest": {"requestMethod": "GET", "requestUrl": "/y", "status": 200}, "timestamp": "2026-11-25T10:00:02.75Z"},
 {"httpRequest": {"requestMethod": "GE`, "0s 200 GET /x\n250ms 200 GET /y\n", []string{"1 lines that cannot be read"}},
		{"Caddy with duration_format nano", `{"ts":1795636374.5,"msg":"handled request","request":{"method":"GET","uri":"/b"},"duration":150000000,"status":200}
{"ts":1795636374.5,"msg":"handled request","request":{"method":"GET","uri":"/a"},"duration":52341,"status":200}
{"ts":1795636374.5,"level":"error","logger":"http.log.error.log0","msg":"dial","request":{"method":"GET","uri":"/a"},"duration":52341,"status":502}
`, "0s 200 GET /b\n149.947659ms 200 GET /a\n", []string{"1 lines without a request"}},
		{"Caddy with duration_format ms and string", `{"ts":1795636374.5,"msg":"handled request","request":{"method":"GET","uri":"/a"},"duration":250,"status":200}
{"ts":1795636374.5,"msg":"handled request","request":{"method":"GET","uri":"/c"},"duration":"50ms","status":200}
{"ts":1795636374.5,"msg":"handled request","request":{"method":"GET","uri":"/d"},"duration":0.025,"status":200}
`, "0s 200 GET /a\n200ms 200 GET /c\n225ms 200 GET /d\n", nil},
		{"Traefik's JSON", `{"StartUTC":"2026-11-26T10:00:00.25Z","RequestHost":"a.example","RequestMethod":"GET","RequestPath":"/a","DownstreamStatus":200,"msg":"","time":"2026-11-26T10:00:00Z"}
{"StartUTC":"2026-11-26T10:00:00.5Z","RequestHost":"a.example","RequestMethod":"GET","RequestPath":"/b","DownstreamStatus":200,"msg":"","time":"2026-11-26T10:00:00Z"}
`, "0s 200 GET /a\n250ms 200 GET /b\n", nil},
		{"a file of UTF-8 with a mark and CRLF", "\ufeff" + `10.0.0.1 - - [26/Nov/2026:10:00:00.5 +0000] "GET /a HTTP/1.1" 200 5` + "\r\n", "0s 200 GET /a\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recorded(t, c.text, false)
			got := lines(r)
			if strings.HasPrefix(c.name, "gin") { // whole seconds are spread at random
				if r.Len() != 2 || r.Times()[1].Seconds() < 2.1 || r.Times()[1].Seconds() > 4.2 || !r.Facts.WholeSeconds {
					t.Errorf("%s", got)
				}
				return
			}
			if got != c.want || !reflect.DeepEqual(r.Facts.Left, c.left) {
				t.Errorf("got %s\nwant %s\nleft out %q, want %q", got, c.want, r.Facts.Left, c.left)
			}
		})
	}
}

// GoReplay's payloads: what is put together wrongly is left out, chunks are taken apart, and the order in the file does not matter.
func TestFieldGor(t *testing.T) {
	const sep = "\n🐵🙈🙉\n"
	r := recorded(t, "1 a 1795636366000000000 0\nPOST /auctions HTTP/1.1\r\nContent-Length: 207\r\n\r\nabcdefgh\nPOST /auctions2 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\n"+strings.Repeat("x", 200)+sep+
		"1 b 1795636367000000000 0\nPOST /behind HTTP/1.1\r\nContent-Length: 2\r\n\r\nabmore"+sep+
		"1 c 1795636369000000000 0\nPOST /chunked HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"+sep+
		"1 d 1795636368500000000 0\nGET /early HTTP/1.1\r\n\r\n"+sep, false)
	if got, want := lines(r), "0s 0 GET /early\n500ms 0 POST /chunked \"hello world\"\n"; got != want || !reflect.DeepEqual(r.Facts.Left, []string{"2 payloads with more than one request"}) {
		t.Errorf("got %s\nwant %s\nleft out %q", got, want, r.Facts.Left)
	}
}

// One odd entry costs that entry.
func TestFieldHAR(t *testing.T) {
	r := recorded(t, `{"log": {"entries": [
{"startedDateTime": "2026-11-25T10:00:00Z", "request": {"method": "GET", "url": "https://a.example/a", "headers": [], "bodySize": "0"}, "response": {"status": 200}},
{"startedDateTime": 5, "request": {"method": "GET", "url": "https://a.example/b", "headers": []}, "response": {"status": 200}},
{"startedDateTime": "2026-11-25T10:00:01.5Z", "request": {"method": "GET", "url": "https://a.example/c", "headers": []}, "response": {"status": "200"}},
{"startedDateTime": "2026-11-25T10:00:02.5Z", "request": {"method": "POST", "url": "https://a.example/d", "headers": [], "bodySize": "7"}, "response": {"status": 200}}
]}}`, false)
	if got, want := lines(r), "0s 200 GET /a\n"; got != want || !reflect.DeepEqual(r.Facts.Left, []string{"2 entries that cannot be read", "1 POST requests, as the recording lacks their bodies"}) {
		t.Errorf("got %s\nwant %s\nleft out %q", got, want, r.Facts.Left)
	}
}

// Each line of the corpus is read as it says. The lines are of many formats, and each is read by itself.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(string(text), "\n\n")[1:]
	if len(entries) < 60 {
		t.Errorf("%d entries", len(entries))
	}
	for _, entry := range entries {
		var b = newBuilder(false)
		name, rest, _ := strings.Cut(entry, "\n")
		line, want, ok := strings.Cut(rest, "\n= ")
		if !ok {
			t.Fatalf("%s: nothing is wanted", name)
		}
		if f, rest, ok := strings.Cut(line, "\n"); ok && strings.HasPrefix(f, "$ ") {
			if b.format, err = parseFormat(f[2:]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			line = rest
		}
		for l := range strings.Lines(line) {
			clear(b.left) // of "#Fields"
			if err := b.logLine([]byte(strings.TrimRight(l, "\n"))); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.TrimSpace(reading(b)); got != strings.TrimSpace(want) {
			t.Errorf("%s\n%s\n got %s\nwant %s", name, line, got, want)
		}
	}
}

// reading is what a builder has of one line.
func reading(b *builder) string {
	for why := range b.left {
		return why
	}
	if len(b.seen) != 1 {
		return "?"
	}
	s := b.seen[0]
	q := b.distinct[s.which]
	said := strings.TrimPrefix(time.Unix(0, s.at).UTC().Format("2006-01-02T15:04:05.999999999"), "2026-11-26T")
	said += fmt.Sprintf(" %d %s %s", s.code(), q.method.Value(), q.target)
	for host, n := range b.hosts {
		if n == s.host {
			said += " " + host
		}
	}
	for _, h := range b.sets[q.headers] {
		said += " " + h.Name + "=" + h.Value
	}
	return said
}
