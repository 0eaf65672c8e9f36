package dyno_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

func TestThresholds(t *testing.T) {
	steps := []string{"patch-p99-sec", "GET /users/{{.id}}-p99.9-sec", "jobs_total", "äpfel-p50-sec"}
	for _, c := range []struct {
		text, metric string
		limit        float64
		written      string // "" is as text
	}{
		{"p99 < 30ms", "p99-sec", 0.03, ""},
		{"p99<30ms", "p99-sec", 0.03, "p99 < 30ms"},
		{"  p99_9   <=  1m30s ", "p99.9-sec", 90, "p99_9 <= 1m30s"},
		{"failures == 0", "failures", 0, ""},
		{"rss_peak < 200MiB", "rss-peak-B", 200 << 20, ""},
		{"rss_peak < 1.5GiB", "rss-peak-B", 1.5 * (1 << 30), ""},
		{"rss_peak < 1024", "rss-peak-B", 1024, ""},
		{"alloc_per_req <= 4KiB", "alloc-B/req", 4096, ""},
		{"cpu_per_req < 200µs", "cpu-sec/req", 200e-6, ""},
		{"req_per_s >= 1500", "req/s", 1500, ""},
		{"gc_cpu < 5%", "gc-cpu-frac", 0.05, ""},
		{"gc_cpu < 0.05", "gc-cpu-frac", 0.05, ""},
		{"cpu < 150%", "cpu-frac", 1.5, ""},
		{"gc_cpu_per_req < 1us", "gc-cpu-sec/req", 1e-6, ""},
		{"req_per_gc > 10", "req/gc", 10, ""},
		{"sec_per_op < 1ms", "sec/op", 1e-3, ""},
		{"B_per_op < 1KiB", "B/op", 1024, ""},
		{"oom_kills != 1", "oom-kills", 1, ""},
		{"change(p99) < 5%", "p99-sec", 0.05, ""},
		{"change ( req_per_s ) > -2.5%", "req/s", -0.025, "change(req_per_s) > -2.5%"},
		{"patch_p99 < 1s", "patch-p99-sec", 1, ""},
		{"GET_users_id_p99_9 < 1s", "GET /users/{{.id}}-p99.9-sec", 1, ""},
		{"äpfel_p50 < 1s", "äpfel-p50-sec", 1, ""},
		{"jobs_total > -5", "jobs_total", -5, ""},
	} {
		th, err := dyno.ParseThreshold(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		m, limit, err := th.Of(steps)
		if err != nil || m.Name != c.metric || math.Abs(limit-c.limit) > 1e-12 {
			t.Errorf("%s: %s, %v, %v", c.text, m.Name, limit, err)
		}
		want := c.written
		if want == "" {
			want = c.text
		}
		if th.String() != want {
			t.Errorf("%s is written %s", c.text, th)
		}
	}
}

func TestThresholdMistakes(t *testing.T) {
	steps := []string{"a-b-p99-sec", "a b-p99-sec", "jobs_total"}
	for _, c := range []struct{ text, want string }{
		{"", "no comparison (want for example p99 < 30ms)"},
		{"p99", "no comparison"},
		{"p99 = 30ms", "want one of <, <=, >, >=, == and != in it"},
		{"p99 => 30ms", "want one of"},
		{"p99 =< 30ms", "want one of"},
		{"10ms < p99 < 30ms", "want one of"},
		{"p99 <", "nothing stands after <"},
		{"< 30ms", "want the name of a metric before <"},
		{"p99 < 30 ms", `"30 ms" is not one number`},
		{"p99-sec < 30ms", "did you mean p99?"},
		{"rss-peak < 1MiB", "did you mean rss_peak?"},
		{"cpu/req < 1ms", "did you mean cpu_per_req?"},
		{"p99.9 < 1ms", "did you mean p99_9?"},
		{"(p99) < 1ms", `"(p99)" is not the name of a metric in thresholds`},
		{"change(p99 < 5%", "the bracket is not closed"},
		{"change() < 5%", "want the name of a metric"},
		{"p98 < 30ms", "unknown metric p98 (did you mean p90?)"},
		{"latency_of_all < 30ms", "unknown metric latency_of_all (want for example p99"},
		{"failure == 0", "did you mean failures?"},
		{"a_b_p99 < 1s", `a_b_p99 is ambiguous: it may be "a b-p99-sec" or "a-b-p99-sec" (consider: other names of the steps)`},
		{"p99 < 30", `p99 is a time; bad duration "30" (want for example 30ms or 1.5s)`},
		{"p99 < -1s", "p99 is a time"},
		{"p99 < 5%", "p99 is a time"},
		{"rss_peak < 200MB", `rss_peak is a size; bad size "200MB" (want for example 200MiB or 1.5GiB)`},
		{"rss_peak < 30ms", "rss_peak is a size"},
		{"gc_cpu < 5", `gc_cpu is a share; bad fraction "5" (want for example 5% or 0.05)`},
		{"gc_cpu < -1%", "gc_cpu is a share"},
		{"failures == none", `failures is a plain number; bad number "none"`},
		{"failures < 5%", "failures is a plain number"},
		{"failures < Inf", "failures is a plain number"},
		{"failures < 0x10", "failures is a plain number"},
		{"failures < 1e999", "failures is a plain number"},
		{"change(p99) < 5", `bad change "5" (want per cent, for example 5% or -10%)`},
		{"change(p99) < 1.05x", "bad change"},
		{"change(p99) > -101%", "bad change"},
		{"change(p99) < NaN%", "bad change"},
		{"change(sent_per_s) < 5%", "sent/s is never compared"},
		{"change(jobs_total) < 5%", "jobs_total is never compared"},
	} {
		th, err := dyno.ParseThreshold(c.text)
		if err == nil {
			_, _, err = th.Of(steps)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), fmt.Sprintf("threshold %q", strings.TrimSpace(c.text))) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzParseThreshold(f *testing.F) {
	for _, s := range []string{"p99 < 30ms", "change(p99) >= -5%", "rss_peak<1.5GiB", "GET_a_p99 != 1s", "change(", "p99 <= 1e-3", "µ_p50 == 0", "_ < 1"} {
		f.Add(s, "GET /a")
	}
	f.Fuzz(func(t *testing.T, text, step string) {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			return
		}
		again, err := dyno.ParseThreshold(th.String())
		if err != nil || again != th {
			t.Fatalf("%q is written %q, which is %+v, %v", text, th, again, err)
		}
		m, limit, err := th.Of([]string{step + "-p99-sec"})
		if err == nil && (math.IsNaN(limit) || math.IsInf(limit, 0) || dyno.ThresholdName(m.Name) != th.Name) {
			t.Fatalf("%q: %s, %v", text, m.Name, limit)
		}
	})
}
