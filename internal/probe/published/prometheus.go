package published

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Prometheus reads the text format 0.0.4 of Prometheus: the families of promUses, which its
// Go client publishes by itself, and those of Target.Metrics.
//
// Note: its CPU time is in ticks of 10 ms, its highest resident memory that of the samples,
// and its allocations miss what is in the runtime's caches.
type Prometheus struct{}

// promText asks for the text format: expfmt does not read OpenMetrics' exemplars and times.
const promText = "text/plain;version=0.0.4;q=1,*/*;q=0.1"

// Settings of the runtime, since client_golang 1.20.
const (
	promGOGC  = "go_gc_gogc_percent"
	promLimit = "go_gc_gomemlimit_bytes"
	promProcs = "go_sched_gomaxprocs_threads"
)

var promUses = map[string]use{
	"go_memstats_alloc_bytes":         {mean: "heap-alloc-B", most: "heap-peak-B", series: "heap-B"},
	"go_memstats_alloc_bytes_total":   {last: "total-alloc-B", grown: "alloc-B", series: "alloc-B/s"},
	"go_memstats_sys_bytes":           {mean: "sys-B", series: "sys-B"},
	"go_memstats_mallocs_total":       {grown: "allocs"},
	"go_memstats_heap_idle_bytes":     {series: "heap-idle-B"},
	"go_memstats_heap_inuse_bytes":    {series: "heap-inuse-B"},
	"go_memstats_heap_released_bytes": {series: "heap-released-B"},
	"go_memstats_stack_inuse_bytes":   {series: "stack-B"},
	"go_memstats_next_gc_bytes":       {series: "heap-goal-B"},
	"go_gc_duration_seconds_count":    {last: "gc-total", grown: "gc-cycles"},
	"go_gc_duration_seconds_sum":      {grown: "stw-total-sec"},
	"go_goroutines":                   {most: "goroutines", series: "goroutines"},
	"go_threads":                      {most: "threads", series: "threads"},
	promGOGC:                          {},
	promLimit:                         {},
	promProcs:                         {},
	"process_cpu_seconds_total":       {grown: "cpu-sec", series: "cpu-frac"},
	"process_open_fds":                {series: "fds"},
	"process_resident_memory_bytes":   {mean: "rss-mean-B", most: "rss-peak-B", series: "rss-B"},
}

func (Prometheus) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Prometheus == "" {
		return probe.Reading{}, errors.New("watch prometheus: the plan does not say where (consider: prometheus: /metrics)")
	}
	w := newPromWatch(t.Metrics)
	r, err := scrape(ctx, t, "prometheus", t.Prometheus, promText, &w.published, w.parse)
	if err == nil {
		r.Warnings, r.InForce = append(r.Warnings, w.missing()...), w.inForce
	}
	return r, err
}

type promWatch struct {
	published
	asked   []string
	keep    map[string]bool // names at the beginning of lines that are of use
	lines   bytes.Buffer
	inForce probe.InForce
	names   []string // of all families of the first page that has any
}

func newPromWatch(asked []string) *promWatch {
	w := &promWatch{asked: asked, keep: map[string]bool{}}
	for _, name := range slices.AppendSeq(slices.Clone(asked), maps.Keys(promUses)) {
		for _, part := range []string{"_count", "_sum"} {
			w.keep[name+part] = true                      // of a family
			w.keep[strings.TrimSuffix(name, part)] = true // whose TYPE it is
		}
	}
	return w
}

