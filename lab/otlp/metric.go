package otlp

import (
	"strconv"
	"time"
)

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
	{"heap-goal-B", "heap_goal", "By", "heap at which the next collection is to end"},
	{"gc-capacity-frac", "gc_capacity", "1", "garbage collection's share of all CPU time of GOMAXPROCS"},
	{"alloc-B/s", "alloc_per_s", "By/s", "bytes allocated per second"},
	{"goroutines", "goroutines", "{goroutine}", "goroutines"},
	{"threads", "threads", "{thread}", "threads"},
	{"fds", "fds", "{file}", "open file descriptors"},
	{"cpu-frac", "cpu", "1", "CPU time as a share of one core"},
	{"throttled-frac", "throttled", "1", "share of the CPU limit's periods in which the subject was throttled"},
}

// take makes gauges of what was seen since the last call; none if nothing was.
func (p *pusher) take(now time.Time) (ms []object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trial == nil {
		return nil
	}
	where, at := p.attributes(), strconv.FormatInt(now.UnixNano(), 10)
	add := func(name, unit, help string, v float64) {
		point := object{"attributes": where, "timeUnixNano": at, "asDouble": v}
		ms = append(ms, object{"name": "dyno." + name, "description": help, "unit": unit, "gauge": object{"dataPoints": []object{point}}})
	}
	n, measuring := p.latency.Count(), p.meter.Phase() == "measure"
	if load := &p.trial.Load; !load.None && load.Command == "" && (measuring || n > 0) {
		until := now
		if !measuring || now.Sub(p.over) < 2*time.Second { // else the service is silent
			until = p.over
		}
		began := p.counted
		if p.window.After(began) {
			began = p.window
		}
		if since := until.Sub(began); since > 0 && !began.IsZero() {
			add("req_per_s", "{request}/s", "requests answered as expected per second", float64(n)/since.Seconds())
			p.counted = until
		}
		add("failures", "{request}", "requests of the trial that failed", float64(p.meter.Failed.Load()))
	}
	if n > 0 {
		add("p50", "s", "median latency of the last seconds", p.latency.Quantile(.5).Seconds())
		add("p99", "s", "99th percentile of the latency of the last seconds", p.latency.Quantile(.99).Seconds())
		add("max", "s", "longest latency of the last seconds", p.latency.Max().Seconds())
	}
	for _, s := range pushed {
		if v, ok := p.seen[s.series]; ok {
			add(s.name, s.unit, s.help, v.value)
		}
	}
	p.latency.Reset()
	clear(p.seen)
	return ms
}

// attributes say of which trial a point is.
func (p *pusher) attributes() []object {
	t := p.trial
	as := []object{
		textOf("dyno.run", p.name), textOf("dyno.setting", t.Setting.Label()),
		attribute("dyno.trial", "intValue", strconv.Itoa(t.N)), attribute("dyno.block", "intValue", strconv.Itoa(t.Block)),
	}
	if t.For != "" {
		as = append(as, textOf("dyno.for", t.For))
	}
	for _, l := range t.Setting {
		as = append(as, textOf("dyno.factor."+l.Factor, l.Value))
	}
	return as
}
