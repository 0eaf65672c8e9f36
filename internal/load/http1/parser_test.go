package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A query is what a response answers, as far as the parser cares.
type query struct {
	head   bool
	keep   int64
	fields bool
}

// A reading is what a parser made of a response, and of the end of the
// connection if the response wanted more.
type reading struct {
	Status int
	Bytes  int64
	Body   string
	Header http.Header
	Close  bool
	Done   bool // before the connection ended
	N      int  // bytes that belong to the response, if Done
	Err    error
}

// read feeds pieces to p. A piece is overwritten as soon as it was fed, as a
// socket's buffer is.
func read(t testing.TB, p *Parser, q query, pieces iter.Seq[[]byte]) reading {
	t.Helper()
	p.Reset(q.head, q.keep, q.fields)
	var r reading
	var buf []byte
	for piece := range pieces {
		buf = append(buf[:0], piece...)
		n, done, err := p.Feed(buf)
		clear(buf)
		if n > len(piece) || n < len(piece) && !done && err == nil {
			t.Fatalf("feed of %d bytes: n = %d, done = %v", len(piece), n, done)
		}
		r.N, r.Done, r.Err = r.N+n, done, err
		if done || err != nil {
			break
		}
	}
	if !r.Done && r.Err == nil {
		r.Err = p.EOF()
	}
	if !r.Done {
		r.N = 0
	}
	if c := cap(p.line); c > 2*maxHeader {
		t.Errorf("the parser holds a line buffer of %d bytes", c)
	}
	if c := cap(p.same); c > 2*maxSame {
		t.Errorf("the parser holds a header of %d bytes", c)
	}
	if c := int64(cap(p.Body)); c > 2*max(q.keep, 1<<10) {
		t.Errorf("the parser holds a body buffer of %d bytes to keep %d", c, q.keep)
	}
	r.Status, r.Bytes, r.Body, r.Header, r.Close = p.Status, p.Bytes, string(p.Body), p.Header, p.Close
	return r
}

func inOnePiece(s string) iter.Seq[[]byte] { return slices.Values([][]byte{[]byte(s)}) }

func bytewise(s string) iter.Seq[[]byte] { return slices.Chunk([]byte(s), 1) }

func splitAt(s string, i int) iter.Seq[[]byte] {
	return slices.Values([][]byte{[]byte(s[:i]), []byte(s[i:])})
}

// splits cuts s at random; pieces may be empty.
func splits(s string, seed uint64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		for s != "" {
			n := min(len(s), r.IntN(1+1<<r.IntN(10)))
			if !yield([]byte(s[:n])) {
				return
			}
			s = s[n:]
		}
	}
}

// readAll reads raw in every split, which must not matter, and with a parser
// that has read it before.
func readAll(t *testing.T, raw string, q query) reading {
	t.Helper()
	var used Parser
	want := read(t, new(Parser), q, inOnePiece(raw))
	same := func(how string, p *Parser, pieces iter.Seq[[]byte]) {
		if got := read(t, p, q, pieces); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v\n%.1000q", how, got, want, raw)
		}
	}
	same("used", &used, inOnePiece(raw))
	same("used twice", &used, inOnePiece(raw))
	same("bytewise", new(Parser), bytewise(raw))
	same("used, bytewise", &used, bytewise(raw))
	for i := range min(len(raw), 600) {
		same(fmt.Sprint("split at ", i), new(Parser), splitAt(raw, i))
		same(fmt.Sprint("used, split at ", i), &used, splitAt(raw, i))
	}
	return want
}

const ok = "HTTP/1.1 200 OK\r\n"

