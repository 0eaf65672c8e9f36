package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// The table of execution traces: of two settings of three, since the third's
// trial failed.
func TestAttribution(t *testing.T) {
	tb := compare.Tabulate(synthetic(6, study[:3]), compare.Options{})
	tb.Settings[0].Trace = &exectrace.Attribution{
		Trial: 31, Length: 3 * time.Second, Requests: 20_000, Collections: 22, Collecting: 220 * time.Millisecond, Stopped: 9 * time.Millisecond, Assists: 67,
		Time: [exectrace.Parts]time.Duration{
			exectrace.Running: 1738 * time.Millisecond, exectrace.Assisting: 9 * time.Millisecond, exectrace.Runnable: 528 * time.Millisecond,
			exectrace.Syscall: 1712 * time.Millisecond, exectrace.Locking: 98 * time.Millisecond, exectrace.Sleeping: time.Microsecond,
		},
	}
	tb.Settings[2].Trace = &exectrace.Attribution{
		Trial: 32, Length: 3 * time.Second, Requests: 8_000, Collections: 90, Collecting: 1938 * time.Millisecond, Stopped: 91 * time.Millisecond, Assists: 1011,
		Time: [exectrace.Parts]time.Duration{
			exectrace.Running: 1144 * time.Millisecond, exectrace.Assisting: 133 * time.Millisecond, exectrace.Sweeping: 92 * time.Millisecond,
			exectrace.Runnable: 781 * time.Millisecond, exectrace.Stopped: 80 * time.Millisecond, exectrace.Syscall: 1543 * time.Millisecond,
			exectrace.Locking: 1019 * time.Millisecond, exectrace.Collector: 19 * time.Millisecond,
		},
	}
	golden(t, "exectrace.txt", []byte(text(t, tb, layout.Options{})))
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: tb}); err != nil {
		t.Fatal(err)
	}
	golden(t, "exectrace.md", b.Bytes())
}
