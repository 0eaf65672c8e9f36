// Package gclog writes what a log of gctrace tells: of one log, of two side by side, and of one line.
package gclog

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Text writes what a log reports about collections, beginning with the table of study 002. The error is w's.
func Text(w io.Writer, l *gctrace.Log, o layout.Options) error {
	s := &gcLog{Log: l, width: o.Columns(), color: o.Color, vs: valuesOf(l.Total.Values(l.Requests))}
	s.WriteString(layout.Fold(s.heading(), "", "  ", s.width))
	s.study()
	s.heap()
	s.stops()
	s.cpu()
	s.processes()
	s.timeline()
	warn(&s.Builder, "Warnings", l, s.width)
	_, err := io.WriteString(w, s.String())
	return err
}

type gcLog struct {
	strings.Builder
	*gctrace.Log
	width int
	color bool
	vs    map[string]float64
}

func valuesOf(values []gctrace.Value) map[string]float64 {
	m := map[string]float64{}
	for _, v := range values {
		m[v.Name] = v.Value
	}
	return m
}

func (s *gcLog) single() *gctrace.Process {
	if len(s.Processes) == 1 {
		return s.Processes[0]
	}
	return nil
}

func (s *gcLog) heading() string {
	of := "one process"
	if p := s.single(); p == nil {
		of = fmt.Sprintf("%d processes (the numbers start again)", len(s.Processes)+s.More)
	} else {
		of += fmt.Sprintf(", GOMAXPROCS %d", p.Procs)
	}
	return fmt.Sprintf("%s: %s of %s, in %s of log", layout.Clean(s.Name), layout.Count(int(s.Total.Collections), "collection"), of, layout.ScaleOf("-B", float64(s.Text.Bytes)).With(float64(s.Text.Bytes)))
}

func (s *gcLog) value(metric string) string { return gcValue(metric, s.vs) }

func gcValue(metric string, vs map[string]float64) string {
	x, ok := vs[metric]
	if !ok {
		return ""
	}
	sc := layout.ScaleOf(metric, x)
	switch {
	case strings.HasSuffix(metric, "-frac"):
		return strconv.FormatFloat(100*x, 'f', 2, 64) + " %"
	case strings.HasSuffix(metric, "-B"): // of whole MiB
		sc.Decimals = min(sc.Decimals, 1)
		if sc.Unit == "GiB" {
			sc.Decimals = 2
		}
	case singly.MatchString(metric):
		return gcTime(x)
	}
	return sc.With(x)
}

// singly are the times of one phase, which have two digits that count.
var singly = regexp.MustCompile(`-(p50|p90|p99|max)-sec$`)

func gcTime(x float64) string {
	sc := layout.ScaleOf("-sec", x)
	return strconv.FormatFloat(math.Round(x/sc.Factor*1e3)/1e3, 'f', -1, 64) + " " + sc.Unit
}

type gcRow struct{ label, metric, note string }

// gcStudy has the figures of study 002.
var gcStudy = []gcRow{
	{label: "Requests", metric: "requests", note: ""},
	{label: "Total duration", metric: "span-sec", note: ""},
	{label: "Percent time in GC", metric: "gc-cpu-frac", note: "CPU time of collections / (GOMAXPROCS × duration), without idle marking"},
	{label: "Total collections", metric: "collections", note: ""},
	{label: "Total GC duration", metric: "gc-duration-sec", note: "duration × percent of time in GC, as in study 002"},
	{label: "  under way", metric: "gc-total-sec", note: "time with a collection under way; the program ran during most of it"},
	{label: "  CPU", metric: "gc-cpu-sec", note: "CPU time that collections took from the program"},
	{label: "Average pace of GC", metric: "pace-sec", note: "from the start of one collection to the start of the next"},
	{label: "Requests/collection", metric: "req/gc", note: ""},
}

