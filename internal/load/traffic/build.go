package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/rand/v2"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/safe"
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
	twice      = "lines that end a request which another line begins"
	redacted   = "header values that the log itself has redacted"
)

// Bounds of a recording. A small compressed file may be large inside.
const (
	mostRequests = 20_000_000
	mostKept     = 1 << 30 // bytes of targets, headers and bodies that are not equal
)

// A builder collects what a reader finds.
type builder struct {
	secrets bool
	line    int
	seen    []seen
	left    map[string]int
	hidden  int               // headers that may be secret
	noTime  string            // the first line without a time, and what was looked for
	odd     string            // the first line that cannot be read
	columns []string          // of the lines, where the log says what they are
	format  format            // of the lines, where the user says it
	hosts   map[string]uint16 // that were asked, by name; 0 is unknown
	parts   int               // requests whose time has a part of a second
	kept    int               // bytes that are in memory
	numbers []number          // of Caddy's log
	logs    bool              // some request is of a line of a log

	distinct []stored
	ids      map[uint64]uint32 // by hash
	seed     maphash.Seed
	targets  strings.Builder // of the last of distinct, in one piece: so many small ones would take twice as much
	headers  table           // by their text
	names    map[string]bool // of headers: whether they look secret
	sets     [][]Header
	bodies   table
}

// seen is a request of the recording.
type seen struct {
	at     int64 // nanoseconds since 1970
	which  uint32
	status uint16 // with onSecond
	host   uint16
}

// onSecond is set in the status of a request whose time was a whole second.
const onSecond = 1 << 15

// code is the status, 0 if it is not known.
func (s *seen) code() uint16 { return s.status &^ onSecond }

// A number is how long request i took, in a unit that the log's numbers tell together.
type number struct {
	i int
	n int64
}

// A table numbers texts from 0, which is "".
type table struct {
	ids   map[string]uint32
	texts []string
}

func newTable() table { return table{map[string]uint32{"": 0}, []string{""}} }

// number returns the number of a text, which may be a part of a longer one.
func (t *table) number(text string, kept *int) (n uint32, known bool) {
	if n, known = t.ids[text]; !known {
		*kept += len(text)
		text, n = strings.Clone(text), uint32(len(t.texts))
		t.texts = append(t.texts, text)
		t.ids[text] = n
	}
	return n, known
}

func newBuilder(secrets bool) *builder {
	return &builder{
		secrets: secrets, left: map[string]int{}, seed: maphash.MakeSeed(),
		ids: map[uint64]uint32{}, headers: newTable(), names: map[string]bool{}, hosts: map[string]uint16{}, sets: [][]Header{nil}, bodies: newTable(),
	}
}

func (b *builder) leave(why string) { b.left[why]++ }

// timeless leaves out the line, which lacks a time such as want.
func (b *builder) timeless(want string, line []byte) {
	b.leave(noTime)
	if b.noTime == "" {
		b.noTime = fmt.Sprintf("line %d: no time in it (want for example %s; consider: --log-format): %q", b.line, want, line[:min(len(line), mostShown)])
	}
}

// mostShown is the number of bytes of a line that a message shows.
const mostShown = 200

// whyNot returns why a request cannot be sent again, "" if it can. bodies says whether the recording has
// them.
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

// add adds a request that was answered with a status, 0 if that is not known. The request came took before
// at. Its strings may share the memory of a longer text. add returns the place in seen, -1 if the request is
// left out.
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
	body, _ := b.bodies.number(q.Body, &b.kept)
	which := b.intern(stored{q.Target, headers, body, unique.Make(q.Method)})
	if b.kept > mostKept {
		return -1, fmt.Errorf("its requests take more than %d bytes of memory (consider: a part of it)", mostKept)
	}
	s := seen{at.Add(-took).UnixNano(), which, uint16(status), 0}
	if at.Nanosecond() == 0 {
		s.status |= onSecond
	} else {
		b.parts++
	}
	b.seen = append(b.seen, s)
	return len(b.seen) - 1, nil
}

// hostNumber returns the number of a host that was asked, 0 if it is unknown or one of too many. A port that is the scheme's own makes no other host.
func (b *builder) hostNumber(host string) uint16 {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443"))
	if host == "" || b.hosts[host] == 0 && len(b.hosts) >= math.MaxUint16 {
		return 0
	}
	if b.hosts[host] == 0 {
		b.hosts[strings.Clone(host)] = uint16(len(b.hosts) + 1)
	}
	return b.hosts[host]
}

// oneHost keeps the requests of the most frequent host, and those whose host is unknown, since a load is for
// one service.
func (b *builder) oneHost() {
	if len(b.hosts) < 2 {
		return
	}
	counts := make([]int, len(b.hosts)+1)
	for _, s := range b.seen {
		counts[s.host]++
	}
	kept := ""
	for h, n := range b.hosts {
		if k := b.hosts[kept]; k == 0 || counts[n] > counts[k] || counts[n] == counts[k] && h < kept {
			kept = h
		}
	}
	before := len(b.seen)
	b.seen = slices.DeleteFunc(b.seen, func(s seen) bool { return s.host != 0 && s.host != b.hosts[kept] })
	if n := before - len(b.seen); n > 0 {
		b.left[fmt.Sprintf(otherHost, kept)] += n
	}
}

