package certified

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/report/layout"
)

// certificate has 40 runs of equal settings, whose CPU time scatters by 1.2 %, and 20 with 3 % more of it.
func certificate() *Report {
	c := &certify.Certificate{
		Envelope: answer.Envelope[answer.Setting, string]{Dyno: "v1", Made: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Interrupted: true},
		Service:  "./svc", Load: "closed load", How: "side by side", Within: 60,
		Of: certify.Identity{Kernel: "6.1", CPU: "EPYC", CPUs: 2, Subject: "go1.26.8 0123456789abcdef0123456789abcdef01234567"},
	}
	for i := range 60 {
		o := certify.Outcome{Change: certify.Change{Kind: certify.Equal}}
		ratio := 1 + 0.012*float64(i%2*2-1)
		if i >= 40 {
			o.Change, o.Found, ratio = certify.Change{Kind: certify.CPU, Size: 0.03}, i > 40, 1.031
		}
		o.Seen = []certify.Seen{{Metric: "cpu-sec/req", Ratio: dyno.Number(ratio), Visible: 0.0213}}
		c.Outcomes = append(c.Outcomes, o)
	}
	return &Report{c}
}

func TestText(t *testing.T) {
	const want = `Certificate of ./svc (go1.26.8 0123456789ab) on 2 CPUs of EPYC, kernel 6.1
60 runs of at most 1m0s
closed load
side by side

False alarms: 0 of 40 runs of equal settings (at most 8.8%, at 95%).
3% more CPU time per request (measured: +3.1%): expected in 78% of runs (62% to 90%, at 95%); found in 19 of 20 (75% to 100%, at 95%).
Missed more often than found: changes below 2.1% of CPU time per request.
Found in 90% of runs: changes of 3.7% of CPU time per request (3.7% to 3.7%).
The campaign was interrupted: this covers the runs until then.
`
	if got := certificate().Text(layout.Options{Width: 200}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(certificate().Text(layout.Options{Width: 80})) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

// The page has the sentences, the picture, and every change that was planted.
func TestHTML(t *testing.T) {
	for name, r := range map[string]*Report{"whole": certificate(), "empty": {&certify.Certificate{}}} {
		var b bytes.Buffer
		if err := r.HTML(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		wants := []string{"<h1>Certificate of", "</html>"}
		if name == "whole" {
			wants = append(wants, "<svg", "3% more CPU time per request", "no change", "[75%, 100%]", "+3.7%", "interrupted", "Made by dyno certify v1.")
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q in the page", name, want)
			}
		}
		for _, bad := range []string{"<script", "NaN", "ZgotmplZ"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: the page has %s", name, bad)
			}
		}
	}
}