func (s *gcLog) study() {
	if frac, ok := s.vs["gc-cpu-frac"]; ok {
		s.vs["gc-duration-sec"] = frac * s.vs["span-sec"]
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {Left: true}}}
	for _, r := range gcStudy {
		text := s.value(r.metric)
		if text == "" {
			continue
		}
		p := s.single()
		switch r.metric {
		case "span-sec":
			switch {
			case p == nil:
				r.note = "all processes together"
			case p.Began > 0:
				r.note = fmt.Sprintf("from its collection %d to the end of the last", p.FirstN)
			default:
				r.note = "from the start of the process to the end of its last collection"
			}
		case "collections":
			r.note = s.forced()
		case "gc-cpu-frac":
			if p != nil {
				said := strconv.Itoa(int(math.Round(100*p.Said))) + " %"
				g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(r.label, said, "as the runtime reports at the end, since the process began; rounded down")})
				r.label = ""
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(r.label, text, r.note)})
	}
	s.noted(&g)
}

func (s *gcLog) forced() string {
	var parts []string
	if n := s.Total.Forced; n > 0 {
		parts = append(parts, fmt.Sprintf("%d forced by runtime.GC", n))
	}
	if n := s.Total.Missing; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more are not in the log", n))
	}
	return strings.Join(parts, "; ")
}

func (s *gcLog) table(g *layout.Grid) {
	s.WriteByte('\n')
	g.Text(&s.Builder, s.color)
}

func (s *gcLog) noted(g *layout.Grid) {
	w := g.Widths()
	last := len(w) - 1
	room := s.width - len(layout.Gap)*last
	for _, n := range w[:last] {
		room -= n
	}
	for i := 0; i < len(g.Rows); i++ {
		cs := g.Rows[i].Cells
		if len(cs) == 0 || cs[last].Text == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(layout.Fold(cs[last].Text, "", "", room)), "\n")
		cs[last].Text = lines[0]
		for n, line := range lines[1:] {
			more := make([]layout.Cell, len(cs))
			more[last].Text = line
			g.Rows = slices.Insert(g.Rows, i+n+1, layout.Row{Cells: more})
		}
		i += len(lines) - 1
	}
	s.table(g)
}

func (s *gcLog) heap() {
	sc := layout.ScaleOf("-B", s.vs["heap-end-max-B"])
	sc.Decimals = 0
	mean := sc
	mean.Decimals = 1
	if sc.Unit == "GiB" {
		sc.Decimals, mean.Decimals = 2, 2
	}
	g := layout.Grid{Cols: layout.Columns(4), Head: [][]string{{"Heap, " + sc.Unit, "first", "mean", "last", "max"}}}
	for _, r := range []struct{ label, metric string }{
		{"found live", "heap-live"}, {"when marking began", "heap-start"}, {"when it ended", "heap-end"}, {"goal", "heap-goal"},
	} {
		x, ok := s.vs[r.metric+"-B"]
		if !ok {
			continue
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(r.label, sc.Format(s.vs[r.metric+"-first-B"]), mean.Format(x), sc.Format(s.vs[r.metric+"-last-B"]), sc.Format(s.vs[r.metric+"-max-B"]))})
	}
	s.table(&g)
}

func (s *gcLog) stops() {
	g := layout.Grid{
		Cols: append(layout.Columns(5), layout.Column{Left: true}),
		Head: [][]string{{"Wall clock", "p50", "p90", "p99", "max", "all", ""}},
	}
	for _, r := range []struct{ label, metric, note string }{
		{"stop before marking", "sweep-term", "the world is stopped: sweep termination"},
		{"marking", "mark", "while the program runs"},
		{"stop after marking", "mark-term", "the world is stopped: mark termination"},
	} {
		cs := layout.Cells(r.label)
		for _, part := range []string{"-p50-sec", "-p90-sec", "-p99-sec", "-max-sec", "-total-sec"} {
			cs = append(cs, layout.Cell{Text: s.value(r.metric + part)})
		}
		g.Rows = append(g.Rows, layout.Row{Cells: append(cs, layout.Cell{Text: r.note})})
	}
	s.noted(&g)
}

