package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "command", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// brief is a record in one line.
func brief(r *load.Record) string {
	if r == nil {
		return "nothing"
	}
	s := fmt.Sprintf("%s %d/%d %v in %v at %.1f/s", r.Engine, r.Failed, r.Requests, r.Failures, r.Elapsed.Round(time.Millisecond), r.Rate)
	if len(r.Statuses) > 0 {
		s += fmt.Sprint(" ", r.Statuses)
	}
	if r.BytesIn > 0 {
		s += fmt.Sprintf(" %d B", r.BytesIn)
	}
	for _, q := range slices.Sorted(maps.Keys(r.Quantiles)) {
		s += fmt.Sprintf(" p%.4g=%v", 100*q, r.Quantiles[q].Round(10*time.Microsecond))
	}
	for _, m := range []struct {
		name string
		d    time.Duration
	}{{"mean", r.Mean}, {"min", r.Min}, {"max", r.Max}} {
		if m.d > 0 {
			s += fmt.Sprintf(" %s=%v", m.name, m.d.Round(10*time.Microsecond))
		}
	}
	if r.Latency != nil {
		s += fmt.Sprintf(" histogram of %d, p50=%v", r.Latency.Count(), r.Latency.Quantile(.5).Round(100*time.Microsecond))
	}
	return s
}

var summaries = []struct{ file, want, warning string }{
	{"hey.txt", "hey 40/2000 map[status 503:40] in 1.552s at 1262.8/s map[200:1960 503:40] 9920 B p10=2.6ms p25=2.7ms p50=2.9ms p75=3.1ms p90=3.4ms p95=4.2ms p99=7.1ms mean=3.1ms min=2.1ms max=15.9ms",
		"hey rounds times"},
	{"hey-refused.txt", "hey 20/20 map[connection refused:20] in 2ms at 0.0/s",
		""},
	{"hey-timeout.txt", "hey 6/60 map[timeout:6] in 3.007s at 18.0/s map[200:54] 270 B p10=100µs p25=200µs p50=200µs p75=400µs p90=800µs p95=1.5ms mean=300µs min=100µs max=2.3ms",
		"hey rounds times"},
	{"hey.csv", "hey 4/200 map[status 503:4] in 154ms at 1275.2/s map[200:196 503:4] histogram of 196, p50=3ms",
		"leaves out requests without an answer"},
	{"wrk.txt", "wrk 0/34087 map[] in 1.1s at 30966.6/s mean=480µs max=27.95ms",
		"consider: wrk --latency"},
	{"wrk-latency.txt", "wrk 26/1327 map[status 4xx or 5xx:26] in 1.01s at 1292.9/s p50=2.59ms p75=2.87ms p90=4.73ms p99=10.1ms mean=3.14ms max=13.2ms",
		""},
	{"wrk-timeout.txt", "wrk 4/75 map[timeout:4] in 3.02s at 23.5/s p50=70µs p75=120µs p90=190µs p99=310µs mean=100µs max=310µs",
		"leaves out 4 requests that took longer"},
	{"wrk-broken.txt", "wrk 8103/8103 map[connection closed:8103] in 1s at 0.0/s",
		""},
	{"vegeta.json", "vegeta 10/500 map[status 503:10] in 1s at 489.9/s map[200:490 503:10] 2480 B p50=2.75ms p90=3.4ms p95=4.03ms p99=5.7ms mean=2.92ms min=2.25ms max=7.99ms",
		""},
	{"vegeta-refused.json", "vegeta 20/20 map[connection refused:20] in 951ms at 0.0/s p50=380µs p90=690µs p95=730µs p99=750µs mean=440µs min=280µs max=750µs",
		""},
	{"vegeta.txt", "nothing",
		""},
	{"oha.json", "oha 30/1524 map[status 503:30] in 1.002s at 1490.5/s map[200:1494 503:30] 7560 B p10=2.37ms p25=2.44ms p50=2.54ms p75=2.68ms p90=2.81ms p95=2.91ms p99=4.41ms p99.9=13.72ms p99.99=13.73ms mean=2.61ms min=2.14ms max=13.73ms",
		""},
	{"oha-refused.json", "oha 20/20 map[connection refused:20] in 1ms at 0.0/s",
		""},
	{"oha-timeout.json", "oha 1/10 map[timeout:1] in 1.002s at 9.0/s map[200:9] 45 B p10=90µs p25=100µs p50=180µs p75=210µs p90=3.19ms p95=3.19ms p99=3.19ms p99.9=3.19ms p99.99=3.19ms mean=580µs min=90µs max=3.19ms",
		""},
	{"k6.json", "k6 17/873 map[http_req_failed:17] in 1.006s at 850.6/s p50=3.26ms p90=6.8ms p95=8.02ms p99=16.3ms p99.9=69.46ms mean=4.34ms min=2.17ms max=69.81ms",
		""},
	{"k6-v1.json", "k6 16/773 map[http_req_failed:16] in 1.002s at 755.8/s p50=3.92ms p90=8.27ms p95=9.24ms mean=4.96ms min=2.27ms max=52.13ms",
		""},
	{"k6.txt", "nothing",
		""},
}

