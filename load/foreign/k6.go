package foreign

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// k6Variables ask k6 for a summary in a file, or on standard error without one,
// and for the percentiles that dyno compares. The latter are in addition to k6's
// own; they replace those of the script's options, and neither a flag in the
// command nor a variable that is set already.
func k6Variables(file string) map[string]string {
	if file == "" {
		file = "stderr" // a name that k6 knows: see handleSummaryResult in its internal/cmd
	}
	vars := map[string]string{"K6_SUMMARY_EXPORT": file}
	if os.Getenv("K6_SUMMARY_TREND_STATS") == "" {
		vars["K6_SUMMARY_TREND_STATS"] = "avg,min,med,max,p(90),p(95),p(99),p(99.9)"
	}
	return vars
}

// A k6Metric is the values of a metric by name; times are in milliseconds.
type k6Metric map[string]float64

// readK6 reads the summary that k6 run --summary-export writes, and the data
// that it gives to handleSummary, in which the values of a metric are a level
// deeper; see internal/js/summary-wrapper.js of k6 2.2.
func readK6(doc map[string]json.RawMessage) *summary {
	var all map[string]map[string]any
	if _, ok := doc["root_group"]; !ok || !member(doc, "metrics", &all) {
		return nil
	}
	metrics := map[string]k6Metric{}
	for name, values := range all {
		if deeper, ok := values["values"].(map[string]any); ok {
			values = deeper
		}
		metrics[name] = k6Metric{}
		for k, v := range values {
			if x, ok := v.(float64); ok {
				metrics[name][k] = x
			}
		}
	}
	r := k6Record(metrics)
	reqs := metrics["http_reqs"]
	if failed, ok := metrics["http_req_failed"]; ok {
		// A pass of this rate is a request that failed.
		r.fail(k6Cause, toCount(failed["passes"]))
	}
	if reqs["rate"] > 0 {
		r.Elapsed = toDuration(reqs["count"]/reqs["rate"], time.Second)
	}
	r.rate(reqs["rate"])
	return r
}

// readK6New reads the summary that k6 writes instead with
// --new-machine-readable-summary: version 1.0.0 of its schema.
func readK6New(doc map[string]json.RawMessage) *summary {
	var config struct{ Duration float64 }
	var results struct {
		Metrics []struct {
			Name   string
			Values map[string]float64
		}
	}
	if _, ok := doc["version"]; !ok || !member(doc, "config", &config) || !member(doc, "results", &results) {
		return nil
	}
	metrics := map[string]k6Metric{}
	for _, m := range results.Metrics {
		metrics[m.Name] = m.Values
	}
	r := k6Record(metrics)
	r.fail(k6Cause, toCount(metrics["http_req_failed"]["matches"]))
	r.Elapsed = toDuration(config.Duration, time.Second)
	if r.Elapsed > 0 {
		r.rate(float64(r.Requests) / r.Elapsed.Seconds())
	}
	return r
}

// k6Cause is all that k6's summary says of the requests that failed.
const k6Cause = "http_req_failed"

func k6Record(metrics map[string]k6Metric) *summary {
	r := newSummary("k6")
	r.answered(0, toCount(metrics["http_reqs"]["count"]))
	took := metrics["http_req_duration"]
	if r.Requests > 0 {
		r.Mean = toDuration(took["avg"], time.Millisecond)
		r.Min = toDuration(took["min"], time.Millisecond)
		r.Max = toDuration(took["max"], time.Millisecond)
		r.quantile(50, took["med"], time.Millisecond)
	}
	for name, ms := range took {
		percent, ok := strings.CutPrefix(name, "p") // p(99) or, in the new summary, p99
		if ok {
			r.quantile(toNumber(strings.Trim(percent, "()")), ms, time.Millisecond)
		}
	}
	if n := toCount(metrics["dropped_iterations"]["count"]); n > 0 {
		r.Warnings.AddOf(dyno.WarnCommand, "dropped", "k6 dropped %d iterations that were due, so its latency is too good (consider: more maxVUs)", n)
	}
	return r
}
