package report

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
)

// GCLog writes what a log tells of collections, first in the table of study 002. The error is w's.
func GCLog(w io.Writer, l *gctrace.Log, o Options) error {
	s := &gcLog{Log: l, width: o.width(), color: o.Color, vs: valuesOf(l.Total.Values(l.Requests))}
	s.WriteString(fold(s.heading(), "", "  ", s.width))
	s.study()
	s.heap()
	s.stops()
	s.cpu()
	s.processes()
	s.timeline()
	s.doubts()
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
	name := ""
	if s.Name != "" {
		name = clean(s.Name) + ": "
	}
	of := "one process"
	if p := s.single(); p == nil {
		of = fmt.Sprintf("%d processes (the numbers start again)", len(s.Processes)+s.More)
	} else {
		of += fmt.Sprintf(", GOMAXPROCS %d", p.Procs)
	}
	return fmt.Sprintf("%s%s of %s, in %s of log", name, count(int(s.Total.Collections), "collection"), of, scaleOf("-B", float64(s.Text.Bytes)).with(float64(s.Text.Bytes)))
}

func (s *gcLog) value(metric string) string { return gcValue(metric, s.vs) }

func gcValue(metric string, vs map[string]float64) string {
	x, ok := vs[metric]
	if !ok {
		return ""
	}
	sc := scaleOf(metric, x)
	switch {
	case strings.HasSuffix(metric, "-frac"):
		return strconv.FormatFloat(100*x, 'f', 2, 64) + " %"
	case strings.HasSuffix(metric, "-B"): // of whole MiB
		sc.decimals = min(sc.decimals, 1)
		if sc.unit == "GiB" {
			sc.decimals = 2
		}
	case singly.MatchString(metric):
		return gcTime(x)
	}
	return sc.with(x)
}

// singly are the times of one phase, which have two digits that count.
var singly = regexp.MustCompile(`-(p50|p90|p99|max)-sec$`)

func gcTime(x float64) string {
	sc := scaleOf("-sec", x)
	return strconv.FormatFloat(math.Round(x/sc.factor*1e3)/1e3, 'f', -1, 64) + " " + sc.unit
}

type gcRow struct{ label, metric, note string }

// gcStudy has the figures of study 002.
var gcStudy = []gcRow{
	{label: "Requests", metric: "requests", note: ""},
	{label: "Total duration", metric: "span-sec", note: ""},
	{label: "Percent time in GC", metric: "gc-cpu-frac", note: "their CPU time over GOMAXPROCS × duration; without idle marking"},
	{label: "Total collections", metric: "collections", note: ""},
	{label: "Total GC duration", metric: "gc-duration-sec", note: "duration × percent of time in GC, as study 002 has it"},
	{label: "  under way", metric: "gc-total-sec", note: "time in which a collection was under way; the program ran on beside most of it"},
	{label: "  CPU", metric: "gc-cpu-sec", note: "CPU time that collections took from the program"},
	{label: "Average pace of GC", metric: "pace-sec", note: "from the start of one collection to that of the next"},
	{label: "Requests/collection", metric: "req/gc", note: ""},
}

func (s *gcLog) study() {
	if frac, ok := s.vs["gc-cpu-frac"]; ok {
		s.vs["gc-duration-sec"] = frac * s.vs["span-sec"]
	}
	g := grid{cols: []column{{left: true}, {}, {left: true}}}
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
			case p.Began() > 0:
				r.note = fmt.Sprintf("from its collection %d to the end of the last", p.FirstN)
			default:
				r.note = "from the start of the process to the end of its last collection"
			}
		case "collections":
			r.note = s.forced()
		case "gc-cpu-frac":
			if p != nil {
				said := strconv.Itoa(int(math.Round(100*p.Said))) + " %"
				g.rows = append(g.rows, row{cells: cells(r.label, said, "as the runtime says at the end, since the process began; cut off")})
				r.label = ""
			}
		}
		g.rows = append(g.rows, row{cells: cells(r.label, text, r.note)})
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

func (s *gcLog) table(g *grid) {
	s.WriteByte('\n')
	g.text(&s.Builder, s.color)
}

func (s *gcLog) noted(g *grid) {
	w := g.widths()
	last := len(w) - 1
	room := s.width - len(gap)*last
	for _, n := range w[:last] {
		room -= n
	}
	for i := 0; i < len(g.rows); i++ {
		cs := g.rows[i].cells
		if len(cs) == 0 || cs[last].text == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(fold(cs[last].text, "", "", room)), "\n")
		cs[last].text = lines[0]
		for n, line := range lines[1:] {
			more := make([]cell, len(cs))
			more[last].text = line
			g.rows = slices.Insert(g.rows, i+n+1, row{cells: more})
		}
		i += len(lines) - 1
	}
	s.table(g)
}

