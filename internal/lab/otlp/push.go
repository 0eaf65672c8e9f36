// Package otlp pushes what a lab sees of a run to an OpenTelemetry collector while the
// run goes on: latency, rate and failures of the load, memory and CPU of the subject.
//
// It speaks OTLP over HTTP with JSON, gauges only. A collector that does not answer
// costs the run neither memory nor time.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
)

const (
	pushEvery   = 5 * time.Second
	pushTimeout = 4 * time.Second // so that no push meets the next
	pushLast    = time.Second     // that the end of a run waits for its last push, at most
)

// A Target is where --otlp pushes to; the zero value is nowhere.
type Target struct{ *url.URL }

func (u *Target) Type() string { return "URL" }
func (u *Target) String() string {
	if u.URL == nil {
		return ""
	}
	return u.Redacted()
}

func (u *Target) Set(v string) error {
	if v == "" { // which beats DYNO_OTLP
		u.URL = nil
		return nil
	}
	to, err := url.Parse(v)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return fmt.Errorf("bad URL %q (want for example http://127.0.0.1:4318)", v)
	}
	if strings.Trim(to.Path, "/") == "" {
		to.Path = "/v1/metrics" // of OTLP over HTTP
	}
	u.URL = to
	return nil
}

// Follow pushes what the lab sees of the experiment, until stop is called; what goes
// wrong is noted once.
func (u Target) Follow(hands *lab.Lab, e *dyno.Experiment, version string, note func(format string, args ...any)) (stop func()) {
	if u.URL == nil {
		return func() {}
	}
	p := newPusher(u.URL, e.Name, version, note)
	watch, live := hands.Watch, hands.Live
	hands.Watch = func(t *dyno.Trial, m *load.Meter) {
		if watch != nil {
			watch(t, m)
		}
		p.begin(t, m)
	}
	hands.Live = func(t *dyno.Trial, probe, metric string, v float64) {
		if live != nil {
			live(t, probe, metric, v)
		}
		p.sample(t, probe, metric, v)
	}
	hands.Second = p.second
	p.pushing.Go(p.run)
	return p.close
}

// A pusher keeps only what was seen of the trials under way since the last push: of one, or
// of those of a block side by side.
type pusher struct {
	url      *url.URL
	header   http.Header
	client   *http.Client
	name     string   // of the experiment
	version  string   // of dyno
	resource []object // its attributes
	note     func(format string, args ...any)
	going    context.Context // until close
	stop     func()
	pushing  sync.WaitGroup
	noted    bool
	failing  bool

	mu     sync.Mutex
	trials []*watched
}

// A watched is a trial under way. Times are of its own, as its meter counts them.
type watched struct {
	*dyno.Trial
	meter   *load.Meter
	over    time.Duration       // until when latency is known
	counted time.Duration       // until when it was pushed
	latency *hist.Histogram     // since the last push
	seen    map[string]sighting // since the last push, by metric
}

// A sighting is the latest point of a series.
type sighting struct {
	value float64
	probe string
}

func newPusher(to *url.URL, name, version string, note func(string, ...any)) *pusher {
	host, _ := os.Hostname()
	p := &pusher{
		url: to, header: headerOf(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), version), name: name, version: version, note: note,
		resource: []object{
			textOf("service.name", "dyno"), textOf("service.version", version),
			textOf("service.instance.id", fmt.Sprintf("%s/%d", host, os.Getpid())), textOf("host.name", host),
		},
	}
	p.going, p.stop = context.WithCancel(context.Background())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = 1
	p.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// headerOf reads a list such as "api-key=secret,tenant=a%20b", the standard's own
// form. It comes from the environment since the command line is kept in run.json.
func headerOf(list, version string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"dyno/" + version}}
	for pair := range strings.SplitSeq(list, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(v)); ok && err == nil {
			h.Set(strings.TrimSpace(k), plain)
		}
	}
	return h
}

// begin is called as each trial begins. Those side by side begin before one of them enters a
// phase; what was seen of others is dropped.
func (p *pusher) begin(t *dyno.Trial, m *load.Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.trials, func(w *watched) bool {
		return w.N == t.N || w.Block != t.Block || w.For != t.For || w.meter.Phase() != ""
	}) {
		p.trials = nil
	}
	p.trials = append(p.trials, &watched{Trial: t, meter: m, latency: hist.New(), seen: map[string]sighting{}})
}

// of is the trial under way with t's number; nil if it is over. mu is held.
func (p *pusher) of(t *dyno.Trial) *watched {
	i := slices.IndexFunc(p.trials, func(w *watched) bool { return w.N == t.N })
	if i < 0 {
		return nil
	}
	return p.trials[i]
}

// sample is the lab's Live. If several probes see one metric, it takes the value of the most trusted one.
func (p *pusher) sample(t *dyno.Trial, name, metric string, v float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of(t)
	if w == nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if s, ok := w.seen[metric]; !ok || probe.Trust(s.probe) >= probe.Trust(name) {
		w.seen[metric] = sighting{value: v, probe: name}
	}
}

// second is the lab's Second.
func (p *pusher) second(t *dyno.Trial, h *hist.Histogram, _, _ time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.of(t); w != nil {
		w.over = w.meter.Own()
		w.latency.Merge(h)
	}
}

// run pushes until close.
func (p *pusher) run() {
	tick := time.NewTicker(pushEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.going.Done():
			if !p.failing { // a run that is shorter than pushEvery has this one only
				p.push(context.Background(), pushLast)
			}
			p.client.CloseIdleConnections()
			return
		case <-tick.C:
			p.push(p.going, pushTimeout)
		}
	}
}

