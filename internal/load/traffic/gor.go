package traffic

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A file of GoReplay's (https://github.com/buger/goreplay) is payloads: a line with a type, an identity and nanoseconds since
// 1970, then the bytes of a request (type 1) or of its answer (type 2), then a line of three monkeys.
const (
	monkeys = "🐵🙈🙉"

	ofRequest, ofAnswer = '1', '2'

	mostPayload = 64 << 20 // bytes
	mostPending = 100_000  // requests whose answers may follow
)

// anotherRequest matches a request inside of a body: the line of monkeys between them is missing.
var anotherRequest = regexp.MustCompile(`(?m)^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S+ HTTP/1\.[01]\r?$`)

// gor reads a file of GoReplay's.
func (b *builder) gor(in *bufio.Reader) error {
	pending := map[string]int{} // requests by identity
	for {
		p, err := payload(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		head, body, _ := bytes.Cut(p, []byte("\n"))
		fields := strings.Fields(string(head))
		if len(fields) < 3 {
			b.leave("payloads that cannot be read")
			continue
		}
		switch id := fields[1]; fields[0][0] {
		case ofRequest:
			i, err := b.payload(fields[2], body)
			if err != nil {
				return err
			}
			if len(pending) == mostPending { // of a file without answers
				clear(pending)
			}
			if i >= 0 {
				pending[id] = i
			}
		case ofAnswer:
			if i, ok := pending[id]; ok {
				b.seen[i].status |= statusOf(body)
				delete(pending, id)
			}
		}
	}
}

// payload reads up to the next separator of three monkeys. It cuts off a payload that is too long.
func payload(in *bufio.Reader) (p []byte, err error) {
	for {
		line, err := in.ReadSlice('\n')
		if string(bytes.TrimRight(line, "\r\n")) == monkeys {
			if p = bytes.TrimSuffix(p, []byte("\n")); len(p) > 0 {
				return p, nil
			}
			continue
		}
		if len(p) < mostPayload {
			p = append(p, line...)
		}
		switch {
		case err == io.EOF && len(bytes.TrimSpace(p)) > 0:
			return p, nil
		case err != nil && err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// payload adds the request of a payload, and returns its place.
func (b *builder) payload(stamp string, text []byte) (int, error) {
	ns, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || !inRange(time.Unix(0, ns)) {
		b.leave(noTime)
		return -1, nil
	}
	in := bufio.NewReader(bytes.NewReader(text))
	r, err := http.ReadRequest(in)
	if err != nil || !isMethod(r.Method) {
		b.leave("payloads that cannot be read")
		return -1, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.leave(fmt.Sprintf(noBody, r.Method))
		return -1, nil
	}
	if behind, _ := io.ReadAll(in); len(bytes.TrimSpace(behind)) > 0 || anotherRequest.Match(body) {
		b.leave("payloads with more than one request")
		return -1, nil
	}
	why := whyNot(r.Method, r.RequestURI, 0, true)
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		why = websocket
	}
	if why != "" {
		b.leave(why)
		return -1, nil
	}
	var headers []Header
	for name, values := range r.Header {
		for _, v := range values {
			headers = append(headers, Header{name, v})
		}
	}
	return b.add(time.Unix(0, ns), 0, Request{Method: r.Method, Target: r.RequestURI, Body: string(body)}, 0, b.keep(headers))
}

// statusOf is the status of an answer's first line, 0 if it has none.
func statusOf(answer []byte) uint16 {
	fields := bytes.Fields(answer[:min(len(answer), 32)])
	if len(fields) < 2 || !bytes.HasPrefix(fields[0], []byte("HTTP/")) {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[1]), 10, 16)
	if err != nil || n > 999 {
		return 0
	}
	return uint16(n)
}

// WriteGor writes the recording as GoReplay does, as agents get it: only what can be sent again, without secrets that were
// left out, and with the times that are used.
func (r *Recording) WriteGor(w io.Writer) error {
	out := bufio.NewWriter(w)
	for i, at := range r.times {
		q := r.Request(i)
		fmt.Fprintf(out, "%c %d %d 0\n%s %s HTTP/1.1\r\n", ofRequest, i, epoch.Add(at).UnixNano(), q.Method, q.Target)
		for _, h := range q.Headers {
			fmt.Fprintf(out, "%s: %s\r\n", h.Name, h.Value)
		}
		if q.Body != "" {
			fmt.Fprintf(out, "Content-Length: %d\r\n", len(q.Body))
		}
		fmt.Fprintf(out, "\r\n%s\n%s\n", q.Body, monkeys)
		if s := r.Status(i); s != 0 {
			fmt.Fprintf(out, "%c %d %d 0\nHTTP/1.1 %d\r\n\r\n\n%s\n", ofAnswer, i, epoch.Add(at).UnixNano(), s, monkeys)
		}
	}
	return out.Flush()
}

// epoch is the beginning of a recording that dyno writes. It is not a whole second, since whole seconds would
// be spread.
var epoch = time.Unix(1_000_000_000, 1)