func (s *gcLog) cpu() {
	t := &s.Total
	stops := t.CPU - t.Assist - t.Background
	all := t.CPU + t.Idle
	if all <= 0 {
		return
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {}, {Left: true}}, Head: [][]string{{"CPU time", "", "share", ""}}}
	for _, r := range []struct {
		label string
		d     time.Duration
		note  string
	}{
		{"background marking", t.Background, "dedicated workers, a quarter of GOMAXPROCS"},
		{"assists", t.Assist, "goroutines that must help because they allocate faster than marking proceeds"},
		{"stop the world", stops, "their time × GOMAXPROCS"},
		{"idle marking", t.Idle, "on idle Ps; not in any percentage above"},
	} {
		x := r.d.Seconds()
		share := strconv.FormatFloat(100*x/all.Seconds(), 'f', 1, 64) + " %"
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(r.label, layout.ScaleOf("-sec", x).With(x), share, r.note)})
	}
	s.noted(&g)
	if b := s.Text.Scavenged; b > 0 {
		fmt.Fprintf(s, "\nReturned to the system: %s, according to %s of the scavenger\n", layout.ScaleOf("-B", b).With(b), layout.Count(int(s.Text.Scavenger), "line"))
	}
}

func (s *gcLog) processes() {
	if s.single() != nil {
		return
	}
	g := layout.Grid{Cols: layout.Columns(7), Head: [][]string{{"Process", "collections", "numbers", "duration", "time in GC", "pace", "live, mean", "longest stop"}}}
	for i, p := range s.Processes {
		vs := valuesOf(p.Values(0))
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(strconv.Itoa(i+1), strconv.FormatInt(p.Collections, 10), fmt.Sprintf("%d-%d", p.FirstN, p.LastN),
			gcValue("span-sec", vs), gcValue("gc-cpu-frac", vs), gcValue("pace-sec", vs), gcValue("heap-live-B", vs), gcValue("pause-max-sec", vs))})
	}
	s.table(&g)
	if s.More > 0 {
		s.WriteString(layout.Fold(fmt.Sprintf("%d more processes are only in the totals.", s.More), "", "", s.width))
	}
}

// changed says what changed in the middle of a process.
func changed(c gctrace.Change) string {
	at := layout.ScaleOf("-sec", c.At.Seconds()).With(c.At.Seconds())
	if c.Procs {
		return fmt.Sprintf("GOMAXPROCS changed from %.0f to %.0f at %s (collection %d)", c.From, c.To, at, c.N)
	}
	text := fmt.Sprintf("from %s on (collection %d), goals no longer follow GOGC=%.0f", at, c.N, c.From)
	if c.To > 0 {
		return text + fmt.Sprintf(", but GOGC=%.0f, or a memory limit", c.To)
	}
	return text + ": another GOGC, or a memory limit"
}

// warn writes what is doubtful of a log, under a heading.
func warn(b *strings.Builder, heading string, l *gctrace.Log, width int) {
	var ws []string
	if n := int(l.Text.Torn); n > 0 {
		ws = append(ws, layout.Count(n, "line")+" interrupted by log text and put together again")
	}
	if n := int(l.Text.Lost); n > 0 {
		ws = append(ws, layout.Count(n, "line")+" could not be read reliably because of other log text; not counted")
	}
	if l.Total.Coarse() {
		ws = append(ws, "the clock of this system counts in milliseconds: stops and CPU times of less are 0 or 1 ms in it, and their sums are rough")
	}
	for i, p := range l.Processes {
		of := ""
		if len(l.Processes) > 1 {
			of = fmt.Sprintf("process %d: ", i+1)
		}
		for _, c := range p.Changes {
			ws = append(ws, of+changed(c)+"; the figures mix the collections before and after it")
		}
		if n := p.Changed - len(p.Changes); n > 0 {
			ws = append(ws, fmt.Sprintf("%sthe settings changed %d more times", of, n))
		}
	}
	if l.Total.Collections < 3 {
		ws = append(ws, "too few collections: the ends of the log distort the figures")
	}
	if len(ws) > 0 {
		b.WriteString("\n" + heading + "\n")
	}
	for _, warning := range ws {
		b.WriteString(layout.Fold(warning, "  ! ", "    ", width))
	}
}
