// Package units knows the units of benchmarks.
package units

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// work is what a benchmark gets done: the more of it per second, the better.
var work = []string{
	"B", "KB", "MB", "GB", "KiB", "MiB", "GiB", "bytes", "bits", "op", "ops", "req", "reqs", "requests", "queries", "tx", "txs", "txns", "transactions",
	"msg", "msgs", "messages", "rows", "records", "items", "elems", "elements", "keys", "docs", "documents", "lines", "tokens", "jobs", "tasks", "packets", "frames",
}

// Better says which side of a unit is better, as dyno.Metric.Better. Times and sizes
// are better low, work per second is better high. The others, such as errors/s, hits/op
// and ratio, have no direction: 0 is safer than a wrong sign. benchstat, too, knows
// only the units of package testing (benchfmt.UnitMetadataMap.GetBetter).
func Better(unit string) int {
	if m, ok := dyno.MetricByName(unit); ok {
		return m.Better
	}
	head, per, _ := strings.Cut(unit, "/")
	if per == "s" || per == "sec" {
		if slices.Contains(work, head) {
			return +1
		}
		return 0
	}
	switch head[strings.LastIndexByte(head, '-')+1:] {
	case "sec", "ns", "us", "µs", "ms", "s", "B", "bytes", "allocs":
		return -1
	}
	return 0
}