// parse reads a page. It drops useless lines before expfmt sees them: a service may publish
// thousands of families with all their buckets.
func (w *promWatch) parse(page []byte) ([]number, error) {
	if n := len(page); n > 0 && page[n-1] != '\n' {
		return nil, errors.New("the page is incomplete or not from Prometheus: its last line has no end")
	}
	if w.names == nil {
		w.names = families(page)
	}
	w.lines.Reset()
	// In OpenMetrics x_total is a counter x, and there may be a gauge x too.
	open := bytes.HasSuffix(page, []byte("# EOF\n"))
	for line := range bytes.Lines(page) {
		if open && bytes.HasPrefix(line, []byte("# TYPE ")) && bytes.HasSuffix(line, []byte(" counter\n")) {
			continue
		}
		if w.keep[string(family(line))] {
			w.lines.Write(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(&w.lines)
	if err != nil {
		return nil, fmt.Errorf("parse the page (line numbers count the lines in use): %w", err)
	}
	var numbers []number
	for _, f := range found {
		numbers = w.use(numbers, f)
	}
	slices.SortFunc(numbers, func(a, b number) int { return cmp.Compare(a.name, b.name) })
	w.inForce.Add(settings(numbers))
	return numbers, nil
}

func settings(numbers []number) dyno.Setting {
	of := func(name string) float64 {
		if i := slices.IndexFunc(numbers, func(n number) bool { return n.name == name }); i >= 0 {
			return numbers[i].value
		}
		return math.NaN()
	}
	return dyno.InForce(of(promGOGC), of(promLimit), of(promProcs))
}

// family is the name of a line's family; nil for comments but "# TYPE NAME KIND", buckets and
// quoted names.
func family(line []byte) []byte {
	if text, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
		line = text
	}
	end := bytes.IndexAny(line, "{ \t\n")
	if end < 0 || bytes.HasSuffix(line[:end], []byte("_bucket")) && bytes.Contains(line, []byte(`le="`)) {
		return nil
	}
	return line[:end]
}

// families lists a page's names, but for those that are read anyway.
func families(page []byte) []string {
	var names []string
	for line := range bytes.Lines(page) {
		text, ok := bytes.CutPrefix(line, []byte("# TYPE "))
		if name := string(family(line)); ok && !strings.HasPrefix(string(text), "go_") && !strings.HasPrefix(string(text), "process_") {
			names = append(names, name)
		}
	}
	return names
}

// missing tells of metrics that were asked for and never seen, with up to five names that share
// a word with theirs, or else the first five.
func (w *promWatch) missing() (warnings dyno.Warnings) {
	for _, name := range w.asked {
		if w.has(name) || w.has(name+"_count") {
			continue
		}
		words := strings.Split(name, "_")
		near := slices.DeleteFunc(slices.Clone(w.names), func(other string) bool {
			return !slices.ContainsFunc(strings.Split(other, "_"), func(word string) bool { return slices.Contains(words, word) })
		})
		if len(near) == 0 {
			near = w.names
		}
		published := cmp.Or(strings.Join(near[:min(len(near), 5)], ", "), "nothing but go_* and process_*")
		warnings.AddOf(dyno.WarnMetric, name, "probe prometheus: metric %s was never published (published: %s)", name, published)
	}
	return warnings
}

// use adds a family's numbers, summed over all labels, if promUses knows them, or the family
// or they are asked for.
func (w *promWatch) use(numbers []number, f *dto.MetricFamily) []number {
	name := f.GetName()
	emit := func(part string, counter bool, value func(*dto.Metric) float64) {
		n := number{name: part}
		for _, m := range f.GetMetric() {
			n.value += value(m)
		}
		if u, ok := promUses[part]; ok && (part != "go_memstats_next_gc_bytes" || n.value < gctrace.NoGoal) {
			n.use = u
			numbers = append(numbers, n)
		}
		if slices.Contains(w.asked, name) || slices.Contains(w.asked, part) {
			n.use = use{mean: part, series: part, own: true}
			if counter {
				n.use = use{grown: part, series: part + "/s", own: true}
			}
			numbers = append(numbers, n)
		}
	}
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		emit(name, true, func(m *dto.Metric) float64 { return m.GetCounter().GetValue() })
	case dto.MetricType_GAUGE:
		emit(name, false, func(m *dto.Metric) float64 { return m.GetGauge().GetValue() })
	case dto.MetricType_SUMMARY:
		emit(name+"_count", true, func(m *dto.Metric) float64 { return float64(m.GetSummary().GetSampleCount()) })
		emit(name+"_sum", true, func(m *dto.Metric) float64 { return m.GetSummary().GetSampleSum() })
	case dto.MetricType_HISTOGRAM:
		emit(name+"_count", true, func(m *dto.Metric) float64 { return float64(m.GetHistogram().GetSampleCount()) })
		emit(name+"_sum", true, func(m *dto.Metric) float64 { return m.GetHistogram().GetSampleSum() })
	default:
		emit(name, strings.HasSuffix(name, "_total"), func(m *dto.Metric) float64 { return m.GetUntyped().GetValue() })
	}
	return numbers
}