var responses = []struct {
	name, raw, more string // more bytes follow the response
	head            bool
	status          int
	body            string
	close           bool
	rest            bool // ends with the connection
}{
	{name: "length", raw: ok + "Content-Length: 5\r\n\r\nhello", status: 200, body: "hello"},
	{name: "empty", raw: ok + "Content-Length: 0\r\n\r\n", status: 200},
	{name: "more", raw: ok + "Content-Length: 2\r\n\r\nhi", more: "HTTP/1.1 200 OK\r\n", status: 200, body: "hi"},
	{name: "LF", raw: "HTTP/1.1 404 Not Found\nContent-Length: 2\nX: y\n\nno", status: 404, body: "no"},
	{name: "no phrase", raw: "HTTP/1.1 500 \r\ncontent-length:1\r\n\r\nx", status: 500, body: "x"},
	{name: "no space", raw: "HTTP/1.1 999\r\nCONTENT-LENGTH: \t 1 \t\r\n\r\nx", status: 999, body: "x"},
	{name: "phrase in Latin-1", raw: "HTTP/1.1 200 \xe9t\xe9\tbon\r\nX: \xff\tz\r\nEmpty:\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x"},
	{name: "equal lengths", raw: ok + "Content-Length: 3\r\nContent-Length: 03\r\n\r\nabc", status: 200, body: "abc"},
	{name: "list of lengths", raw: ok + "Content-Length: 3, 3\r\n\r\nabc", status: 200, body: "abc"},
	{name: "close", raw: ok + "Connection: foo, Close\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x", close: true},
	{name: "not close", raw: ok + "Connection: closed\r\nX-Connection: close\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x"},
	{name: "to the end", raw: ok + "Server: x\r\n\r\nhello", status: 200, body: "hello", close: true, rest: true},
	{name: "nothing to the end", raw: ok + "\r\n", status: 200, close: true, rest: true},
	{name: "1.0", raw: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x", close: true},
	{name: "1.0 kept", raw: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x"},
	{name: "1.0 to the end", raw: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx", status: 200, body: "x", close: true, rest: true},
	{name: "1.0 chunked", raw: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", status: 200, body: "x", close: true},
	{name: "HEAD", raw: ok + "Content-Length: 10000000000\r\n\r\n", head: true, status: 200},
	{name: "HEAD chunked", raw: ok + "Transfer-Encoding: chunked\r\n\r\n", head: true, status: 200},
	{name: "HEAD without length", raw: ok + "\r\n", head: true, status: 200},
	{name: "204", raw: "HTTP/1.1 204 No Content\r\n\r\n", status: 204},
	{name: "304", raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", status: 304},
	{name: "interim", raw: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\n" + ok + "Content-Length: 1\r\n\r\nx", status: 200, body: "x"},
	{name: "101", raw: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", more: "\x81\x00", status: 101, close: true},
	{name: "chunked", raw: ok + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n00B\r\n, the world\r\n0\r\n\r\n", more: "0", status: 200, body: "hello, the world"},
	{name: "hex", raw: ok + "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n1F\r\n" + strings.Repeat("z", 31) + "\r\n000\r\n\r\n", status: 200, body: "0123456789" + strings.Repeat("z", 31)},
	{name: "extensions", raw: ok + "Transfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n1 \t; b=\"c;\xff\"\r\ny\r\n1  \r\nz\r\n0;last\r\n\r\n", status: 200, body: "xyz"},
	{name: "trailers", raw: ok + "Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\nContent-Length: 7\r\nSet-Cookie: a=b\r\n\r\n", status: 200, body: "x"},
	{name: "chunked and length", raw: ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", status: 200, body: "x", close: true},
	{name: "gzip, chunked", raw: ok + "Transfer-Encoding: gzip,, chunked ,\r\n\r\n1\r\nx\r\n0\r\n\r\n", status: 200, body: "x"},
	{name: "gzip and chunked", raw: ok + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 200},
	{name: "chunked, gzip", raw: ok + "Transfer-Encoding: chunked, gzip\r\nContent-Length: 1\r\n\r\n1\r\nx", status: 200, body: "1\r\nx", close: true, rest: true},
	{name: "empty coding after chunked", raw: ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", status: 200},
	{name: "empty coding", raw: ok + "Transfer-Encoding:\r\nContent-Length: 1\r\n\r\nxy", status: 200, body: "xy", close: true, rest: true},
	{name: "long header", raw: ok + "Content-Length: 1\r\nX: " + strings.Repeat("y", 3000) + "\r\n\r\nx", status: 200, body: "x"},
}

func TestParserGood(t *testing.T) {
	for _, c := range responses {
		t.Run(c.name, func(t *testing.T) {
			got := readAll(t, c.raw+c.more, query{head: c.head, keep: 1 << 20})
			want := reading{Status: c.status, Bytes: int64(len(c.body)), Body: c.body, Close: c.close, Done: !c.rest}
			if want.Done {
				want.N = len(c.raw)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			got = readAll(t, c.raw+c.more, query{head: c.head, keep: 3})
			if want.Body = c.body[:min(3, len(c.body))]; !reflect.DeepEqual(got, want) {
				t.Errorf("keeping 3:\n got %+v\nwant %+v", got, want)
			}
			agree(t, c.raw+c.more, query{head: c.head})
		})
	}
}

func TestParserHeader(t *testing.T) {
	const raw = "HTTP/1.1 103 Early Hints\r\nLink: x\r\nSet-Cookie: no=1\r\n\r\n" +
		ok + "eTAG:  \"1\"\r\nX: a\r\nset-cookie: a=1; Path=/\r\nx: b \r\nContent-Length: 0\r\nSet-Cookie: b=2\r\n\r\n"
	got := readAll(t, raw, query{fields: true}).Header
	want := http.Header{"Etag": {`"1"`}, "X": {"a", "b"}, "Set-Cookie": {"a=1; Path=/", "b=2"}, "Content-Length": {"0"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("all fields:\n got %v\nwant %v", got, want)
	}
	got = readAll(t, raw, query{}).Header
	if want := (http.Header{"Set-Cookie": want["Set-Cookie"]}); !reflect.DeepEqual(got, want) {
		t.Errorf("none asked for:\n got %v\nwant %v", got, want)
	}
}

// TestParserReuse has a connection answer in turn with everything that is good:
// nothing of a response may show in the next.
func TestParserReuse(t *testing.T) {
	var p Parser
	for i := range 4000 {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		c := responses[r.IntN(len(responses))]
		q := query{c.head, int64(r.IntN(20)), r.IntN(4) == 0}
		want := read(t, new(Parser), q, inOnePiece(c.raw))
		if got := read(t, &p, q, inOnePiece(c.raw)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: %s:\n got %+v\nwant %+v", i, c.name, got, want)
		}
	}
}

// TestParserRecorded reads what servers have sent: Go 1.26's net/http, Node's
// http, Python 3.11's http.server.
func TestParserRecorded(t *testing.T) {
	files := recorded(t)
	if len(files) < 10 {
		t.Fatalf("%d files", len(files))
	}
	for name, raw := range files {
		q := query{head: strings.Contains(name, "-head-"), keep: 1 << 10, fields: true}
		if got := readAll(t, raw, q); got.Err != nil || got.Status == 0 || got.Done && got.N != len(raw) {
			t.Errorf("%s (%d bytes): %+v", name, len(raw), got)
		}
		if !agree(t, raw, q) {
			t.Errorf("%s: refused", name)
		}
	}
}

func recorded(t testing.TB) map[string]string {
	files := make(map[string]string)
	names, _ := filepath.Glob("testdata/responses/*.http")
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(raw)
	}
	return files
}

// agree compares the parser with net/http and reports whether both accept raw.
// Where both do they must see the same response, with these exceptions:
//   - net/http ignores Transfer-Encoding in HTTP/1.0.
//   - It keeps a connection that sent both Transfer-Encoding and Content-Length,
//     and leaves one that switched protocols to its caller.
//   - It takes connection management out of the header, adds Cache-Control for
//     Pragma and makes equal lengths one.
//
// It refuses what the parser takes: codings but chunked, lists of lengths, long
// trailers, much of chunk extensions. It takes what the parser refuses: folded
// lines, spaces before the colon and after the version, signs and zeros in the
// status, versions but 1, lengths over 1 GiB, control bytes in phrases and in
// chunk extensions.
func agree(t testing.TB, raw string, q query) bool {
	t.Helper()
	q.keep, q.fields = int64(len(raw)), true
	var p Parser
	got := read(t, &p, q, inOnePiece(raw))
	want, ok := reference(raw, q.head)
	if got.Err != nil || !ok || p.frame.old && p.frame.coding != codingNone {
		return false
	}
	if got.Status == http.StatusSwitchingProtocols || p.frame.length >= 0 && p.frame.coding != codingNone {
		got.Close, want.Close = false, false
	}
	if !got.Done {
		want.N = 0
	}
	for _, h := range []http.Header{got.Header, want.Header} {
		for _, name := range []string{"Connection", "Transfer-Encoding", "Trailer", "Content-Length"} {
			h.Del(name)
		}
		if len(h["Pragma"]) > 0 {
			h.Del("Cache-Control")
		}
	}
	if got.Header == nil {
		got.Header = http.Header{} // net/http has no nil
	}
	want.Done = got.Done
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the parser and net/http disagree (HEAD %v)\n got %+v\nwant %+v\n%.1000q", q.head, got, want, raw)
	}
	return true
}

func reference(raw string, head bool) (r reading, ok bool) {
	method := "GET"
	if head {
		method = "HEAD"
	}
	src := strings.NewReader(raw)
	br := bufio.NewReader(src)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			return r, false
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		return reading{
			Status: resp.StatusCode, Bytes: int64(len(body)), Body: string(body), Header: resp.Header,
			Close: resp.Close, N: len(raw) - src.Len() - br.Buffered(),
		}, err == nil
	}
}

func TestParserAllocs(t *testing.T) {
	long := strings.Repeat("long ", 2000)
	for _, c := range []struct {
		name, raw string
		split     int
		keep      int64
	}{
		{"length", fmt.Sprintf(plainResponse, 1), 0, 0},
		{"keep", fmt.Sprintf(plainResponse, 1), 0, 200},
		{"split", fmt.Sprintf(plainResponse, 1), 20, 200},
		{"chunked", chunkedResponse, 0, 200},
		{"chunked, split", chunkedResponse, 100, 200},
		{"long", ok + "X: " + long + "\r\nContent-Length: 10000\r\n\r\n" + long, 5000, 1 << 20},
	} {
		var p Parser
		b := []byte(c.raw)
		allocs := testing.AllocsPerRun(100, func() {
			p.Reset(false, c.keep, false)
			_, done, err := p.Feed(b[:c.split])
			if !done && err == nil {
				_, done, err = p.Feed(b[c.split:])
			}
			if !done || err != nil {
				t.Fatal(done, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", c.name, allocs)
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, c := range responses {
		f.Add([]byte(c.raw+c.more), c.head, uint16(100), false, uint64(1))
	}
	for _, c := range hostile {
		f.Add([]byte(c.raw+c.again+c.again), false, uint16(3), true, uint64(2))
	}
	for name, raw := range recorded(f) {
		f.Add([]byte(raw), strings.Contains(name, "-head-"), uint16(1000), true, uint64(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, head bool, keep uint16, fields bool, seed uint64) {
		raw, q := string(data), query{head, int64(keep), fields}
		want := read(t, new(Parser), q, inOnePiece(raw))
		var used Parser
		read(t, &used, query{}, inOnePiece(fmt.Sprintf(plainResponse, 1)))
		for _, pieces := range []iter.Seq[[]byte]{bytewise(raw), splits(raw, seed), inOnePiece(raw), inOnePiece(raw), splits(raw, seed+1)} {
			if got := read(t, &used, q, pieces); !reflect.DeepEqual(got, want) {
				t.Fatalf("splits differ:\n got %+v\nwant %+v", got, want)
			}
		}
		if want.Done && want.N > len(raw) || want.Bytes > int64(len(raw)) || int64(len(want.Body)) != min(q.keep, want.Bytes) {
			t.Fatalf("impossible: %+v", want)
		}
		// The response alone is the response.
		if want.Done {
			if got := read(t, &used, q, inOnePiece(raw[:want.N])); !reflect.DeepEqual(got, want) {
				t.Fatalf("without what follows:\n got %+v\nwant %+v", got, want)
			}
		}
		agree(t, raw, q)
	})
}

const (
	plainResponse   = ok + "Date: Tue, 10 Nov 2026 23:00:%02d GMT\r\nContent-Length: 12\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nhello world\n"
	chunkedResponse = ok + "Date: Tue, 10 Nov 2026 23:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n6\r\nworld\n\r\n0\r\n\r\n"
)

// BenchmarkParser reads a response that comes in one piece. "same" differs from
// the one before not even in the date, as most do; "varying" in the date.
func BenchmarkParser(b *testing.B) {
	same := [2][]byte{[]byte(fmt.Sprintf(plainResponse, 1)), []byte(fmt.Sprintf(plainResponse, 1))}
	varying := [2][]byte{same[0], []byte(fmt.Sprintf(plainResponse, 2))}
	chunked := [2][]byte{[]byte(chunkedResponse), []byte(chunkedResponse)}
	for _, c := range []struct {
		name string
		raw  [2][]byte
		q    query
	}{{"same", same, query{}}, {"varying", varying, query{}}, {"keep", varying, query{keep: 200}}, {"chunked", chunked, query{keep: 200}}, {"fields", varying, query{fields: true}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var p Parser
			for i := 0; b.Loop(); i++ {
				p.Reset(c.q.head, c.q.keep, c.q.fields)
				if _, done, err := p.Feed(c.raw[i&1]); !done || err != nil {
					b.Fatal(done, err)
				}
			}
		})
	}
	b.Run("nethttp", func(b *testing.B) {
		b.ReportAllocs()
		src := bytes.NewReader(same[0])
		br, req := bufio.NewReader(src), &http.Request{Method: "GET"}
		for b.Loop() {
			src.Reset(same[0])
			br.Reset(src)
			resp, err := http.ReadResponse(br, req)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
		}
	})
}
