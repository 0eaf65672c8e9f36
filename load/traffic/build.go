package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// Why something of a recording is left out, as the plan's warning says it after a number.
const (
	unreadable = "lines that cannot be read"
	noRequest  = "lines without a request"
	noTime     = "requests without a time"
	badTarget  = "requests with a bad path"
	noBody     = "%s requests, as the recording lacks their bodies"
	noPath     = "%s requests, which have no path"
	websocket  = "WebSockets"
	otherHost  = "requests of other hosts than %s"
	redacted   = "header values that the log itself has redacted"
)

const mostRequests = 20_000_000

// A builder collects what a reader finds.
type builder struct {
	secrets bool
	line    int
	seen    []seen
	left    map[string]int
	hidden  int    // headers that may be secret
	noTime  string // the first line without a time, and what was looked for

	distinct []Request
	ids      map[uint64]uint32 // by hash
	seed     maphash.Seed
	headers  map[string]uint32 // by their text
	sets     [][]Header
}

// seen is a request of the recording.
type seen struct {
	at     int64 // nanoseconds since 1970
	took   time.Duration
	which  uint32
	status uint16
}

func newBuilder(secrets bool) *builder {
	return &builder{
		secrets: secrets, left: map[string]int{}, seed: maphash.MakeSeed(),
		ids: map[uint64]uint32{}, headers: map[string]uint32{"": 0}, sets: [][]Header{nil},
	}
}

func (b *builder) leave(why string) { b.left[why]++ }

// timeless leaves out the line, which lacks a time such as want.
func (b *builder) timeless(want string) {
	b.leave(noTime)
	if b.noTime == "" {
		b.noTime = fmt.Sprintf("line %d: no time in it (want for example %s)", b.line, want)
	}
}

// whyNot is why a request cannot be sent again, "" if it can. bodies reports whether the recording has them.
func whyNot(method, target string, status int, bodies bool) string {
	switch {
	case method == "CONNECT":
		return fmt.Sprintf(noPath, method)
	case method == "OPTIONS" && target == "*":
		return fmt.Sprintf(noPath, "OPTIONS *")
	case status == 101:
		return websocket
	case !bodies && (method == "POST" || method == "PUT" || method == "PATCH"):
		return fmt.Sprintf(noBody, method)
	}
	return ""
}

// add adds a request that was answered with a status, 0 if that is not known. took is how long before at it
// came. Its strings may be of a longer text. It returns the place in seen, -1 if the request is left out.
func (b *builder) add(at time.Time, took time.Duration, q Request, status int, headers uint32) (int, error) {
	target, ok := origin(q.Target)
	if !ok {
		b.leave(badTarget)
		return -1, nil
	}
	if len(b.seen) == mostRequests {
		return -1, fmt.Errorf("it has more than %d requests (consider: a part of it)", mostRequests)
	}
	q.Target = target
	b.seen = append(b.seen, seen{at.UnixNano(), took, b.intern(q, headers), uint16(status)})
	return len(b.seen) - 1, nil
}

// intern returns the place of a request in distinct.
func (b *builder) intern(q Request, headers uint32) uint32 {
	hash := maphash.Comparable(b.seed, struct {
		method, target, body string
		headers              uint32
	}{q.Method, q.Target, q.Body, headers})
	i, known := b.ids[hash]
	if known {
		if d := &b.distinct[i]; d.Method == q.Method && d.Target == q.Target && d.Body == q.Body && slices.Equal(d.Headers, b.sets[headers]) {
			return i
		}
	}
	n := uint32(len(b.distinct))
	b.distinct = append(b.distinct, Request{strings.Clone(q.Method), strings.Clone(q.Target), b.sets[headers], strings.Clone(q.Body)})
	if !known {
		b.ids[hash] = n
	}
	return n
}

// ofConnection are the headers that a connection, or dyno, decides.
var ofConnection = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Te": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Proxy-Authenticate": true, "Upgrade": true, "Http2-Settings": true, "Expect": true,
}

// keep returns the number of a set of headers, without what cannot or should not be sent again.
func (b *builder) keep(all []Header) uint32 {
	kept := all[:0]
	for _, h := range all {
		h.Name, h.Value = textproto.CanonicalMIMEHeaderKey(h.Name), strings.TrimSpace(h.Value)
		switch {
		case ofConnection[h.Name] || !isHeader(h):
		case h.Value == "REDACTED":
			b.leave(redacted)
		case dyno.Secret(h.Name) && !b.secrets:
			b.hidden++
		default:
			kept = append(kept, h)
		}
	}
	slices.SortStableFunc(kept, func(x, y Header) int { return cmp.Compare(x.Name, y.Name) })
	var text strings.Builder
	for _, h := range kept {
		text.WriteString(h.Name + ":" + h.Value + "\n")
	}
	id, ok := b.headers[text.String()]
	if !ok {
		id = uint32(len(b.sets))
		for i := range kept {
			kept[i].Value = strings.Clone(kept[i].Value)
		}
		b.sets = append(b.sets, slices.Clone(kept))
		b.headers[text.String()] = id
	}
	return id
}

