//go:build linux

// Capacity holds dyno capacity against a service of known capacity: Poisson arrivals, one server and a fixed service
// time (M/D/1). The share of requests that stay longer than a limit is known exactly, and so is the rate at which
// it is 1 %.
//
//	go run ./capacity                20 searches, some 50 minutes
//	go run ./capacity -n 3           three
//	go run ./capacity -check         exit status 1 if a goal was missed
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/capacity"

type options struct {
	dyno, keep   string
	check        bool
	n            int
	takes, limit time.Duration
}

func main() {
	o := options{}
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.IntVar(&o.n, "n", 20, "`number` of searches")
	flag.DurationVar(&o.takes, "takes", time.Millisecond, "service `time` of a request")
	flag.DurationVar(&o.limit, "limit", 12*time.Millisecond, "`limit` of the p99")
	flag.Parse()
	if flag.NArg() > 0 || o.n < 1 || o.takes <= 0 || o.limit < 2*o.takes {
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
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	b := bench{options: o, dir: p.Dir, service: filepath.Join(p.Temp, "service")}
	b.dyno = p.Dyno
	build := exec.CommandContext(ctx, "go", "build", "-o", b.service, "./capacity/service")
	build.Dir = filepath.Join(root, "eval")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the service: %w: %s", err, program.LastLine(string(text)))
	}
	fmt.Println(program.Machine())
	around, err := b.around(ctx)
	if err != nil {
		return err
	}
	truth := capacity(o.takes.Seconds(), (o.limit - around).Seconds())
	fmt.Printf("service time %v, p99 < %v; a request takes %v around it: true capacity %.1f/s\n\n", o.takes, o.limit, around.Round(time.Microsecond), truth)
	fmt.Println("| run | answer | dyno capacity | interval | covers | error | time | windows | disturbed | steal |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	covered, within, none, longest := 0, 0, 0, time.Duration(0)
	var errors []float64
	for n := range o.n {
		a, err := b.search(ctx, n+1)
		if err != nil {
			return err
		}
		longest = max(longest, a.took)
		if a.Kind != "found" && a.Kind != "wide" {
			none++
			errors = append(errors, math.Inf(1))
			covers := "no"
			if bounds := (a.Kind == "at most" && a.Capacity >= truth || a.Kind == "at least" && a.Capacity <= truth); bounds {
				covers = "true, but no interval"
			}
			fmt.Printf("| %d | %s | %.1f/s | | %s | | %s\n", n+1, a.Kind, a.Capacity, covers, a.windows())
			continue
		}
		covers, off := "no", a.Capacity/truth-1
		if a.Lo <= truth && truth <= a.Hi {
			covers = "yes"
			covered++
		}
		if math.Abs(off) <= 0.03 {
			within++
		}
		errors = append(errors, math.Abs(off))
		fmt.Printf("| %d | %s | %.1f/s | %.1f to %.1f | %s | %+.1f %% | %s\n", n+1, a.Kind, a.Capacity, a.Lo, a.Hi, covers, 100*off, a.windows())
	}
	slices.Sort(errors)
	median := errors[len(errors)/2]
	fmt.Printf("\nmedian error %.1f %%, within 3 %% in %d of %d, no interval in %d, longest search %.0f s\n\n", 100*median, within, o.n, none, longest.Seconds())
	goals := program.Goals{W: os.Stdout, Width: 60}
	goals.Judge("the interval covers the truth in at least 18 of 20", fmt.Sprintf("%d of %d", covered, o.n), covered*20 >= 18*o.n)
	goals.Judge("the median error is at most 3 %", fmt.Sprintf("%.1f %%", 100*median), median <= 0.03)
	return goals.Conclude(o.check)
}

type bench struct {
	options
	dir, service string
}

type answer struct {
	Kind     string  `json:"answer"`
	Capacity float64 `json:"capacity/s"`
	Lo, Hi   float64
	Windows  []struct {
		LeftOut bool    `json:"left_out"`
		Steal   float64 `json:"steal-frac"`
	}

	took time.Duration
}

// windows says how disturbed a search was.
func (a *answer) windows() string {
	left, steal := 0, []float64{0}
	for _, w := range a.Windows {
		if w.LeftOut {
			left++
		}
		steal = append(steal, w.Steal)
	}
	slices.Sort(steal)
	return fmt.Sprintf("%.0f s | %d | %d | %.1f %% |", a.took.Seconds(), len(a.Windows), left, 100*steal[len(steal)/2])
}

// search runs dyno capacity once.
func (b *bench) search(ctx context.Context, n int) (a answer, err error) {
	out := filepath.Join(b.dir, fmt.Sprintf("run-%02d", n))
	if err := os.RemoveAll(out); err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, b.dyno, "capacity", b.service, "--slo", fmt.Sprintf("p99 < %v", b.limit), "--out", out,
		"--env", "TAKES="+b.takes.String(), "--", "-addr", "{{.Addr}}")
	var text strings.Builder
	cmd.Stderr = &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return a, fmt.Errorf("dyno capacity: %w: %s", err, program.LastLine(text.String()))
	}
	took := time.Since(began)
	var doc struct{ Settings []answer }
	data, err := os.ReadFile(filepath.Join(out, "capacity.json"))
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil || len(doc.Settings) != 1 {
		return a, fmt.Errorf("capacity.json: %v", err)
	}
	a = doc.Settings[0]
	a.took = took
	return a, nil
}

// around is how much longer a request takes than its service time, one at a time.
func (b *bench) around(ctx context.Context) (time.Duration, error) {
	const addr = "127.0.0.1:39717"
	cmd := exec.CommandContext(ctx, b.service, "-addr", addr)
	cmd.Env = append(os.Environ(), "TAKES="+b.takes.String())
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	var all []time.Duration
	for began := time.Now(); len(all) < 300; {
		sent := time.Now()
		resp, err := http.Get("http://" + addr)
		if err != nil {
			if time.Since(began) > 10*time.Second {
				return 0, err
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		resp.Body.Close()
		all = append(all, time.Since(sent)-b.takes)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// capacity is the rate at which 1 % of the requests stay longer than limit seconds in a queue with one server and a
// fixed service time.
func capacity(takes, limit float64) float64 {
	lo, hi := 0.0, 1/takes
	for range 60 {
		if middle := (lo + hi) / 2; longer(middle, takes, limit) > 0.01 {
			hi = middle
		} else {
			lo = middle
		}
	}
	return (lo + hi) / 2
}

// longer is the share of requests that stay longer than t seconds (Erlang 1909).
func longer(rate, takes, t float64) float64 {
	within, wait := 0.0, t-takes
	for k := 0; float64(k)*takes <= wait; k++ {
		x := rate * (wait - float64(k)*takes)
		gamma, _ := math.Lgamma(float64(k) + 1)
		term := math.Exp(x - gamma)
		if k > 0 {
			term = math.Exp(float64(k)*math.Log(x) - gamma + x)
		}
		if k%2 == 1 {
			term = -term
		}
		within += term
	}
	return 1 - (1-rate*takes)*within
}
