package words

import (
	"fmt"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/certify"
	"github.com/dynolab/dyno/report/layout"
)

// Planted names a change that dyno plants, such as "3% more CPU per request".
func Planted(c certify.Change) string {
	size := sizeOf(c.Size)
	switch c.Kind {
	case certify.Equal:
		return "no change"
	case certify.CPU:
		return size + " more CPU per request"
	case certify.Tail:
		return "p99 longer by " + size
	case certify.Memory:
		return size + " more memory, retained"
	}
	return "a lock held for " + size + " of the median latency"
}

// sizeOf rounds to two digits, as no campaign tells more.
func sizeOf(size float64) string {
	digits := math.Pow(10, math.Floor(math.Log10(size))-1)
	return fmt.Sprintf("%.4g%%", math.Round(size/digits)*digits*100)
}

// Certified says what a campaign found of a machine and a service, a sentence each.
func Certified(c *certify.Certificate) (lines []string) {
	alarms := "no run was of equal settings"
	if s := c.OfKind(certify.Equal); len(s) > 0 {
		alarms = fmt.Sprintf("%d of %s of equal settings", s[0].Found, layout.Count(s[0].Runs, "run"))
		if s[0].Found == 0 {
			alarms += fmt.Sprintf(" (at most %s of all, at 95%%)", sizeOf(s[0].Hi))
		} else {
			alarms += ", " + between(s[0])
		}
	}
	lines = append(lines, "False alarms: "+alarms+".")
	for _, k := range certify.Kinds {
		shares := c.OfKind(k)
		if len(shares) == 0 {
			continue
		}
		if s, ok := certify.Smallest(shares, certify.Mostly); ok {
			lines = append(lines, fmt.Sprintf("Found: %s, in %d of %s of at most %s (%s).",
				Planted(s.Change), s.Found, layout.Count(s.Runs, "run"), length(c), between(s)))
		} else {
			last := shares[len(shares)-1]
			lines = append(lines, fmt.Sprintf("Not found reliably: %s, the most that was planted, in %d of %s (%s).",
				Planted(last.Change), last.Found, layout.Count(last.Runs, "run"), between(last)))
		}
		switch half, atMost := certify.At(shares, certify.Half); {
		case !math.IsNaN(half) && !atMost:
			lines = append(lines, fmt.Sprintf("Missed more often than found: less than about %s.", Planted(certify.Change{Kind: k, Size: half})))
		case math.IsNaN(half):
			lines = append(lines, "Missed more often than found: every change of this kind that was planted.")
		}
	}
	if c.Unplanted != "" {
		lines = append(lines, "What can be found is not known: "+c.Unplanted+".")
	}
	return lines
}

func between(s certify.Share) string {
	return fmt.Sprintf("%.0f to %.0f%% of all, at 95%%", 100*s.Lo, 100*s.Hi)
}

func length(c *certify.Certificate) string {
	return dyno.Duration(c.Within * float64(time.Second)).String()
}

// expiries say what differs.
var expiries = map[certify.Expiry]string{
	certify.OtherKernel: "the kernel", certify.OtherCPU: "the CPU",
	certify.OtherService: "the service", certify.OtherLoad: "the load",
}

// Cited is what a report says of a certificate, in one line. why is why it has expired; nil if it
// holds.
func Cited(c *certify.Certificate, why []certify.Expiry) string {
	s := "certificate of " + c.Made.Format(time.DateOnly)
	if len(why) > 0 {
		var what []string
		for _, w := range why {
			what = append(what, expiries[w])
		}
		is := "is"
		if len(what) > 1 {
			is = "are"
		}
		s += fmt.Sprintf(" (expired, as %s %s not that of then; consider: dyno certify)", List(what), is)
	}
	parts := []string{}
	if equal := c.OfKind(certify.Equal); len(equal) > 0 {
		parts = append(parts, fmt.Sprintf("false alarms in %d of %s", equal[0].Found, layout.Count(equal[0].Runs, "run")))
	}
	for _, k := range certify.Kinds {
		if x, ok := certify.Smallest(c.OfKind(k), certify.Mostly); ok {
			parts = append(parts, fmt.Sprintf("%s is found in %.0f%% of runs", Planted(x.Change), 100*float64(x.Found)/float64(x.Runs)))
		}
	}
	return s + ": " + List(parts) + ", with at most " + length(c) + " a run"
}

// CertifyTable is the shares of all changes.
func CertifyTable(c *certify.Certificate) layout.Section {
	s := layout.Section{Title: "What was planted, and in how many runs it was found:"}
	g := layout.Grid{Cols: layout.Columns(6), Head: [][]string{{"", "found", "of", "95% interval", "median change", "half-width", "median run"}}}
	for _, x := range c.Shares() {
		cells := []string{Planted(x.Change), fmt.Sprint(x.Found), fmt.Sprint(x.Runs), fmt.Sprintf("%.0f to %.0f%%", 100*x.Lo, 100*x.Hi), "", "",
			x.Elapsed.Round(time.Second).String()}
		if !math.IsNaN(x.Ratio) {
			cells[4], cells[5] = layout.Change(x.Ratio), fmt.Sprintf("±%.1f%%", 100*x.Half)
		}
		row := layout.Row{}
		for _, text := range cells {
			row.Cells = append(row.Cells, layout.Cell{Text: text})
		}
		g.Rows = append(g.Rows, row)
	}
	s.Grids = []layout.Grid{g}
	s.Notes = append(s.Notes, "The median change is that of CPU per request, of p99 or of the peak of resident memory, and of the median latency where a lock is held.")
	failed := 0
	for _, o := range c.Outcomes {
		if o.Err != "" {
			failed++
		}
	}
	if failed > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s failed and count for nothing.", layout.Count(failed, "run")))
	}
	return s
}
