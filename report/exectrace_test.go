package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/dynolab/dyno/analysis"
)

// The table of execution traces: of two settings of three, since the third's
// trial failed.
func TestAttribution(t *testing.T) {
	tb := analysis.Tabulate(synthetic(6, study[:3]), analysis.Options{})
	tb.Settings[0].Trace = &analysis.Attribution{
		Trial: 31, Length: 3 * time.Second, Requests: 20_000, Collections: 22, Collecting: 220 * time.Millisecond, Stopped: 9 * time.Millisecond, Assists: 67,
		Time: [analysis.Parts]time.Duration{
			analysis.Running: 1738 * time.Millisecond, analysis.Assisting: 9 * time.Millisecond, analysis.Runnable: 528 * time.Millisecond,
			analysis.Syscall: 1712 * time.Millisecond, analysis.Locking: 98 * time.Millisecond, analysis.Sleeping: time.Microsecond,
		},
	}
	tb.Settings[2].Trace = &analysis.Attribution{
		Trial: 32, Length: 3 * time.Second, Requests: 8_000, Collections: 90, Collecting: 1938 * time.Millisecond, Stopped: 91 * time.Millisecond, Assists: 1011,
		Time: [analysis.Parts]time.Duration{
			analysis.Running: 1144 * time.Millisecond, analysis.Assisting: 133 * time.Millisecond, analysis.Sweeping: 92 * time.Millisecond,
			analysis.Runnable: 781 * time.Millisecond, analysis.Stopped: 80 * time.Millisecond, analysis.Syscall: 1543 * time.Millisecond,
			analysis.Locking: 1019 * time.Millisecond, analysis.Collector: 19 * time.Millisecond,
		},
	}
	golden(t, "exectrace.txt", []byte(text(t, tb, Options{})))
	var b bytes.Buffer
	if err := Markdown(&b, tb); err != nil {
		t.Fatal(err)
	}
	golden(t, "exectrace.md", b.Bytes())
}
