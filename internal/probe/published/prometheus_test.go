package published

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

func promPage(t testing.TB, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("testdata", "prometheus", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The pages are of a program that allocated 300 times 64 KiB, did 305 jobs of a
// quarter of a second each, and collected once, between them.
func TestPrometheusWatch(t *testing.T) {
	for _, version := range []string{"1.19.1-go1.22.12", "1.25.0-go1.27.4"} {
		pages := []string{promPage(t, "text-client_golang"+version+"-1.txt"), promPage(t, "text-client_golang"+version+"-2.txt")}
		r, err := watchSite(t, &site{pages: pages}, Prometheus{}, probe.Target{
			Metrics: []string{"jobs_total", "queue_length", "job_duration_seconds", "process_open_fds"},
		})
		if err != nil {
			t.Fatal(version, err)
		}
		if v, _ := r.Values.Get("alloc-B"); v < 300<<16 || v > 330<<16 {
			t.Errorf("%s: alloc-B %v", version, v)
		}
		for _, metric := range []string{"heap-alloc-B", "sys-B", "total-alloc-B", "gc-total", "gc-cycles", "allocs", "stw-total-sec", "goroutines", "threads", "rss-peak-B", "rss-mean-B"} {
			if v, ok := r.Values.Get(metric); !ok || v <= 0 {
				t.Errorf("%s: %s = %v", version, metric, v)
			}
		}
		if v, ok := r.Values.Get("cpu-sec"); !ok || v < 0 || v > 1 {
			t.Errorf("%s: cpu-sec %v", version, v)
		}
		wantValues(t, r.Own, map[string]float64{"jobs_total": 305, "job_duration_seconds_count": 300, "job_duration_seconds_sum": 75})
		if v, ok := r.Own.Get("queue_length"); !ok || v <= 12 || v > 22 { // 12, then 22
			t.Errorf("%s: queue_length %v", version, v)
		}
		for _, metric := range []string{"heap-B", "rss-B", "fds", "heap-goal-B", "cpu-frac", "queue_length", "jobs_total/s", "process_open_fds"} {
			if s := seriesIn(t, r, metric); len(s.At) == 0 {
				t.Errorf("%s: no series %s", version, metric)
			}
		}
		if len(r.Warnings) != 0 {
			t.Errorf("%s: warnings %q", version, r.Warnings)
		}
	}
}

// A service that sends OpenMetrics, whatever was asked for, is understood as
// far as expfmt reads it.
func TestPrometheusOpenMetrics(t *testing.T) {
	w := newPromWatch([]string{"jobs_total", "job_duration_seconds_sum"})
	numbers, err := w.parse([]byte(promPage(t, "openmetrics-client_golang1.25.0-go1.27.4-2.txt")))
	if err != nil {
		t.Fatal(err)
	}
	w.sample(0, numbers)
	for _, c := range w.courses {
		switch {
		case c.name == "jobs_total" && (c.value != 610 || c.use.grown != "jobs_total"),
			c.name == "job_duration_seconds_sum" && c.value != 150,
			c.name == "process_cpu_seconds_total" && c.use.grown != "cpu-sec":
			t.Errorf("%+v", c.number)
		}
	}
	if !w.has("jobs_total") || !w.has("job_duration_seconds_sum") || w.has("job_duration_seconds_count") {
		t.Errorf("own: %+v", numbers)
	}
}

// A counter for a label that nobody had used yet counts from 0; one that falls
// takes only its own total with it.
func TestPrometheusCounters(t *testing.T) {
	const head = "# TYPE go_memstats_mallocs_total counter\n# TYPE a counter\n# TYPE b counter\n"
	r, err := watchSite(t, &site{pages: []string{
		head + "go_memstats_mallocs_total 5\nb 9\n",
		head + "go_memstats_mallocs_total 6\nb 3\n",
		head + "go_memstats_mallocs_total 8\nb 20\na{x=\"1\"} 2\na{x=\"2\"} 4\n",
	}}, Prometheus{}, probe.Target{Metrics: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, r.Values, map[string]float64{"allocs": 3})
	wantValues(t, r.Own, map[string]float64{"a": 6})
	if _, ok := r.Own.Get("b"); ok || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "b fell") {
		t.Errorf("own %v, warnings %q", r.Own, r.Warnings)
	}
}

// A misspelt metric is said, with those that were perhaps meant.
func TestPrometheusMissing(t *testing.T) {
	page := promPage(t, "text-client_golang1.25.0-go1.27.4-1.txt")
	for asked, want := range map[string]string{
		"job_total":            "job_duration_seconds, jobs_total)",
		"queue_len":            "queue_length)",
		"x":                    "job_duration_seconds, jobs_total, ",
		"job_duration_seconds": "",
		"go_goroutines":        "",
	} {
		r, err := watchSite(t, &site{pages: []string{page}}, Prometheus{}, probe.Target{Metrics: []string{asked}})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(r.Warnings.Texts(), "\n")
		if want == "" && got != "" || want != "" && !strings.Contains(got, "metric "+asked+" was never published (published: "+want) {
			t.Errorf("%s: %q, want %s", asked, got, want)
		}
	}
}

// What is of no use costs no parsing, and may be broken.
func TestPrometheusPicks(t *testing.T) {
	w := newPromWatch(nil)
	numbers, err := w.parse([]byte("# HELP go_threads a b\n# TYPE go_threads gauge\ngo_threads 7\nother{ 1\n{\"q.uoted\"} 1\n\ngo_threads_x 1\n"))
	if err != nil || len(numbers) != 1 || numbers[0].value != 7 {
		t.Errorf("%+v, %v", numbers, err)
	}
	for _, page := range []string{"go_threads x\n", "go_threads 7"} {
		if _, err := w.parse([]byte(page)); err == nil {
			t.Errorf("%q is understood", page)
		}
	}
}

// Where several probes know the same, the one that knows best is believed.
func TestMergeTrust(t *testing.T) {
	var before probe.Reading
	readings := map[string]probe.Reading{}
	for i, name := range []string{"prometheus", "expvar", "proc", "gctrace", "runtime"} {
		r := probe.Reading{}
		for _, metric := range []string{"gc-cycles", "rss-peak-B", "only-" + name} {
			r.Values = append(r.Values, dyno.Value{Metric: metric, Value: float64(i)})
		}
		readings[name] = r
		m := probe.Merge(readings)
		wantValues(t, m.Values, map[string]float64{"gc-cycles": float64(i), "rss-peak-B": float64(i)})
		if len(m.Values) != len(before.Values)+1 && i > 0 {
			t.Errorf("with %s: %v", name, m.Values)
		}
		before = m
	}
}

func FuzzParsePrometheus(f *testing.F) {
	files, _ := filepath.Glob("testdata/prometheus/*")
	for _, file := range files {
		f.Add([]byte(promPage(f, filepath.Base(file))))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		asked := append(slices.Clone(families(page)[:min(len(families(page)), 3)]), "jobs_total")
		w := newPromWatch(asked)
		if numbers, err := w.parse(page); err == nil {
			w.sample(0, numbers)
			w.sample(1, numbers)
		}
		w.reading(true)
		w.missing()
	})
}
