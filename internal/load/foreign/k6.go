package foreign

import (
	"encoding/json"
	"os"
	"time"

	"github.com/dynolab/dyno"
)

// k6Variables ask k6 for a summary in a file, or on standard error, and for dyno's
// percentiles. These replace those of the script's options, but no flag in the
// command and no variable that is set already.
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

// readK6 reads the summary of k6 run --summary-export, and the data for
// handleSummary, which has a metric's values a level deeper; see
// internal/js/summary-wrapper.js of k6 2.2. Times are in milliseconds.
func readK6(doc []byte) *summary {
	var v struct {
		Root    any `json:"root_group"`
		Metrics map[string]map[string]any
	}
	json.Unmarshal(doc, &v)
	if v.Root == nil || v.Metrics == nil {
		return nil
	}
	metrics := map[string]map[string]float64{}
	for name, values := range v.Metrics {
		if deeper, ok := values["values"].(map[string]any); ok {
			values = deeper
		}
		metrics[name] = map[string]float64{}
		for k, v := range values {
			if x, ok := v.(float64); ok {
				metrics[name][k] = x
			}
		}
	}
	r := k6Record(metrics)
	r.fail(k6Cause, toCount(metrics["http_req_failed"]["passes"])) // a "pass" of this rate is a failed request
	reqs := metrics["http_reqs"]
	r.Elapsed = toDuration(reqs["count"]/reqs["rate"], time.Second) // 0 if it is no number
	r.rate(reqs["rate"])
	return r
}

// readK6New reads the summary of k6 --new-machine-readable-summary, version 1.0.0.
func readK6New(doc []byte) *summary {
	var v struct {
		Version any
		Config  *struct{ Duration float64 }
		Results *struct {
			Metrics []struct {
				Name   string
				Values map[string]float64
			}
		}
	}
	if json.Unmarshal(doc, &v) != nil || v.Version == nil || v.Config == nil || v.Results == nil {
		return nil
	}
	metrics := map[string]map[string]float64{}
	for _, m := range v.Results.Metrics {
		metrics[m.Name] = m.Values
	}
	r := k6Record(metrics)
	r.fail(k6Cause, toCount(metrics["http_req_failed"]["matches"]))
	r.Elapsed = toDuration(v.Config.Duration, time.Second)
	r.rateOfElapsed()
	return r
}

const k6Cause = "http_req_failed"

func k6Record(metrics map[string]map[string]float64) *summary {
	r := newSummary("k6")
	r.answered(0, toCount(metrics["http_reqs"]["count"]))
	took := metrics["http_req_duration"]
	if r.Requests > 0 {
		r.times(time.Millisecond, 0, took["avg"], took["min"], took["max"])
		r.quantile(50, took["med"], time.Millisecond)
	}
	r.quantiles(took, time.Millisecond)
	if n := toCount(metrics["dropped_iterations"]["count"]); n > 0 {
		r.Warnings.AddOf(dyno.WarnCommand, "dropped", "k6 dropped %d iterations that were due, so its latency is too low (consider: more maxVUs)", n)
	}
	return r
}