// The files are what the generators of the versions that readSummary names wrote.
func TestReadSummary(t *testing.T) {
	for _, s := range summaries {
		rec := readSummary(fixture(t, s.file))
		if got := brief(rec); got != s.want {
			t.Errorf("%s:\ngot  %s\nwant %s", s.file, got, s.want)
		}
		if rec == nil {
			continue
		}
		if got := strings.Join(rec.Warnings.Texts(), "; "); !strings.Contains(got, s.warning) || s.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", s.file, got, s.warning)
		}
	}
}

// A summary is found behind what else a script writes, on either output, and of
// two the last is taken, with a word.
func TestReadSummaryAmongOther(t *testing.T) {
	vegeta, wrk := fixture(t, "vegeta.json"), fixture(t, "wrk-latency.txt")
	noise := []byte("warming up\n{\"level\":\"info\"}\n{not json\n  { \"open\": [\n\n")
	for name, outputs := range map[string][][]byte{
		"noise before":       {slices.Concat(noise, vegeta)},
		"on standard error":  {nil, noise, vegeta},
		"noise behind":       {slices.Concat(wrk, noise)},
		"with carriage ends": {[]byte(strings.ReplaceAll(string(wrk), "\n", "\r\n"))},
	} {
		if rec := readSummary(outputs...); rec == nil || len(rec.Warnings) > 0 || rec.Requests < 500 {
			t.Errorf("%s: %+v", name, rec)
		}
	}
	rec := readSummary(slices.Concat(fixture(t, "wrk.txt"), wrk))
	if rec == nil || rec.Requests != readSummary(wrk).Requests || !strings.Contains(strings.Join(rec.Warnings.Texts(), ""), "wrote 2 summaries") {
		t.Errorf("two summaries: %+v", rec)
	}
}

func FuzzReadSummary(f *testing.F) {
	for _, s := range summaries {
		f.Add(fixture(f, s.file))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		r := readSummary(out)
		if r == nil {
			return
		}
		if r.Requests < 0 || r.Failed < 0 || r.Failed > r.Requests || r.Slow > r.Failed || r.BytesIn < 0 || r.BytesOut < 0 {
			t.Errorf("counts: %+v", r)
		}
		if !(r.Rate >= 0) || r.Elapsed < 0 || r.Mean < 0 || r.Min < 0 || r.Max < 0 {
			t.Errorf("not possible: %+v", r)
		}
		for q, d := range r.Quantiles {
			if !(q > 0 && q < 1) || d <= 0 {
				t.Errorf("quantile %v is %v", q, d)
			}
		}
		var failures int64
		for _, n := range r.Failures {
			failures += int64(n)
		}
		if failures != r.Failed {
			t.Errorf("%d failed, but of causes %d", r.Failed, failures)
		}
	})
}

// A said is a tool that was asked to run, and writes and ends as it is told.
type said struct {
	argv           []string
	vars           map[string]string
	dir            string
	stdout, stderr string
	status         string
	err            error
}

func (s *said) run(_ context.Context, argv []string, vars map[string]string, dir string, stdout, stderr io.Writer) (string, error) {
	s.argv, s.vars, s.dir = argv, vars, dir
	io.WriteString(stdout, s.stdout)
	io.WriteString(stderr, s.stderr)
	if s.status == "" {
		s.status = "exit status 0"
	}
	return s.status, s.err
}

