//go:build linux

// Capacity holds dyno capacity against a service of known capacity: Poisson arrivals, one server and a fixed service
// time (M/D/1). The share of requests that stay longer than a limit is known exactly, and so is the rate at which
// it is 1 %.
//
//	go run ./capacity                20 searches, some 25 minutes
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
	flag.DurationVar(&o.takes, "takes", 500*time.Microsecond, "service `time` of a request")
	flag.DurationVar(&o.limit, "limit", 6*time.Millisecond, "`limit` of the p99")
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
	fmt.Printf("service time %v, p99 < %v; a request takes %v around it\n\n", o.takes, o.limit, around.Round(time.Microsecond))
	fmt.Println("| run | service time measured | true capacity | dyno capacity | interval | covers | error | time |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	covered, within, longest := 0, 0, time.Duration(0)
	var errors []float64
	for i := range o.n {
		a, err := b.search(ctx, i+1)
		if err != nil {
			return err
		}
		truth := capacity(a.takes.Seconds(), (o.limit - around).Seconds())
		covers, off := "no", a.Capacity/truth-1
		if a.Lo <= truth && truth <= a.Hi {
			covers = "yes"
			covered++
		}
		if math.Abs(off) <= 0.03 {
			within++
		}
		errors, longest = append(errors, math.Abs(off)), max(longest, a.took)
		fmt.Printf("| %d | %.1f µs | %.1f/s | %.1f/s | %.1f to %.1f | %s | %+.1f %% | %.0f s |\n",
			i+1, a.takes.Seconds()*1e6, truth, a.Capacity, a.Lo, a.Hi, covers, 100*off, a.took.Seconds())
	}
	slices.Sort(errors)
	fmt.Printf("\nmedian error %.1f %%, within 3 %% in %d of %d, longest search %.0f s\n\n", 100*errors[len(errors)/2], within, o.n, longest.Seconds())
	goals := program.Goals{W: os.Stdout, Width: 60}
	goals.Judge("the interval covers the truth in at least 18 of 20", fmt.Sprintf("%d of %d", covered, o.n), covered*20 >= 18*o.n)
	goals.Judge("the median error is at most 3 %", fmt.Sprintf("%.1f %%", 100*errors[len(errors)/2]), errors[len(errors)/2] <= 0.03)
	return goals.Conclude(o.check)
}

type bench struct {
	options
	dir, service string
}

type answer struct {
	Capacity float64 `json:"capacity/s"`
	Lo, Hi   float64
	took     time.Duration
	takes    time.Duration // service time, as the service measured it
}

// search runs dyno capacity once.
func (b *bench) search(ctx context.Context, n int) (a answer, err error) {
	out, stats := filepath.Join(b.dir, fmt.Sprintf("run-%02d", n)), filepath.Join(b.dir, fmt.Sprintf("stats-%02d", n))
	if err := os.RemoveAll(out); err != nil {
		return a, err
	}
	if err := os.WriteFile(stats, nil, 0o666); err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, b.dyno, "capacity", b.service, "--slo", fmt.Sprintf("p99 < %v", b.limit), "--out", out, "--seed", fmt.Sprint(n),
		"--env", "TAKES="+b.takes.String(), "--env", "STATS="+stats, "--", "-addr", "{{.Addr}}")
	var text strings.Builder
	cmd.Stderr = &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return a, fmt.Errorf("dyno capacity: %w: %s", err, program.LastLine(text.String()))
	}
	a.took = time.Since(began)
	var doc struct{ Settings []answer }
	data, err := os.ReadFile(filepath.Join(out, "capacity.json"))
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil || len(doc.Settings) != 1 {
		return a, fmt.Errorf("capacity.json: %v", err)
	}
	took := a.took
	a = doc.Settings[0]
	a.took = took
	a.takes, err = measured(stats)
	return a, err
}

// measured is the mean service time of all launches.
func measured(stats string) (time.Duration, error) {
	data, err := os.ReadFile(stats)
	if err != nil {
		return 0, err
	}
	var n, sum int64
	for line := range strings.Lines(string(data)) {
		var k, s int64
		if _, err := fmt.Sscan(line, &k, &s); err != nil {
			return 0, fmt.Errorf("%s: %w", stats, err)
		}
		n, sum = n+k, sum+s
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: the service measured nothing", stats)
	}
	return time.Duration(sum / n), nil
}

// around is how much longer a request takes than its service time, one at a time.
func (b *bench) around(ctx context.Context) (time.Duration, error) {
	const addr = "127.0.0.1:39717"
	cmd := exec.CommandContext(ctx, b.service, "-addr", addr)
	cmd.Env = append(os.Environ(), "TAKES="+b.takes.String(), "STATS="+os.DevNull)
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
