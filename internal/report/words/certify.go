package words

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Planted names a change that dyno plants, such as "3% more CPU time per request", a noun.
func Planted(c certify.Change) string {
	size := percent(c.Size)
	switch c.Kind {
	case certify.Equal:
		return "no change"
	case certify.CPU:
		return size + " more CPU time per request"
	case certify.Tail:
		return "p99 latency longer by " + size
	case certify.Memory:
		return size + " of peak memory, retained"
	}
	if c.Kind == certify.Burn {
		return "a goroutine that works " + size + " of a CPU"
	}
	return "a lock held for " + size + " of a request's CPU time"
}

// percent rounds to two digits, as no campaign tells more.
func percent(x float64) string {
	if x == 0 {
		return "0%"
	}
	digits := math.Pow(10, math.Floor(math.Log10(x))-1)
	return fmt.Sprintf("%.4g%%", math.Round(x/digits)*digits*100)
}

// Certified says what a campaign found, a line each: false alarms, each change, what cannot be seen, and
// what mostly is.
func Certified(c *certify.Certificate) (lines []string) {
	shares := c.Shares()
	if len(shares) == 0 || shares[0].Kind != certify.Equal {
		lines = append(lines, "False alarms: not known, because no run compared equal settings.")
	}
	for _, s := range shares {
		if s.Kind == certify.Equal {
			lines = append(lines, fmt.Sprintf("False alarms: %d of %s of equal settings%s.", s.Found, layout.Count(s.Runs, "run"), between(s)))
		} else {
			lines = append(lines, Upper(Planted(s.Change))+outcome(c, s)+".")
		}
	}
	var below, missed []string
	for _, l := range c.Limits() {
		if l.Size > hugest {
			missed = append(missed, "any change of "+MetricNoun(l.Metric))
		} else {
			below = append(below, fmt.Sprintf("%s of %s", percent(worse(l.Metric, l.Size)), MetricNoun(l.Metric)))
		}
	}
	if below != nil {
		missed = slices.Insert(missed, 0, "changes below "+List(below))
	}
	if missed != nil {
		lines = append(lines, "Missed more often than found: "+strings.Join(missed, "; ")+".")
	}
	if mostly := mostlyFound(c); mostly != "" {
		lines = append(lines, mostly)
	}
	if c.Unplanted != "" {
		lines = append(lines, "Nothing was planted: "+c.Unplanted+".")
	}
	if _, failed := c.Runs(); failed > 0 {
		lines = append(lines, fmt.Sprintf("Failed, and not counted: %s (%s).", layout.Count(failed, "run"), firstFailure(c)))
	}
	if c.Interrupted {
		lines = append(lines, "The campaign was interrupted: this covers the runs until then.")
	}
	return lines
}

// outcome says how often a planted change should have been found, where that is known, and how often it
// was.
func outcome(c *certify.Certificate, s certify.Share) string {
	p, size, ok := c.Expected(s.Change)
	if !ok {
		text := fmt.Sprintf(": found in %d of %s%s", s.Found, layout.Count(s.Runs, "run"), between(s))
		if !math.IsNaN(s.Ratio) {
			text += fmt.Sprintf("; measured median: %s %s", MetricNoun(certify.Shown(s.Kind)), layout.Change(s.Ratio))
		}
		return text
	}
	expected := fmt.Sprintf("%s of runs (%s to %s, at 95%%)", whole(p.Share), whole(p.Lo), whole(p.Hi))
	if p.AtLeast {
		expected = fmt.Sprintf("%s of runs or more (at least %s, at 95%%)", whole(p.Share), whole(p.Lo))
	}
	text := fmt.Sprintf(" (measured: %s): expected in %s; found in %d of %d%s", layout.Change(1+size), expected, s.Found, s.Runs, between(s))
	if p.Contradicts(s) {
		text += ". These disagree: trust the number found"
	}
	return text
}

// whole is a share in whole per cent.
func whole(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }

// worse is by how much a metric changes that is worse by a size: what should be high is divided by as much.
func worse(metric string, size float64) float64 {
	if m, ok := dyno.MetricByName(metric); ok && m.Better > 0 {
		return size / (1 + size)
	}
	return size
}

// hugest is a change beyond which no size is said: a factor of 11.
const hugest = 10

