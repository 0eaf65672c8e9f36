package words

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/report/layout"
)

var doing = map[slow.Part]string{
	exectrace.Running: "running", exectrace.Assisting: "marking for the collector", exectrace.Sweeping: "sweeping for the collector",
	exectrace.Runnable: "waiting for a P", exectrace.Stopped: "while the world was stopped", exectrace.Syscall: "in a system call",
	exectrace.Network: "waiting for the network", exectrace.Locking: "waiting for a lock", exectrace.Channels: "waiting for a channel",
	exectrace.Sleeping: "asleep", exectrace.Collector: "waiting for the collector", exectrace.Otherwise: "waiting",
	slow.Arriving: "before its goroutine woke", exectrace.Preempted: "kept off the CPU by the kernel",
}

// waiting are more exact words for some of what is in doing.
var waiting = map[string]string{
	slow.Send: "waiting to send to a channel", slow.Receive: "waiting to receive from a channel", slow.Select: "waiting in a select",
	slow.WaitGroup: "waiting for a WaitGroup", slow.WaitCond: "waiting for a Cond",
}

// Site is a line of a function, without the path of its package.
func Site(s slow.Site) string {
	name := s.Func[strings.LastIndexByte(s.Func, '/')+1:]
	if i := strings.LastIndex(name, "-fm."); i >= 0 { // a method value, and the method in it
		name = name[i+len("-fm."):]
	}
	name = strings.TrimPrefix(name, "main.")
	if s.Line > 0 {
		name += fmt.Sprintf(" %s:%d", path.Base(s.File), s.Line)
	}
	return layout.Middle(name, 60)
}

// Spent says what requests did, on which line, and in which function of a library: "waiting in a select in ask main.go:41
// (in http.(*Transport).getConn)".
func Spent(p slow.Part, s slow.Site) string {
	did := cmp.Or(waiting[s.Op], doing[p])
	switch {
	case s.Before:
		did += " up to a call"
	case slow.Pool(s.Via) && (p == exectrace.Channels || p == exectrace.Locking):
		did = "waiting for a connection"
	}
	if s.Func == "" {
		return did
	}
	return did + " in " + Site(s) + via(s)
}

// via is the function of a library that a line waits in.
func via(s slow.Site) string {
	if s.Via == "" {
		return ""
	}
	return " (in " + Site(slow.Site{Func: s.Via}) + ")"
}

// Behind says who kept a request waiting: "while another goroutine was asleep in (*cache).evict cache.go:88".
func Behind(c slow.Culprit) string {
	who := "another goroutine"
	if c.Other {
		who = "another request"
	}
	switch {
	case c.Idle:
		return "with a P free: the kernel woke it late"
	case c.Other && c.Site.Func == "" && c.Part.Waits():
		return "until another request came"
	case c.Part == exectrace.Preempted:
		return "while the kernel kept the other thread off the CPU"
	case c.Part == exectrace.Stopped && c.Site.Func == "":
		return "while the world was stopped"
	case c.Part == exectrace.Syscall && c.Site.Func == "":
		return "while a P was with the scheduler, or in a system call"
	case c.Other && c.Site.Func == "":
		return "while other requests were " + doing[c.Part]
	case c.Site.Func == "":
		return "for something unknown"
	case strings.HasPrefix(c.Site.Func, "runtime.gcBgMarkWorker"):
		return "while the garbage collector was " + doing[c.Part]
	case c.Site.Line == 0: // the function that a goroutine was started with
		return "while " + Site(c.Site) + " was " + doing[c.Part]
	}
	return "while " + who + " was " + Spent(c.Part, c.Site)
}

// Percentile names a quantile: "p99.9".
func Percentile(quantile float64) string { return "p" + strconv.FormatFloat(100*quantile, 'g', 6, 64) }

// SlowShare names the requests above a quantile: "the slowest 1 %".
func SlowShare(quantile float64) string {
	return "the slowest " + strconv.FormatFloat(100-100*quantile, 'g', 3, 64) + " %"
}