// once makes one request of two lines, where most requests were logged when they began and when they ended: the first has the time,
// the other the status.
func (b *builder) once() {
	if !b.logs || !slices.ContainsFunc(b.seen, func(s seen) bool { return s.code() == 0 }) {
		return
	}
	without := 0
	begun := map[uint32][]int{} // places of lines without a status, in their order
	first := map[int]int{}      // of the place of a line with a status, that of the line before
	for i := range b.seen {
		which := b.seen[i].which
		switch before := begun[which]; {
		case b.seen[i].code() == 0:
			without++
			begun[which] = append(before, i)
		case len(before) > 0:
			begun[which], first[i] = before[1:], before[0]
		}
	}
	if len(first) <= without/2 {
		return
	}
	for i, before := range first {
		b.seen[before].status |= b.seen[i].code()
	}
	kept := b.seen[:0]
	for i, s := range b.seen {
		if _, twice := first[i]; !twice {
			kept = append(kept, s)
		}
	}
	b.seen = kept
	b.left[twice] += len(first)
}

// durations takes from the times of Caddy's log how long the requests took. Nobody waits for 20 s in the median, so such numbers are not
// milliseconds but nanoseconds.
func (b *builder) durations() {
	const mostMilli = 20_000
	if len(b.numbers) == 0 {
		return
	}
	unit, all := time.Millisecond, make([]int64, len(b.numbers))
	for i, x := range b.numbers {
		all[i] = x.n
	}
	if slices.Sort(all); all[len(all)/2] >= mostMilli {
		unit = time.Nanosecond
	}
	for _, x := range b.numbers {
		if took := x.n * int64(unit); took/int64(unit) == x.n {
			b.seen[x.i].at -= took
		}
	}
}

// example keeps the first line that cannot be read, for the message.
func (b *builder) example(line string) {
	if b.odd != "" {
		return
	}
	why := "in it is " + partsOf(line)
	if b.format != nil {
		why = b.format.misfit(line)
	}
	b.odd = fmt.Sprintf("line %d: %q: %s", b.line, line[:min(len(line), mostShown)], why)
}

// intern returns the place of a request in distinct.
func (b *builder) intern(q stored) uint32 {
	hash := maphash.Comparable(b.seed, q)
	i, known := b.ids[hash]
	if known && b.distinct[i] == q {
		return i
	}
	if b.targets.Len()+len(q.target) > b.targets.Cap() {
		b.targets = strings.Builder{}
		b.targets.Grow(max(1<<16, len(q.target)))
	}
	b.kept += len(q.target)
	b.targets.WriteString(q.target)
	q.target = b.targets.String()[b.targets.Len()-len(q.target):]
	b.distinct = append(b.distinct, q)
	if !known {
		b.ids[hash] = uint32(len(b.distinct) - 1)
	}
	return uint32(len(b.distinct) - 1)
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
		case !b.secrets && b.secret(h.Name):
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
	n, known := b.headers.number(text.String(), &b.kept)
	if !known {
		for i := range kept { // the line need not stay for them
			kept[i].Name, kept[i].Value = strings.Clone(kept[i].Name), strings.Clone(kept[i].Value)
		}
		b.sets = append(b.sets, slices.Clone(kept))
	}
	return n
}

// ofUsers matches headers of real users that are secret beside those of safe.Secret: a recording has more kinds of
// them than a plan.
var ofUsers = regexp.MustCompile(`(?i)(?:^|[-_])(?:auth|authentication|session|sessionid|sid|oidc|saml)(?:$|[-_])|key$`)

// secret asks only once for each name. There are few names.
func (b *builder) secret(name string) bool {
	is, known := b.names[name]
	if !known {
		is = safe.Secret(name) || ofUsers.MatchString(name)
		b.names[strings.Clone(name)] = is
	}
	return is
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
	// A clock of milliseconds has a whole second in each thousandth request.
	seconds := len(b.seen) - b.parts
	whole := b.parts == 0 || b.logs && seconds > max(10, len(b.seen)/100)
	b.durations()
	b.once()
	b.oneHost()
	b.ids, b.headers, b.bodies.ids = nil, table{}, nil
	byTime := func(x, y seen) int { return cmp.Compare(x.at, y.at) }
	slices.SortStableFunc(b.seen, byTime)
	if whole {
		b.spread()
		slices.SortStableFunc(b.seen, byTime) // they may have come before they were logged
	}
	n := len(b.seen)
	r := &Recording{distinct: b.distinct, sets: b.sets, bodies: b.bodies.texts, times: make([]time.Duration, n), which: make([]uint32, n), statuses: make([]uint16, n)}
	for i, s := range b.seen {
		r.times[i], r.which[i], r.statuses[i] = time.Duration(s.at-b.seen[0].at), s.which, s.code()
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
			if b.seen[to].status&onSecond != 0 {
				within = append(within, rng.Int64N(int64(time.Second)))
			}
		}
		slices.Sort(within)
		for i := from; i < to; i++ {
			if b.seen[i].status&onSecond != 0 {
				b.seen[i].at += within[0]
				within = within[1:]
			}
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
		what := ""
		if b.odd != "" {
			what = "; " + b.odd
		}
		return fmt.Errorf("no request in it can be sent again; left out: %s%s (want an access log whose lines have a request such as GET /path and a time, or a JSON object with them, a HAR file, or GoReplay's .gor; consider: --log-format, as in nginx: '$remote_addr [$time_local] \"$request\" $status')", strings.Join(left, ", "), what)
	}
	return errors.New("it is empty")
}