// mostlyFound says what most runs find, of each metric of which that is known; "" if it is of none.
func mostlyFound(c *certify.Certificate) string {
	const twice = 1
	var sizes []string
	found := "Found in " + percent(certify.Mostly) + " of runs"
	for _, m := range dyno.Metrics {
		curve, ok := c.Curve(m.Name)
		if !ok {
			continue
		}
		noun, by := MetricNoun(m.Name), func(size float64) string { return percent(worse(m.Name, size)) }
		switch size, lo, hi, ok := curve.Size(certify.Mostly); {
		case ok && size > twice: // how much exactly is of no use
			sizes = append(sizes, fmt.Sprintf("over %s of %s", by(twice), noun))
		case ok:
			sizes = append(sizes, fmt.Sprintf("%s of %s (%s to %s)", by(size), noun, by(lo), by(hi)))
		}
		if curve.AtLeast && !strings.HasSuffix(found, "or more") {
			found += " or more"
		}
	}
	if sizes == nil {
		return ""
	}
	return found + ": changes of " + List(sizes) + "."
}

func firstFailure(c *certify.Certificate) string {
	i := slices.IndexFunc(c.Outcomes, func(o certify.Outcome) bool { return o.Err != "" })
	first, _, _ := strings.Cut(c.Outcomes[i].Err, "\n")
	return first
}

// Upper begins a sentence.
func Upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// between is the interval of a share. What happened never or always is bounded on one side.
func between(s certify.Share) string {
	switch {
	case s.Found == 0:
		return fmt.Sprintf(" (at most %s, at 95%%)", percent(s.Hi))
	case s.Found == s.Runs:
		return fmt.Sprintf(" (at least %s, at 95%%)", percent(s.Lo))
	}
	return fmt.Sprintf(" (%s to %s, at 95%%)", percent(s.Lo), percent(s.Hi))
}

// RunLength says how long a run of a campaign was: "of at most 20s", or how long those were whose
// blocks were given.
func RunLength(c *certify.Certificate) string {
	if c.Within > 0 {
		return "of at most " + dyno.Duration(c.Within*float64(time.Second)).String()
	}
	var longest time.Duration
	for _, s := range c.Shares() {
		longest = max(longest, s.Elapsed)
	}
	return "of about " + dyno.Duration(longest.Round(time.Second)).String()
}

// expiries say what differs.
var expiries = map[certify.Expiry]string{
	certify.OtherKernel: "the kernel", certify.OtherCPU: "the CPU", certify.OtherService: "the service",
	certify.OtherLoad: "the load", certify.OtherTurns: "the order of turns or launches",
}

// Expired says why a certificate does not hold, such as "the kernel and the load differ".
func Expired(why []certify.Expiry) string {
	var what []string
	for _, w := range why {
		what = append(what, expiries[w])
	}
	if len(what) == 1 {
		return what[0] + " differs"
	}
	return List(what) + " differ"
}

// Cited is what a report says of a certificate, in one line. why is why it has expired; nil if it
// holds.
func Cited(c *certify.Certificate, why []certify.Expiry) string {
	s := "certificate of " + c.Made.Format(time.DateOnly)
	if len(why) > 0 {
		return s + ": expired, because " + Expired(why) + " (consider: dyno certify)"
	}
	var parts []string
	if equal := c.OfKind(certify.Equal); len(equal) > 0 {
		parts = append(parts, fmt.Sprintf("false alarms %d of %d", equal[0].Found, equal[0].Runs))
	}
	for _, k := range certify.Kinds {
		shares := c.OfKind(k)
		if x, ok := certify.Smallest(shares, certify.Mostly); ok {
			parts = append(parts, fmt.Sprintf("%s found in %d of %d", Planted(x.Change), x.Found, x.Runs))
		} else if len(shares) > 0 {
			x = shares[len(shares)-1]
			parts = append(parts, fmt.Sprintf("%s found in %d of %d", Planted(x.Change), x.Found, x.Runs))
		}
	}
	if curve, ok := c.Curve(certify.Shown(certify.CPU)); ok {
		if size, _, _, ok := curve.Size(certify.Mostly); ok {
			parts = append(parts, fmt.Sprintf("%s of runs find a change of %s in %s", percent(certify.Mostly), percent(size), MetricNoun(curve.Metric)))
		}
	}
	return s + ", of runs " + RunLength(c) + ": " + strings.Join(parts, "; ")
}