// SlowNotes say which requests of one setting were slow, and how much of their excess the service does not see.
func SlowNotes(w *slow.Why) []string {
	var requests, few, sent, tracing int
	var typical, mean, length float64
	var client slow.Client
	matched, cut, throttled := true, false, 0.0
	n := float64(len(w.Trials))
	for _, t := range w.Trials {
		requests += t.Requests
		few += t.Slow.N
		sent += t.Sent
		tracing += t.Tracing
		typical += t.Typical.Mean / n
		mean += t.Slow.Mean / n
		length += t.Length.Seconds() / n
		matched = matched && t.Matched
		cut = cut || t.Cut
		throttled += t.Throttled / n
		client.Typical += t.Client.Typical / n
		client.Slow += t.Client.Slow / n
		client.InDyno += t.Client.InDyno / n
		client.Waking += t.Client.Waking / n
		client.Service += t.Client.Service / n
		client.Leaving += t.Client.Leaving / n
	}
	d := func(s float64) string { return layout.Duration(time.Duration(s * 1e9)) }
	from := "In the service, from when they reached it to the end of their answer,"
	if !matched {
		from = "From when its goroutine woke to the end of its answer, as the service saw it,"
	}
	each := ""
	if len(w.Trials) > 1 {
		each = " each"
	}
	notes := []string{fmt.Sprintf("%s of %s%s with %s requests in all, %s of them slow. %s these took %s in the mean, typical ones (p40 to p60) %s.",
		layout.Count(len(w.Trials), "trace"), d(length), each, layout.Digits(int64(requests)), layout.Digits(int64(few)), from, d(mean), d(typical))}
	if tracing > 0 {
		notes = append(notes, fmt.Sprintf("Left out are %s more that ran while the runtime wrote the trace, which it does once a second.", layout.Digits(int64(tracing))))
	}
	switch {
	case matched && client.Slow > client.Typical:
		share := func(s float64) string {
			return fmt.Sprintf("%.0f %%", math.Round(100*s/(client.Slow-client.Typical))+0) // + 0: no "-0"
		}
		notes = append(notes, fmt.Sprintf("These are the slowest in the service. By latency, from when dyno was due to send a request, %s took %s, and typical ones %s. Of that excess %s is in the service, %s in dyno before it sent them, %s in the kernel, which woke the service late though a P was free, and %s after the service had written its answer.",
			SlowShare(w.Quantile), d(client.Slow), d(client.Typical), share(client.Service), share(client.InDyno), share(client.Waking), share(client.Leaving)))
	case !matched && sent > 0:
		notes = append(notes, "dyno could not tell which request of its own is which of the trace, as with a sample of requests, or from another machine.")
	}
	if throttled > 0 {
		notes = append(notes, fmt.Sprintf("The CPU limit was used up in %.0f %% of its periods: a service that slept then woke late, which seems to be the kernel's doing here.", 100*throttled))
	}
	seen := map[slow.Part]bool{}
	for _, l := range MainLines(w) {
		seen[l.Part] = true
		for _, by := range l.By[:min(len(l.By), 1)] {
			seen[by.Part] = seen[by.Part] || !by.Idle
		}
	}
	if slices.ContainsFunc(MainLines(w), func(l slow.Line) bool { return l.Part.Waits() && len(l.By) > 0 && l.By[0].Site.Func != "" }) {
		notes = append(notes, "\"While\" names the one that let the request go on, as by giving up a lock, or that this one waited for in turn.")
	}
	notes = append(notes, onCPU(seen, w.Preempted)...)
	if slices.ContainsFunc(w.Lines[:min(len(w.Lines), 2)], func(l slow.Line) bool { return l.Excess.Lo < 0 && l.Excess.Mean > w.Excess.Mean/10 }) {
		notes = append(notes, "The intervals are of the mean over traces, in the unit of the first column. A line whose interval contains 0 is not sure (consider: more or longer traces).")
	}
	if cut {
		notes = append(notes, fmt.Sprintf("The traces are longer than the %s events that dyno reads of each.", layout.Digits(slow.MostEvents)))
	}
	return notes
}

// MainLines are those that are shown: at most so many, and each with at least so much of the excess.
func MainLines(w *slow.Why) []slow.Line {
	n := 0
	for n < min(len(w.Lines), mostLines) && w.Lines[n].Excess.Mean >= LeastLine*w.Excess.Mean {
		n++
	}
	return w.Lines[:n]
}

const (
	mostLines = 6
	LeastLine = 0.03
)

// unknownLine is of running whose samples are too few, or on no line of the subject's own.
const unknownLine = "running (samples do not say on which line)"

