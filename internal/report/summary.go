package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// Summary writes one trial for a reader who knows hey, oha, vegeta or wrk. With o.Full it includes the
// slowest requests and all that is known about the service. about says what was loaded, a line each. Values
// that r lacks have no line. A failed trial begins with a line that it failed. Only names of steps can make a
// line longer than o.Width. The error is w's.
func Summary(w io.Writer, r *dyno.Result, about []string, o layout.Options) error {
	s := &summary{Result: r, width: o.Columns(), color: o.Color, full: o.Full}
	for _, line := range about {
		s.WriteString(layout.Fold(line, "", "  ", s.width))
	}
	if r.Err != "" {
		s.alarm("The trial failed, so no figure below counts: " + r.Err)
	}
	s.WriteByte('\n')
	s.overview()
	s.latency()
	s.steps()
	s.service()
	s.histogram()
	if o.Full {
		s.slowest()
	}
	s.errors()
	warnings := slices.DeleteFunc(slices.Clone(r.Warnings), func(w dyno.Warning) bool { // said already
		return s.Sent.Saturated != "" && w.Is(dyno.WarnSaturated, r) || len(r.Failures) > 0 && w.Is(dyno.WarnFailures, r)
	})
	if len(warnings) > 0 {
		s.WriteString("\nWarnings\n")
		for _, warning := range warnings {
			s.WriteString(layout.Fold(warning.Text, "  ! ", "    ", s.width))
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

type summary struct {
	strings.Builder
	*dyno.Result
	width int
	color bool
	full  bool // all that is known of the service, and the slowest requests
}

func (s *summary) alarm(text string) {
	for _, line := range strings.SplitAfter(layout.Fold(text, "! ", "  ", s.width), "\n") {
		if line != "" {
			s.WriteString(layout.Paint(layout.Cell{Text: strings.TrimSuffix(line, "\n"), Mark: layout.Bad}, s.color) + "\n")
		}
	}
}

func (s *summary) line(label string, parts ...string) {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) > 0 {
		const indent = 14
		s.WriteString(layout.Fold(strings.Join(parts, " · "), fmt.Sprintf("%-*s", indent, label), strings.Repeat(" ", indent), s.width))
	}
}

func (s *summary) value(metric, follows string) string {
	x, ok := s.Values.Get(metric)
	if !ok {
		return ""
	}
	return layout.ScaleOf(metric, x).With(x) + follows
}

// tally returns the finished requests, the failed ones of them, and how many were due.
func (s *summary) tally() (requests, failed, due int64) {
	succeeded := int64(0)
	if s.Latency != nil {
		succeeded = s.Latency.Count()
	}
	failures, _ := s.Values.Get("failures")
	failed = int64(failures)
	if requests = s.Sent.Requests; requests == 0 {
		requests = succeeded + failed
	} else if s.Latency != nil {
		failed = requests - succeeded
	}
	return requests, failed, requests + s.Sent.Unsent
}

func (s *summary) overview() {
	requests, failed, due := s.tally()
	unsent := ""
	if s.Sent.Unsent > 0 {
		unsent = fmt.Sprintf("%d more were due but never sent", s.Sent.Unsent)
	}
	all := ""
	if requests > failed || s.Sent.Requests > 0 {
		all = strconv.FormatInt(requests, 10)
	}
	if _, sent := s.Values.Get("failures"); sent || all != "" {
		s.line("requests", all, fmt.Sprintf("%d failed", failed), unsent)
	}
	if all != "" && due > 0 {
		s.line("success", percent(requests-failed, due))
	}
	s.line("late", s.value("late-frac", " took longer than the deadline, failed or were not sent"))
	if s.Elapsed > 0 {
		s.line("duration", layout.Duration(s.Elapsed))
	}
	s.line("rate", s.value("sent/s", " sent/s"))
	s.line("throughput", s.value("req/s", " successes/s"))
	if s.Sent.Engine != "" && s.Sent.BytesIn+s.Sent.BytesOut > 0 {
		s.line("bytes in", s.bytes(s.Sent.BytesIn)...)
		if s.full || s.Sent.BytesOut > 0 {
			s.line("bytes out", s.bytes(s.Sent.BytesOut)...)
		}
	}
	var codes []string
	for _, status := range slices.Sorted(maps.Keys(s.Sent.Statuses)) {
		codes = append(codes, fmt.Sprintf("%d: %d", status, s.Sent.Statuses[status]))
	}
	s.line("status codes", codes...)
	s.line("generator", layout.Clean(s.Sent.Engine), s.value("generator-cpu-frac", " of its cores"), s.value("lateness-p99-sec", " late at p99"))
}

func (s *summary) bytes(n int64) []string {
	x := float64(n)
	size := func(x float64) string { return layout.ScaleOf("-B", x).With(x) }
	parts := []string{size(x)}
	if requests, _, _ := s.tally(); requests > 0 && n > 0 {
		parts = append(parts, size(x/float64(requests))+"/request")
	}
	if s.Elapsed > 0 && n > 0 {
		parts = append(parts, size(x/s.Elapsed.Seconds())+"/s")
	}
	return parts
}

// latency gives each figure its own unit: a tail may be ten thousand times the typical value.
func (s *summary) latency() {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {Left: true}, {Keep: 1}, {Left: true, Keep: 1}},
		Head: [][]string{{"Latency", "", "", "", ""}},
	}
	rows := []string{"min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99.9", "max"}
	service := slices.ContainsFunc(rows, func(name string) bool {
		a, ok := s.Values.Get(name + "-sec")
		b, both := s.Values.Get("service-" + name + "-sec")
		return ok && both && math.Abs(a-b) > tables.Differs*max(a, b)
	})
	if service {
		g.Head[0][3] = "service time"
	}
	any := false
	for _, name := range rows {
		cs := slices.Concat(layout.Cells(name), s.time(name+"-sec"), layout.Cells("", ""))
		if !s.full && (name == "stddev" || cs[2].Text == "") { // cs[2] is the unit, which an absent figure lacks
			continue
		}
		any = any || cs[2].Text != ""
		if _, ok := s.Values.Get("service-" + name + "-sec"); ok && service {
			copy(cs[3:], s.time("service-"+name+"-sec"))
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	if !any {
		return
	}
	s.WriteByte('\n')
	if s.Sent.Saturated != "" {
		s.alarm(fmt.Sprintf("Not comparable: %s (consider: %s)", s.Sent.Saturated, words.SaturationCure))
	}
	g.Text(&s.Builder, s.color)
}

func (s *summary) steps() {
	names := []string{"p50", "p90", "p99", "p99.9"}
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{"Steps"}}}
	for _, name := range names {
		g.Cols = append(g.Cols, layout.Column{}, layout.Column{Left: true})
		g.Head[0] = append(g.Head[0], name, "")
	}
	for _, v := range s.Values {
		step, ok := strings.CutSuffix(v.Metric, "-p50-sec")
		if !ok || step == "service" {
			continue
		}
		cs := layout.Cells(layout.Clean(step))
		for _, name := range names {
			cs = append(cs, s.time(step+"-"+name+"-sec")...)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	if len(g.Rows) > 1 {
		s.table(&g)
	}
}

func (s *summary) service() {
	names := []string{
		"cpu-frac", "cpu-sec/req", "gc-capacity-frac", "alloc-B/req", "allocs/req", "gc-cycles", "req/gc", "stw-total-sec", "heap-peak-B", "heap-alloc-B", "sys-B", "total-alloc-B", "gc-total",
		"rss-peak-B", "rss-mean-B", "minflt/s", "threads", "goroutines", "fds",
		"cgroup-peak-B", "oom-kills", "throttled-frac", "memory-stall-frac", "cpu-stall-frac",
	}
	if !s.full && s.Latency != nil { // a watch is for these
		names = []string{"cpu-frac", "cpu-sec/req", "gc-capacity-frac", "stw-total-sec", "heap-peak-B", "rss-peak-B", "throttled-frac"}
	}
	for _, v := range s.Values {
		_, known := dyno.MetricByName(v.Metric)
		if need, _ := dyno.NeedOf(v.Metric); need != "" || !known && (s.full || s.Latency == nil) {
			names = append(names, v.Metric)
		}
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {Left: true}}, Head: [][]string{{"Service", "", ""}}}
	for _, name := range names {
		if _, ok := s.Values.Get(name); ok {
			label, _ := layout.UnitOf(name)
			g.Rows = append(g.Rows, layout.Row{Cells: slices.Concat(layout.Cells(layout.Clean(label)), s.time(name))})
		}
	}
	s.table(&g)
}

// table writes a grid that has rows, below an empty line.
func (s *summary) table(g *layout.Grid) {
	if len(g.Rows) > 0 {
		s.WriteByte('\n')
		g.Text(&s.Builder, s.color)
	}
}

func (s *summary) time(metric string) []layout.Cell {
	x, ok := s.Values.Get(metric)
	if !ok {
		return []layout.Cell{{Text: "-", Mark: layout.Faint}, {}}
	}
	sc := layout.ScaleOf(metric, x)
	return layout.Cells(sc.Format(x), sc.Unit)
}

func (s *summary) slowest() {
	if len(s.Sent.Slowest) == 0 {
		return
	}
	g := layout.Grid{
		Cols: []layout.Column{{}, {Left: true}, {}, {Left: true, Keep: 1}, {}, {}, {Left: true, Keep: 1}},
		Head: [][]string{{"Slowest", "", "", "", "due at", "status", ""}},
	}
	var steps []string
	waited := false
	for _, x := range s.Sent.Slowest {
		steps = append(steps, x.Step)
		waited = waited || float64(x.Sent-x.Due) > tables.Differs*float64(x.Done-x.Due)
	}
	if slices.Sort(steps); len(slices.Compact(steps)) > 1 {
		g.Head[0][6] = "step"
	}
	if waited {
		g.Head[0][2] = "service time"
	}
	for _, x := range s.Sent.Slowest {
		cs := slices.Concat(span(x.Done-x.Due), layout.Cells("", "", fmt.Sprintf("%.3f s", x.Due.Seconds()), strconv.Itoa(x.Status), ""))
		if waited {
			copy(cs[2:], span(x.Done-x.Sent))
		}
		if g.Head[0][6] != "" {
			cs[6].Text = layout.Clean(x.Step)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	s.table(&g)
}

func span(d time.Duration) []layout.Cell {
	sc := layout.ScaleOf("-sec", d.Seconds())
	return layout.Cells(sc.Format(d.Seconds()), sc.Unit)
}

func (s *summary) errors() {
	if len(s.Failures) == 0 {
		return
	}
	causes := slices.SortedFunc(maps.Keys(s.Failures), func(a, b string) int {
		return cmp.Or(s.Failures[b]-s.Failures[a], cmp.Compare(a, b))
	})
	s.WriteString("\nFailed requests\n")
	width := len(strconv.Itoa(s.Failures[causes[0]]))
	for _, cause := range causes {
		first := fmt.Sprintf("  %*d  ", width, s.Failures[cause])
		s.WriteString(layout.Fold(cause, first, strings.Repeat(" ", len(first)), s.width))
	}
}

// percent does not round to all or nothing what is not quite that.
func percent(n, all int64) string {
	p := strconv.FormatFloat(100*float64(n)/float64(all), 'f', 2, 64)
	switch {
	case n < all && p == "100.00":
		p = ">99.99"
	case n > 0 && p == "0.00":
		p = "<0.01"
	case n == all:
		p = "100"
	}
	return p + " %"
}

// histogram draws the distribution of latency.
//
// Note: bins of one width, as in hey, put all but the tail into the first bin as soon as
// one request is slow.
func (s *summary) histogram() {
	h := s.Latency
	if h == nil || h.Count() == 0 || h.Counts().TotalCount() != h.Count() {
		return // another generator's, or read back without its file
	}
	bins := layout.BinsOf(h)
	labels := layout.EdgeLabels(bins)
	g := layout.Grid{
		Cols: []layout.Column{{}, {Left: true}, {Left: true}, {}, {}, {Left: true}},
		Head: [][]string{{"from", "", "to", "requests", "up to here", ""}},
	}
	most, sum := int64(0), int64(0)
	for i, b := range bins {
		sum += b.Count
		most = max(most, b.Count)
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(labels[i], "–", labels[i+1], strconv.FormatInt(b.Count, 10), percent(sum, h.Count()), "")})
	}
	room := min(s.width-g.Width()-len(layout.Gap), 40)
	for i, b := range bins {
		g.Rows[i].Cells[5].Text = layout.Bar(b.Count, most, room)
	}
	s.WriteString("\nLatency histogram")
	if !layout.Linear(h.Min().Nanoseconds(), h.Max().Nanoseconds()) {
		s.WriteString(" (bins on a logarithmic scale)")
	}
	s.WriteByte('\n')
	g.Text(&s.Builder, s.color)
}
