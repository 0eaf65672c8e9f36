package words

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/stats"
)

// certificate has 40 runs of equal settings and 20 of each of two changes.
func certificate() *certify.Certificate {
	c := &certify.Certificate{
		Envelope: answer.Envelope[answer.Setting, string]{Made: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}, Service: "./svc", Load: "closed load", How: "side by side", Within: 60,
		Of: certify.Identity{Kernel: "6.1", CPU: "EPYC", CPUs: 2, Subject: "go1.26.8 abc"},
	}
	add := func(x certify.Change, runs, found int, ratio float64) {
		for i := range runs {
			o := certify.Outcome{Change: x, Found: i < found}
			for _, m := range []string{"p99-sec", "cpu-sec/req", "rss-peak-B"} {
				s := certify.Seen{Metric: m, Verdict: stats.Unclear, Visible: 0.12, Ratio: 1}
				switch m {
				case "cpu-sec/req":
					s.Ratio, s.Visible = dyno.Number(ratio), 0.0213
				case "rss-peak-B":
					s.Visible = dyno.Number(math.NaN())
				}
				o.Seen = append(o.Seen, s)
			}
			c.Outcomes = append(c.Outcomes, o)
		}
	}
	add(certify.Change{Kind: certify.Equal}, 40, 0, 1)
	add(certify.Change{Kind: certify.CPU, Size: 0.03}, 20, 19, 1.031)
	add(certify.Change{Kind: certify.Lock, Size: 0.1}, 20, 4, 1)
	return c
}

func TestCertificate(t *testing.T) {
	c := certificate()
	c.Outcomes = append(c.Outcomes, certify.Outcome{Change: certify.Change{Kind: certify.CPU, Size: 0.03}, Judged: certify.Judged{Err: "it died\nhere"}})
	c.Interrupted = true
	const want = `False alarms: 0 of 40 runs of equal settings (at most 8.8%, at 95%).
3% more CPU time per request: found in 19 of 20 runs (75% to 100%, at 95%); measured median: CPU time per request +3.1%.
A lock held for 10% of a request's CPU time: found in 4 of 20 runs (5.7% to 44%, at 95%).
Missed more often than found: changes below 12% of p99 latency and 2.1% of CPU time per request; any change of peak memory.
Failed, and not counted: 1 run (it died).
The campaign was interrupted: this covers the runs until then.`
	if got := strings.Join(Certified(c), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	none := &certify.Certificate{Unplanted: "it is compiled already"}
	if got := strings.Join(Certified(none), "\n"); got != "False alarms: not known, because no run compared equal settings.\nNothing was planted: it is compiled already." {
		t.Errorf("of nothing: %s", got)
	}
}

// Where runs of equal settings differ, they say how often a change should have been found.
func TestCertificateCurve(t *testing.T) {
	c := certificate()
	for i := range c.Outcomes {
		if o := &c.Outcomes[i]; o.Kind == certify.Equal {
			ratio := dyno.Number(1 + 0.012*float64(i%2*2-1))
			o.Seen[1].Ratio = ratio
			o.Seen = append(o.Seen, certify.Seen{Metric: "req/s", Ratio: ratio, Visible: 0.5})
			o.Seen[0].Ratio, o.Seen[0].Visible = ratio, 2
		}
	}
	want := "3% more CPU time per request (measured: +3.1%): expected in 78% of runs (62% to 90%, at 95%); found in 19 of 20 (75% to 100%, at 95%)."
	mostly := "Found in 90% of runs: changes of over 100% of p99 latency, 34% of throughput (34% to 34%) and 3.7% of CPU time per request (3.7% to 3.7%)."
	missed := "Missed more often than found: changes below 200% of p99 latency, 33% of throughput and 2.1% of CPU time per request; any change of peak memory."
	lines := Certified(c)
	if lines[1] != want || lines[3] != missed || lines[4] != mostly {
		t.Errorf("got\n%s\n%s\n%s\nwant\n%s\n%s\n%s", lines[1], lines[3], lines[4], want, missed, mostly)
	}
	if got, want := Cited(c, nil), "; 90% of runs find a change of 3.7% in CPU time per request"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\ndoes not end in %s", got, want)
	}
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		o.Found = o.Kind == certify.Lock
	}
	want = "found in 0 of 20 (at most 17%, at 95%). These disagree: trust the number found."
	if got := Certified(c)[1]; !strings.HasSuffix(got, want) {
		t.Errorf("%s\ndoes not end in %s", got, want)
	}
	for i := range c.Outcomes {
		c.Outcomes[i].Early = true
	}
	want = "expected in 78% of runs or more (at least 62%, at 95%)"
	if got := Certified(c)[1]; !strings.Contains(got, want) {
		t.Errorf("%s\ndoes not have %s", got, want)
	}
}

func TestCited(t *testing.T) {
	for want, why := range map[string][]certify.Expiry{
		"certificate of 2026-11-23, of runs of at most 1m0s: false alarms 0 of 40; 3% more CPU time per request found in 19 of 20; a lock held for 10% of a request's CPU time found in 4 of 20": nil,
		"certificate of 2026-11-23: expired, because the kernel differs (consider: dyno certify)":                                                                                                {certify.OtherKernel},
		"certificate of 2026-11-23: expired, because the CPU, the service and the load differ (consider: dyno certify)":                                                                          {certify.OtherCPU, certify.OtherService, certify.OtherLoad},
	} {
		if got := Cited(certificate(), why); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