// SpentOn says what slow requests did on a line.
func SpentOn(l *slow.Line) string {
	if l.Part == exectrace.Running && l.Site.Func == "" {
		return unknownLine
	}
	did := Spent(l.Part, l.Site)
	if l.Site.Before {
		did += " (too few samples to say where)"
	}
	return did
}

// onCPU says what running and being kept off the CPU are, where one of them is seen.
func onCPU(seen map[slow.Part]bool, known bool) (notes []string) {
	if seen[exectrace.Running] {
		kernel := "the kernel or "
		if known {
			kernel = ""
		}
		notes = append(notes, "Running includes page faults, and time in which "+kernel+"a hypervisor kept the thread off the CPU: the Go runtime cannot tell.")
	}
	if seen[exectrace.Runnable] {
		notes = append(notes, "A P is one of the GOMAXPROCS places at which Go code runs.")
	}
	if seen[exectrace.Preempted] {
		notes = append(notes, "Kept off the CPU is a thread that could go on: another one had the CPU, which may be the service's own or dyno's, or a CPU limit was used up.")
	}
	return notes
}

// MovedNotes say how far the parts of a percentile's change can be trusted.
func MovedNotes(c *slow.Change) (notes []string) {
	if c.Mixed() {
		notes = append(notes, "Parts go both ways, by more than is left: other requests are near "+Percentile(c.Quantile)+" than before, so these are no causes.")
	}
	seen := map[slow.Part]bool{}
	for _, m := range c.Moves {
		if m.Sure {
			seen[m.Part] = true
			for _, by := range m.By[:min(len(m.By), 1)] {
				seen[by.Part] = seen[by.Part] || !by.Idle
			}
		}
	}
	return append(notes, onCPU(seen, c.Preempted)...)
}

// leastSaid is the share of the excess that a line has, to be named alone.
const leastSaid = 0.3

// SlowWhy says in one sentence where most of the slow requests' excess is; "" if it is nowhere.
func SlowWhy(w *slow.Why) string {
	if w == nil || len(w.Lines) == 0 || !(w.Excess.Mean > 0) {
		return ""
	}
	top := &w.Lines[0]
	d := layout.Duration(time.Duration(w.Excess.Mean * 1e9))
	if share := top.Excess.Mean / w.Excess.Mean; share >= leastSaid {
		doubt := ""
		if top.Excess.Lo <= 0 {
			doubt = " (not sure: the traces differ too much)"
		}
		return fmt.Sprintf("%s took %s longer than typical ones: %.0f %% of that %s%s", SlowShare(w.Quantile), d, 100*share, SpentBehind(top.Part, top.Site, top.By, top.Excess.Mean), doubt)
	}
	return fmt.Sprintf("%s took %s longer than typical ones, on no line more than %.0f %% of that", SlowShare(w.Quantile), d, 100*leastSaid)
}

// SpentBehind says what requests did on a line, and who held most of them up.
func SpentBehind(p slow.Part, s slow.Site, by []slow.By, of float64) string {
	return behind(Spent(p, s), by, of)
}

// Moved says what requests did more or less in. Of running, samples say how much of it was in a function.
func Moved(m *slow.Move, sc layout.Scale) string {
	switch {
	case m.Part != exectrace.Running:
		return Spent(m.Part, m.Site)
	case m.Site.Func == "":
		return unknownLine
	}
	return fmt.Sprintf("running, by samples %s of it in %s", sc.SignedWith(m.In), Site(m.Site))
}

func behind(text string, by []slow.By, of float64) string {
	if len(by) > 0 && math.Abs(by[0].Excess) > math.Abs(of)/2 {
		text += ", " + Behind(by[0].Culprit)
	}
	return text
}

// SlowMoved says for each function that surely changed how much of the percentile's change it is.
func SlowMoved(c *slow.Change) (said []string) {
	if c == nil {
		return nil
	}
	sc := layout.ScaleOf("mean-sec", c.Level)
	for _, m := range c.Moves {
		if m.Sure {
			said = append(said, fmt.Sprintf("%s: %s %s %s", Percentile(c.Quantile), sc.SignedWith(m.Shift.Diff), sc.SignedInterval(m.Shift.Lo, m.Shift.Hi), behind(Moved(&m, sc), m.By, m.Shift.Diff)))
		}
	}
	return said
}