// close pushes what is left, and gives up what is on its way to a collector that does
// not answer.
func (p *pusher) close() {
	p.stop()
	p.pushing.Wait()
}

// push sends what was seen since the last one, if anything was.
func (p *pusher) push(ctx context.Context, within time.Duration) {
	points := p.take(time.Now())
	if len(points) == 0 {
		return
	}
	scope := object{"scope": object{"name": "github.com/dynolab/dyno", "version": p.version}, "metrics": points}
	body, err := json.Marshal(object{"resourceMetrics": []object{
		{"resource": object{"attributes": p.resource}, "scopeMetrics": []object{scope}},
	}})
	if err == nil {
		timed, cancel := context.WithTimeout(ctx, within)
		err = p.post(timed, body)
		cancel()
	}
	p.failing = err != nil
	if ctx.Err() != nil { // the run is over, and does not wait for an answer
		return
	}
	if err != nil && !p.noted {
		p.noted = true
		p.note("live metrics do not reach %s: %v (the run goes on, and dyno tries again every %v)", p.url.Redacted(), err, pushEvery)
	}
}

func (p *pusher) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, "POST", p.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = p.header.Clone()
	resp, err := p.client.Do(req)
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold a password
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer in time")
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	var said struct {
		PartialSuccess struct{ ErrorMessage string }
	}
	if json.Unmarshal(answer, &said) == nil && said.PartialSuccess.ErrorMessage != "" {
		return fmt.Errorf("the collector rejected some metrics: %q", said.PartialSuccess.ErrorMessage)
	}
	return nil
}

// An object is one of JSON. A push is an ExportMetricsServiceRequest of OTLP over HTTP, in which
// whole numbers of 64 bits are strings: https://opentelemetry.io/docs/specs/otlp/#otlphttp.
type object = map[string]any

func attribute(key, kind string, value any) object {
	return object{"key": key, "value": object{kind: value}}
}

func textOf(key, text string) object { return attribute(key, "stringValue", text) }

// pushed are the series that are pushed: their names as conditions have them, and
// their units as OpenTelemetry does (UCUM).
var pushed = []struct{ series, name, unit, help string }{
	{"rss-B", "rss", "By", "resident memory"},
	{"heap-B", "heap", "By", "heap in use, garbage included"},
	{"heap-live-B", "heap_live", "By", "heap that the last collection found live"},
	{"heap-goal-B", "heap_goal", "By", "heap size at which the next collection should end"},
	{"gc-capacity-frac", "gc_capacity", "1", "garbage collection's share of all CPU time of GOMAXPROCS"},
	{"alloc-B/s", "alloc_per_s", "By/s", "bytes allocated per second"},
	{"goroutines", "goroutines", "{goroutine}", "goroutines"},
	{"threads", "threads", "{thread}", "threads"},
	{"fds", "fds", "{file}", "open file descriptors"},
	{"cpu-frac", "cpu", "1", "CPU time as a share of one core"},
	{"throttled-frac", "throttled", "1", "share of the CPU limit's periods in which the subject was throttled"},
}

// silence is how long no request may be answered before that counts as a rate of 0.
const silence = 2 * time.Second

// take returns gauges of what was seen since the last call. Each has a point for every trial under way that
// has a value. There is no gauge if nothing was seen.
func (p *pusher) take(now time.Time) (ms []object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, place := strconv.FormatInt(now.UnixNano(), 10), map[string]int{}
	var points [][]object // of each gauge
	for _, w := range p.trials {
		where := w.attributes(p.name)
		w.take(func(name, unit, help string, v float64) {
			i, ok := place[name]
			if !ok {
				i = len(ms)
				place[name] = i
				ms = append(ms, object{"name": "dyno." + name, "description": help, "unit": unit})
				points = append(points, nil)
			}
			points[i] = append(points[i], object{"attributes": where, "timeUnixNano": at, "asDouble": v})
		})
	}
	for i, m := range ms {
		m["gauge"] = object{"dataPoints": points[i]}
	}
	return ms
}

// take adds what was seen since the last call.
func (w *watched) take(add func(name, unit, help string, v float64)) {
	n, measuring := w.latency.Count(), w.meter.Phase() == "measure"
	if load := &w.Load; !load.None && load.Command == "" && (measuring || n > 0) {
		until := w.over
		if own := w.meter.Own(); measuring && own-w.over >= silence {
			until = own
		}
		if since := until - w.counted; since > 0 {
			add("req_per_s", "{request}/s", "requests answered as expected per second", float64(n)/since.Seconds())
			w.counted = until
		}
		add("failures", "{request}", "requests of the trial that failed", float64(w.meter.Failed.Load()))
	}
	if n > 0 {
		add("p50", "s", "median latency of the last seconds", w.latency.Quantile(.5).Seconds())
		add("p99", "s", "99th percentile of the latency of the last seconds", w.latency.Quantile(.99).Seconds())
		add("max", "s", "longest latency of the last seconds", w.latency.Max().Seconds())
	}
	for _, s := range pushed {
		if v, ok := w.seen[s.series]; ok {
			add(s.name, s.unit, s.help, v.value)
		}
	}
	w.latency.Reset()
	clear(w.seen)
}

// attributes name the trial of a point.
func (w *watched) attributes(run string) []object {
	as := []object{
		textOf("dyno.run", run), textOf("dyno.setting", w.Setting.Label()),
		attribute("dyno.trial", "intValue", strconv.Itoa(w.N)), attribute("dyno.block", "intValue", strconv.Itoa(w.Block)),
	}
	if w.For != "" {
		as = append(as, textOf("dyno.for", w.For))
	}
	for _, l := range w.Setting {
		as = append(as, textOf("dyno.factor."+l.Factor, l.Value))
	}
	return as
}
