//go:build linux

// Slow holds what dyno says of slow requests against services whose cause is planted, and which measure it
// themselves: is the right line on top, and is its share right?
//
//	go run ./slow                    twenty-two services, some ten minutes
//	go run ./slow -only mutex,pool   some of them
//	go run ./slow -proto grpc -only mutex,pool    by gRPC, or by http2
//	go run ./slow -changes 8         are changes between revisions named as the change of p99? a quarter of an hour a run
//	go run ./slow -cost 1000,10000,30000 -d 10s    what traces cost a service, and what it takes to read them
//	go run ./slow -check             exit status 1 if a goal was missed
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/slow"

type options struct {
	only, dyno, keep string
	proto, cost      string
	check            bool
	length           time.Duration
	factor           float64
	runs             int
}

func (o *options) wants(name string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), name)
}

// A planted cause: what the first line has to say, and the rate at which it is looked for.
type planted struct {
	name    string
	rate    int
	part    string // or several, divided by |
	site    string // function of the line; of its culprit after <-
	env     string
	unknown bool // to the handler
}

// most is the share of the excess that has to be planted, and leastMs how much, so that its line has to be on top. At
// half the rates some causes hardly happen: a queue that is empty, a log that is not full.
const most, leastMs = 0.4, 0.5

var all = []planted{
	{"mutex", 800, "sync", "(*cache).get<-(*cache).compact", "", false},
	{"mutexbusy", 600, "sync|runnable", "(*cache).get<-(*cache).rebuild|burn", "", false},
	{"pool", 900, "channel", "enqueue<-work", "", false},
	{"slowdep", 500, "channel|network", "ask", "", false},
	{"json", 300, "running", "renderAll", "", false},
	{"convoy", 2200, "sync|runnable", "convoy", "", false},
	{"stampede", 800, "sleep|sync", "(*single).load|(*single).get", "", false},
	{"fanout", 400, "sync", "slowestOfEight<-shard", "", false},
	{"fsync", 200, "syscall|running", "syncFile", "", false},
	{"hog", 400, "runnable|arriving", "<-hog|burn", "", true},
	{"gc", 150, "gc-assist|runnable", "", "GOGC=20", true},
	{"rwmutex", 800, "sync", "(*lookup).read<-(*lookup).replace", "", false},
	{"logchan", 800, "channel", "logLine<-writeOut", "", false},
	{"sqlpool", 900, "channel|sync", "query<-answer", "", false},
	{"transport", 300, "channel|sync", "ask", "", false},
	{"errgroup", 300, "channel|sync", "limitedGroup<-part", "", false},
	{"timer", 400, "sleep", "backOff", "", false},
	{"syscall", 400, "syscall", "blockInKernel", "", false},
	{"dns", 300, "network|channel", "lookUp", "", false},
	{"finalizer", 200, "channel", "take", "", false},
	{"pages", 300, "running|syscall", "touchPages", "", false},
	{"cond", 800, "sync", "(*barrier).pass<-(*barrier).closeFor", "", false},
}

func main() {
	o := options{}
	flag.StringVar(&o.only, "only", "", "`names` of services, with commas between")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.StringVar(&o.proto, "proto", "http1", "`protocol`: http1, http2 or grpc")
	flag.DurationVar(&o.length, "d", 4*time.Second, "`length` of each trace")
	flag.IntVar(&o.runs, "changes", 0, "compare revisions in this `number` of runs instead: is the line that changed named?")
	flag.StringVar(&o.cost, "cost", "", "instead: what do traces cost at these `rates`, with commas between?")
	flag.Float64Var(&o.factor, "rate", 1, "`factor` of the rates")
	flag.Parse()
	if flag.NArg() > 0 || o.length <= 0 || o.factor <= 0 || protocols[o.proto].subject == nil {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o) })
}

func measure(ctx context.Context, o options) error {
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	fmt.Println(program.Machine())
	switch {
	case o.runs > 0:
		return changes(ctx, p, o)
	case o.cost != "":
		return cost(ctx, p, o)
	}
	fmt.Printf("%-10s %6s  %18s  %7s  %s\n", "service", "rate", "planted, ms", "said", "first line")
	goals := program.Goals{W: os.Stdout, Width: 60}
	right, near, known, of := 0, 0, 0, 0
	for _, c := range all {
		if !o.wants(c.name) {
			continue
		}
		r, err := one(ctx, p, o, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		truth, mark := "not known", ""
		share := r.truth.Planted / r.truth.Excess
		if !c.unknown {
			truth = fmt.Sprintf("%.2f of %.2f %3.0f%%", r.truth.Planted, r.truth.Excess, 100*share)
			if r.truth.Planted >= leastMs {
				known++
			}
			if r.truth.Planted >= leastMs && share >= r.share-0.05 && share <= r.most+0.05 {
				near++
			}
		}
		switch {
		case !c.unknown && (share < most || r.truth.Planted < leastMs): // at this rate something else makes them slow
			mark = "little planted"
		case r.right:
			right++
			of++
		default:
			of++
			mark = "wrong"
		}
		fmt.Printf("%-10s %6.0f  %18s  %3.0f-%.0f%%  %s %s\n", c.name, float64(c.rate)*o.factor, truth, 100*r.share, 100*r.most, r.said, mark)
	}
	goals.Judge(fmt.Sprintf("the right line is on top in %d of %d", of*9/10, of), strconv.Itoa(right), right >= of*9/10)
	goals.Judge("the handlers' share is between these, to 5 points", fmt.Sprintf("%d of %d", near, known), near == known)
	return goals.Conclude(o.check)
}

// protocols have what dyno and the service are told of each.
var protocols = map[string]struct{ load, subject []string }{
	"http1": {nil, []string{}},
	"http2": {[]string{"--http", "2"}, []string{"-http2"}},
	"grpc":  {[]string{"--grpc-method", "grpc.health.v1.Health/Check", "--grpc-connections", "4"}, []string{"-grpc"}},
}

type found struct {
	truth struct{ Requests, Excess, Planted float64 }
	said  string
	share float64 // of lines that are the planted cause, of the excess that a handler can see
	most  float64 // share and the waits for a CPU, which a handler's clock cannot tell from what it waits for
	right bool
}

type site struct {
	Func string
	Line int
}

func (s *site) String() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", strings.TrimPrefix(s.Func, "main."), s.Line)
}

