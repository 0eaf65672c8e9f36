package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// truth is what the server saw since /reset; times are in milliseconds.
type truth struct {
	Requests int     // all
	Timed    int     // of /delay and /stall, which the rest is about
	Rate     float64 // per second, from the first to the last
	Service  spread  // from the end of the read to the begin of the write
	Gaps     spread  // between the arrivals of two requests
}

type spread struct{ P50, P90, P99, P999, Max float64 }

// parseDyno reads what dyno load --json prints.
func parseDyno(out []byte) (figures, error) {
	var summary struct {
		Settings []struct {
			Values map[string]struct{ Center *float64 }
		}
	}
	if err := json.Unmarshal(out, &summary); err != nil {
		return nil, fmt.Errorf("read dyno's JSON: %w", err)
	}
	if len(summary.Settings) != 1 {
		return nil, fmt.Errorf("read dyno's JSON: %d settings, not one", len(summary.Settings))
	}
	f := figures{}
	for name, v := range summary.Settings[0].Values {
		if v.Center == nil {
			continue
		}
		if base, ok := strings.CutSuffix(name, "-sec"); ok {
			f[base] = *v.Center * 1e3
		} else {
			f[name] = *v.Center
		}
	}
	if _, ok := f["p50"]; !ok {
		return nil, errors.New("read dyno's JSON: no p50-sec")
	}
	return f, nil
}

// parseHgrm reads the table of percentiles that HdrHistogram prints: lines of
// a value in milliseconds, a percentile from 0 to 1 and the count of values up
// to it. It returns the value of the first line whose percentile is at least q.
func parseHgrm(out []byte, q float64) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		value, err1 := strconv.ParseFloat(fields[0], 64)
		percentile, err2 := strconv.ParseFloat(fields[1], 64)
		if err1 == nil && err2 == nil && percentile >= q {
			return value, nil
		}
	}
	return 0, fmt.Errorf("read percentiles: none from %g on", q)
}

// parseOha reads what oha --output-format json prints: seconds.
func parseOha(out []byte) (figures, error) {
	var report struct {
		LatencyPercentiles map[string]*float64
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("read oha's JSON: %w", err)
	}
	f := figures{}
	for name, v := range report.LatencyPercentiles {
		if v != nil {
			f[name] = *v * 1e3
		}
	}
	if _, ok := f["p50"]; !ok {
		return nil, errors.New("read oha's JSON: no latencyPercentiles")
	}
	return f, nil
}

// parseVegeta reads what vegeta report -type json prints: nanoseconds.
func parseVegeta(out []byte) (figures, error) {
	var report struct{ Latencies map[string]float64 }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("read vegeta's JSON: %w", err)
	}
	f := figures{}
	for name, v := range report.Latencies {
		if n, ok := strings.CutSuffix(name, "th"); ok {
			f["p"+n] = v / 1e6
		}
	}
	if _, ok := f["p50"]; !ok {
		return nil, errors.New("read vegeta's JSON: no latencies")
	}
	return f, nil
}

// parsePeak reads the highest resident memory, in bytes, from /proc/PID/status;
// 0 if the process has ended.
func parsePeak(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