// isHeader reports whether a header of a recording can be sent: those of HTTP/2 that begin with a colon cannot.
func isHeader(h Header) bool {
	token := func(c rune) bool {
		return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	return h.Name != "" && !strings.ContainsFunc(h.Name, func(c rune) bool { return !token(c) }) &&
		!strings.ContainsFunc(h.Value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// origin is a request's target as a path with a query.
func origin(target string) (string, bool) {
	if !strings.HasPrefix(target, "/") {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" {
			return "", false
		}
		target = u.RequestURI()
	}
	target, _, _ = strings.Cut(target, "#")
	if !strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '%' || c == '"' }) {
		return target, strings.HasPrefix(target, "/")
	}
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") {
		return "", false
	}
	var escaped []byte
	for _, c := range []byte(u.RequestURI()) { // net/url leaves a query as it is
		if c <= ' ' || c >= 0x7f || c == '"' {
			escaped = fmt.Appendf(escaped, "%%%02X", c)
		} else {
			escaped = append(escaped, c)
		}
	}
	return string(escaped), true
}

// finish makes the recording of what was seen.
func (b *builder) finish() (*Recording, error) {
	if len(b.seen) == 0 {
		return nil, b.empty()
	}
	slices.SortStableFunc(b.seen, func(x, y seen) int { return cmp.Compare(x.at, y.at) })
	whole := !slices.ContainsFunc(b.seen, func(s seen) bool { return s.at%int64(time.Second) != 0 })
	if whole {
		b.spread()
	}
	if slices.ContainsFunc(b.seen, func(s seen) bool { return s.took > 0 }) {
		for i := range b.seen {
			b.seen[i].at -= int64(b.seen[i].took)
		}
		slices.SortStableFunc(b.seen, func(x, y seen) int { return cmp.Compare(x.at, y.at) })
	}
	n := len(b.seen)
	r := &Recording{distinct: b.distinct, times: make([]time.Duration, n), which: make([]uint32, n), statuses: make([]uint16, n)}
	for i, s := range b.seen {
		r.times[i], r.which[i], r.statuses[i] = time.Duration(s.at-b.seen[0].at), s.which, s.status
	}
	r.Facts = dyno.Recording{Requests: n, Length: lengthOf(r.times[n-1]), Left: b.told(), Peak: r.peak(), Secrets: b.hidden, WholeSeconds: whole}
	return r, nil
}

// lengthOf is the length of a recording by its last request, in whole milliseconds: a little longer, so that the
// last is due before the end at any speed.
func lengthOf(last time.Duration) dyno.Duration {
	return dyno.Duration(last.Truncate(time.Millisecond) + 2*time.Millisecond)
}

// spread spreads the requests of each second over it, at random and in their order. At its begin they would be a burst
// that never was. It is the same wherever the recording is read.
func (b *builder) spread() {
	rng := rand.New(rand.NewPCG(1, 1))
	var within []int64
	for from, to := 0, 0; from < len(b.seen); from = to {
		within = within[:0]
		for to = from; to < len(b.seen) && b.seen[to].at == b.seen[from].at; to++ {
			within = append(within, rng.Int64N(int64(time.Second)))
		}
		slices.Sort(within)
		for i, d := range within {
			b.seen[from+i].at += d
		}
	}
}

// told says what was left out, the most frequent first.
func (b *builder) told() (texts []string) {
	for _, why := range slices.SortedFunc(maps.Keys(b.left), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.left[y], b.left[x]), cmp.Compare(x, y))
	}) {
		texts = append(texts, fmt.Sprintf("%d %s", b.left[why], why))
	}
	return texts
}

// empty says why there is no request.
func (b *builder) empty() error {
	left := b.told()
	switch {
	case b.noTime != "":
		return errors.New(b.noTime)
	case len(left) > 0:
		return fmt.Errorf("no request in it can be sent again; left out: %s (want an access log in the common or combined format or with a JSON object a line, a HAR file, or GoReplay's .gor)", strings.Join(left, ", "))
	}
	return errors.New("it is empty")
}