func TestCommand(t *testing.T) {
	tool := &said{stdout: string(fixture(t, "hey.txt")), stderr: "a note\n"}
	summary := filepath.Join(t.TempDir(), "load.json")
	if err := os.WriteFile(summary, fixture(t, "k6.json"), 0o666); err != nil { // of an interrupted trial
		t.Fatal(err)
	}
	var log strings.Builder
	var order []string
	few := dyno.Fraction(.05)
	rec, err := Run(t.Context(), "http://[::1]:8080",
		dyno.Load{Command: "hey -n {{.arg.n}} $DYNO_URL/x", MaxFailures: &few}, map[string]string{"n": "2000"},
		Options{
			Tool: tool.run, Dir: "/somewhere", Log: &log, Summary: summary,
			Options: load.Options{
				Begin: func(context.Context) error { order = append(order, "begin"); return nil },
				End:   func() { order = append(order, "end "+tool.status) },
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Engine != "hey" || rec.Window != 2000 || rec.Failed != 40 {
		t.Errorf("record: %+v", rec)
	}
	if got := tool.argv[len(tool.argv)-1]; got != "hey -n 2000 $DYNO_URL/x" || tool.dir != "/somewhere" {
		t.Errorf("ran %q in %s", got, tool.dir)
	}
	want := map[string]string{
		"DYNO_URL": "http://[::1]:8080", "DYNO_ADDR": "[::1]:8080", "DYNO_HOST": "::1", "DYNO_PORT": "8080",
		"K6_SUMMARY_EXPORT": summary, "K6_SUMMARY_TREND_STATS": "avg,min,med,max,p(90),p(95),p(99),p(99.9)",
	}
	if !reflect.DeepEqual(tool.vars, want) {
		t.Errorf("environment %v", tool.vars)
	}
	if !strings.HasPrefix(log.String(), "\nSummary:") || !strings.HasSuffix(log.String(), "a note\n") {
		t.Errorf("log: %q", log.String())
	}
	if !slices.Equal(order, []string{"begin", "end exit status 0"}) {
		t.Errorf("order: %q", order)
	}
}

func TestCommandFails(t *testing.T) {
	hey := string(fixture(t, "hey.txt"))
	for _, c := range []struct {
		name string
		tool said
		want string
		rec  bool
	}{
		{"ends badly", said{stdout: hey, stderr: "no such script: x.lua\n", status: "exit status 1"},
			"load command: exit status 1: no such script: x.lua", true},
		{"last lines", said{stdout: strings.Repeat("line\n", 20) + "why\n\n", status: "signal: killed"},
			"load command: signal: killed; its last lines:\n\tline\n\tline\n\tline\n\tline\n\tline\n\tline\n\tline\n\tline\n\tline\n\twhy", true},
		{"says nothing", said{status: "exit status 2"}, "load command: exit status 2 (it wrote nothing)", true},
		{"not installed", said{stderr: "sh: 1: hey: not found\n", status: "exit status 127"},
			"load command: exit status 127: sh: 1: hey: not found (consider: whether the program is installed, and in PATH)", true},
		{"no shell", said{err: errors.New("no sh")}, "load command: no sh", false},
		{"fast errors", said{stdout: hey}, "load command: 40 of 2000 requests failed (2 %), more than the 1% allowed: most often status 503 (consider: the URL in the command, or max_failures)", true},
		{"nobody there", said{stdout: string(fixture(t, "hey-refused.txt"))}, "load command: 20 of 20 requests failed (100 %), more than the 1% allowed: most often connection refused (consider: the URL in the command, or max_failures)", true},
		{"nothing sent", said{stdout: strings.ReplaceAll(string(fixture(t, "wrk-broken.txt")), "read 8103", "read 0")}, "load command: no request was answered (consider: a longer run)", true},
	} {
		rec, err := Run(t.Context(), "http://127.0.0.1:1", dyno.Load{Command: "x"}, nil, Options{Tool: c.tool.run})
		if err == nil || err.Error() != c.want || c.rec != (rec != nil) {
			t.Errorf("%s: %+v\n%v\nwant\n%s", c.name, rec, err, c.want)
		}
	}
}

// Of a command that says nothing dyno understands there is a record without
// requests, so that what the probes saw is kept.
func TestCommandNotUnderstood(t *testing.T) {
	tool := &said{stdout: "all good\n"}
	rec, err := Run(t.Context(), "https://example.org", dyno.Load{Command: "./mine"}, nil, Options{Tool: tool.run})
	if err != nil || rec.Engine != "command" || rec.Window != 0 || rec.Latency != nil || len(rec.Warnings) != 1 ||
		!strings.HasPrefix(rec.Warnings[0].Text, "dyno could not read the output of the load command (known: hey, wrk") {
		t.Errorf("%+v, %v", rec, err)
	}
	if tool.vars["DYNO_PORT"] != "443" || tool.vars["DYNO_ADDR"] != "example.org:443" || tool.vars["K6_SUMMARY_EXPORT"] != "stderr" {
		t.Errorf("environment %v", tool.vars)
	}
}

// If the context ends, its cause is the error, whatever the tool says.
func TestCommandCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	died := errors.New("the subject died")
	tool := func(context.Context, []string, map[string]string, string, io.Writer, io.Writer) (string, error) {
		cancel(died)
		return "signal: killed", nil
	}
	ended := false
	rec, err := Run(ctx, "http://127.0.0.1:1", dyno.Load{Command: "x"}, nil, Options{Tool: tool, Options: load.Options{End: func() { ended = true }}})
	if err != died || rec != nil || !ended {
		t.Errorf("%+v, %v, ended %v", rec, err, ended)
	}
}

func TestCheckCommand(t *testing.T) {
	err := Check(dyno.Load{Command: "hey {{.arg.sise}}"}, map[string]string{"size": "1"})
	var plan *dyno.PlanError
	if !errors.As(err, &plan) || !slices.Equal(plan.Key, []string{"load", "command"}) || !strings.Contains(err.Error(), "unknown variable arg.sise") {
		t.Errorf("%v", err)
	}
	if err := Check(dyno.Load{Command: "hey {{.arg.size}}"}, map[string]string{"size": "1"}); err != nil {
		t.Error(err)
	}
}

// What is kept of an endless output is its end, from the beginning of a line.
func TestLastBytes(t *testing.T) {
	var l lastBytes
	l.mu = nil
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 100 {
		l.Write(line)
	}
	l.Write([]byte("the end\n"))
	if len(l.b) > outputKept || len(l.b) < outputKept/3 || len(l.b)%len(line) != len("the end\n") {
		t.Errorf("%d bytes kept", len(l.b))
	}
}
