package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A figure is what one generator said in one round; p50 in seconds.
type figure struct{ p50, rate float64 }

// A round has one figure of each generator; hey's is zero where it is not there.
type round struct{ dyno, wrk, hey figure }

// parseWrk reads what wrk --latency prints. Answers with a status of 400 or more are an error.
func parseWrk(out string) (f figure, err error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "50%":
			d, err := time.ParseDuration(fields[1])
			if err != nil {
				return f, fmt.Errorf("read wrk's median: %w", err)
			}
			f.p50 = d.Seconds()
		case len(fields) == 2 && fields[0] == "Requests/sec:":
			if f.rate, err = strconv.ParseFloat(fields[1], 64); err != nil {
				return f, fmt.Errorf("read wrk's rate: %w", err)
			}
		case strings.Contains(line, "Non-2xx") || strings.Contains(line, "Socket errors"):
			return f, errors.New("wrk: " + strings.TrimSpace(line))
		}
	}
	if f.p50 == 0 || f.rate == 0 {
		return f, errors.New("read wrk's report: no median or no rate")
	}
	return f, nil
}

// parseHey reads hey's report, in which times have four decimals of a second.
func parseHey(out string) (f figure, err error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 4 && strings.HasPrefix(fields[0], "50%") && fields[1] == "in":
			if f.p50, err = strconv.ParseFloat(fields[2], 64); err != nil {
				return f, fmt.Errorf("read hey's median: %w", err)
			}
		case len(fields) == 2 && fields[0] == "Requests/sec:":
			if f.rate, err = strconv.ParseFloat(fields[1], 64); err != nil {
				return f, fmt.Errorf("read hey's rate: %w", err)
			}
		}
	}
	if f.rate == 0 {
		return f, errors.New("read hey's report: no rate")
	}
	return f, nil
}