func (s *gcLog) heap() {
	sc := scaleOf("-B", s.vs["heap-end-max-B"])
	sc.decimals = 0
	mean := sc
	mean.decimals = 1
	if sc.unit == "GiB" {
		sc.decimals, mean.decimals = 2, 2
	}
	g := grid{cols: columns(4), head: [][]string{{"Heap, " + sc.unit, "first", "mean", "last", "max"}}}
	for _, r := range []struct{ label, metric string }{
		{"found live", "heap-live"}, {"when marking began", "heap-start"}, {"when it ended", "heap-end"}, {"goal", "heap-goal"},
	} {
		x, ok := s.vs[r.metric+"-B"]
		if !ok {
			continue
		}
		g.rows = append(g.rows, row{cells: cells(r.label, sc.format(s.vs[r.metric+"-first-B"]), mean.format(x), sc.format(s.vs[r.metric+"-last-B"]), sc.format(s.vs[r.metric+"-max-B"]))})
	}
	s.table(&g)
}

func (s *gcLog) stops() {
	g := grid{
		cols: append(columns(5), column{left: true}),
		head: [][]string{{"Wall clock", "p50", "p90", "p99", "max", "all", ""}},
	}
	for _, r := range []struct{ label, metric, note string }{
		{"stop before marking", "sweep-term", "the world stands: sweep termination"},
		{"marking", "mark", "beside the program"},
		{"stop after marking", "mark-term", "the world stands: mark termination"},
	} {
		cs := cells(r.label)
		for _, part := range []string{"-p50-sec", "-p90-sec", "-p99-sec", "-max-sec", "-total-sec"} {
			cs = append(cs, cell{text: s.value(r.metric + part)})
		}
		g.rows = append(g.rows, row{cells: append(cs, cell{text: r.note})})
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
	g := grid{cols: []column{{left: true}, {}, {}, {left: true}}, head: [][]string{{"CPU time", "", "share", ""}}}
	for _, r := range []struct {
		label string
		d     time.Duration
		note  string
	}{
		{"background marking", t.Background, "workers set aside for it, a quarter of GOMAXPROCS"},
		{"assists", t.Assist, "goroutines that allocate faster than marking goes on, and so wait"},
		{"stops of the world", stops, "their time × GOMAXPROCS"},
		{"idle marking", t.Idle, "on Ps with nothing else to do; in no percentage above"},
	} {
		x := r.d.Seconds()
		share := strconv.FormatFloat(100*x/all.Seconds(), 'f', 1, 64) + " %"
		g.rows = append(g.rows, row{cells: cells(r.label, scaleOf("-sec", x).with(x), share, r.note)})
	}
	s.noted(&g)
	if b := s.Text.Scavenged; b > 0 {
		fmt.Fprintf(s, "\nReturned to the system: %s, as %s of the scavenger say\n", scaleOf("-B", b).with(b), count(int(s.Text.Scavenger), "line"))
	}
}

func (s *gcLog) processes() {
	if s.single() != nil {
		return
	}
	g := grid{cols: columns(7), head: [][]string{{"Process", "collections", "numbers", "duration", "time in GC", "pace", "live, mean", "longest stop"}}}
	for i, p := range s.Processes {
		vs := valuesOf(p.Values(0))
		g.rows = append(g.rows, row{cells: cells(strconv.Itoa(i+1), strconv.FormatInt(p.Collections, 10), fmt.Sprintf("%d-%d", p.FirstN, p.LastN),
			gcValue("span-sec", vs), gcValue("gc-cpu-frac", vs), gcValue("pace-sec", vs), gcValue("heap-live-B", vs), gcValue("pause-max-sec", vs))})
	}
	s.table(&g)
	if s.More > 0 {
		s.WriteString(fold(fmt.Sprintf("%d further processes are in the totals only.", s.More), "", "", s.width))
	}
}

func (s *gcLog) doubts() {
	var ws []string
	add := func(n int64, one, many string) {
		switch {
		case n == 1:
			ws = append(ws, one)
		case n > 1:
			ws = append(ws, fmt.Sprintf(many, n))
		}
	}
	t := s.Text
	add(t.Torn, "one line had log text inside and was put together again", "%d lines had log text inside and were put together again")
	add(t.Lost, "one line could not be read for certain, because log text cut into it; it is not counted", "%d lines could not be read for certain, because log text cut into them; they are not counted")
	if s.Total.Collections > 0 && s.Total.Collections < 3 {
		ws = append(ws, "so few collections that the ends of the log matter more than they do")
	}
	if len(ws) == 0 {
		return
	}
	s.WriteString("\nWarnings\n")
	for _, warning := range ws {
		s.WriteString(fold(warning, "  ! ", "    ", s.width))
	}
}