type line struct {
	Part   string
	Site   *site
	Excess struct{ Mean float64 } `json:"excess-sec"`
	By     []culprit
}

type culprit struct {
	Part string
	Site *site
}

// is reports whether a line is the planted cause.
func (l *line) is(c planted) bool {
	fn, by, hasBy := strings.Cut(c.site, "<-")
	if !slices.Contains(strings.Split(c.part, "|"), l.Part) {
		return false
	}
	begins := func(s *site, names string) bool {
		return slices.ContainsFunc(strings.Split(names, "|"), func(f string) bool { return strings.HasPrefix(s.String(), f) })
	}
	if fn != "" && !begins(l.Site, fn) {
		return false
	}
	i := slices.IndexFunc(l.By, func(b culprit) bool { return b.Part != preempted })
	return !hasBy || i >= 0 && begins(l.By[i].Site, by)
}

// within reports whether a line is in the function whose time the handler measures, whatever it does there.
func (l *line) within(c planted) bool {
	fn, _, _ := strings.Cut(c.site, "<-")
	return fn != "" && slices.ContainsFunc(strings.Split(fn, "|"), func(f string) bool { return strings.HasPrefix(l.Site.String(), f) })
}

// preempted is time in which the kernel kept a thread off the CPU, on a machine that is busy. The planted cause is looked
// for in the rest.
const preempted = "preempted"

// one measures one service, in one launch.
func one(ctx context.Context, p program.Place, o options, c planted) (r found, err error) {
	out := filepath.Join(p.Dir, c.name)
	args := []string{
		"run", "./slow/service", "--rate", fmt.Sprint(float64(c.rate)*o.factor, "/s"), "-d", o.length.String(), "--trace", o.length.String(), "-w", "0s", "--repeat", "1",
		"--why-slow", "--trace-repeat", "6", "--json", "--out", out,
	}
	if c.env != "" {
		args = append(args, "--env", c.env)
	}
	proto := protocols[o.proto]
	args = append(args, proto.load...)
	args = append(args, "--", "-case", c.name, "-addr", "{{.Addr}}")
	args = append(args, proto.subject...)
	cmd := exec.CommandContext(ctx, p.Dyno, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, program.LastLine(stderr.String()))
	}
	var s struct {
		Settings []struct {
			Why *struct {
				Trials []struct{ Trial int }
				Excess struct{ Mean float64 } `json:"excess-sec"`
				Lines  []line
			} `json:"why-slow"`
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return r, err
	}
	if len(s.Settings) == 0 || s.Settings[0].Why == nil || len(s.Settings[0].Why.Lines) == 0 {
		return r, fmt.Errorf("dyno says nothing of slow requests")
	}
	w := s.Settings[0].Why
	top := w.Lines[max(0, slices.IndexFunc(w.Lines, func(l line) bool { return l.Part != preempted }))]
	r.right = top.is(c)
	r.said = fmt.Sprintf("%.0f%% %s %s", 100*top.Excess.Mean/w.Excess.Mean, top.Part, top.Site)
	if len(top.By) > 0 {
		r.said += fmt.Sprintf(" <- %s %s", top.By[0].Part, top.By[0].Site)
	}
	seen := w.Excess.Mean // by the handler, which does not run before its goroutine woke; hogs are before that
	for _, l := range w.Lines {
		if l.Part == "arriving" && !strings.Contains(c.part, "arriving") {
			seen -= l.Excess.Mean
		}
	}
	for _, l := range w.Lines {
		switch share := l.Excess.Mean / seen; {
		case l.is(c), l.within(c):
			r.share += share
		case slices.Contains([]string{"runnable", "stopped", preempted}, l.Part):
			r.most += max(share, 0)
		}
	}
	r.most += r.share
	for _, t := range w.Trials {
		text, err := os.ReadFile(filepath.Join(out, "trials", fmt.Sprintf("%04d", t.Trial), "stdout.log"))
		if err != nil {
			return r, err
		}
		_, rest, ok := strings.Cut(string(text), "truth ")
		if !ok {
			return r, fmt.Errorf("trial %d: the service says no truth", t.Trial)
		}
		var one struct{ Requests, Excess, Planted float64 }
		if err := json.Unmarshal([]byte(rest), &one); err != nil {
			return r, err
		}
		n := float64(len(w.Trials))
		r.truth.Excess += one.Excess / n
		r.truth.Planted += one.Planted / n
		r.truth.Requests += one.Requests / n
	}
	return r, nil
}
