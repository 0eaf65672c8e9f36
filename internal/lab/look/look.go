// Package look chooses what a plan leaves open of its load, by trials of a few seconds before the run: how long the service takes to
// warm up, how many clients fill it, and how long a window is that has enough requests.
//
// It owns the rule. What launches and loads the service is its caller's.
package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/stats"
)

// The choices, and the rules for them.
const (
	first       = 4 * time.Second  // length of a look
	second      = 10 * time.Second // of another one, if response times were not level in the first
	brief       = 2 * time.Second  // of one with more clients
	leastWarm   = 500 * time.Millisecond
	blocks      = 12 // of a run, at least, should have time for their warm-ups, if these are half of it
	unknownWarm = 800 * time.Millisecond
	spare       = 1.25 // the warm-up is so much longer than it took here
	more        = 4    // times as many clients are tried
	mostClients = 160
	worth       = 1.25 // times the requests per second are worth more clients
	enough      = 1000 // requests that a trial should have: then 10 are beyond p99
	longest     = 10 * time.Second
	leastWithin = 45 * time.Second // a run with less time has none for a look
)

// Open reports whether a plan leaves its load open: neither how long nor how warm it is, and nothing that it says depends on it, such as
// a limit that is no change.
func Open(e *dyno.Experiment) bool {
	l := &e.Load
	for _, t := range e.Thresholds {
		if !t.Change && t.Name != "failures" && t.Name != "oom_kills" {
			return false
		}
	}
	return e.Subject.Launched() && e.Slice == 0 && e.Bench == nil && len(e.More) == 0 && !e.On.Away() &&
		!l.None && l.Command == "" && l.Replay == "" && l.Length() == 0 &&
		l.Warmup == 0 && l.Duration == 0 && l.Requests == 0 && l.RequestsPerClient == 0 &&
		(e.Within == 0 || time.Duration(e.Within) >= leastWithin)
}

// A Choice is what was chosen of a load.
type Choice struct {
	Warmup      dyno.Duration
	Duration    dyno.Duration // 0: the default
	Concurrency int           // 0: the plan says it, or the load is open
	Why         string        // one line
}

// Apply puts a choice into a plan.
func (c *Choice) Apply(l *dyno.Load) {
	l.Warmup = c.Warmup
	if c.Duration > 0 {
		l.Duration = c.Duration
	}
	if c.Concurrency > 0 {
		l.Concurrency = c.Concurrency
	}
}

// Choose looks at the first and the last setting of a plan that is [Open]. The files of its trials are in the
// directory temp. The error is the context's, a [*lab.OverriddenError], or the service's if all trials
// failed.
func Choose(ctx context.Context, l *lab.Lab, e *dyno.Experiment, temp string) (Choice, error) {
	own := *l // with other observers
	own.Observers = lab.Observers{}
	number := 0
	own.Dir = func(int) (string, error) {
		number++
		dir := filepath.Join(temp, strconv.Itoa(number))
		return dir, os.Mkdir(dir, 0o700)
	}
	return choose(ctx, e, func(ctx context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
		var samples []sample
		own.Keep = func(_ int, requests iter.Seq2[dyno.Request, error]) error {
			for r, err := range requests {
				if err != nil {
					return err
				}
				if !r.Failed {
					samples = append(samples, sample{r.Done.Seconds(), (r.Done - r.Due).Seconds()})
				}
			}
			return nil
		}
		r := own.Trial(ctx, t)
		return r, samples, own.Overridden(ctx, e, r)
	})
}

// A measure runs one trial of a look.
type measure func(context.Context, dyno.Trial) (*dyno.Result, []sample, error)

func choose(ctx context.Context, e *dyno.Experiment, measure measure) (c Choice, err error) {
	began := time.Now()
	g := &glance{ctx: ctx, e: e, settings: e.Levels(), measure: measure, rate: math.Inf(1)}
	var why []string
	for _, step := range []func(*Choice) (string, error){g.warmup, g.clients, g.length} {
		text, err := step(&c)
		if err != nil {
			return Choice{}, err
		}
		if text != "" {
			why = append(why, text)
		}
	}
	c.Why = fmt.Sprintf("load chosen: %s: %s (a look of %v)", c.said(g.window()), strings.Join(why, "; "), time.Since(began).Round(time.Second))
	return c, nil
}

// A glance is the looks at one plan.
type glance struct {
	ctx      context.Context
	e        *dyno.Experiment
	settings []dyno.Setting
	measure  measure
	rate     float64 // of the slowest: requests per second
}

// A failure is the error of a trial that failed.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// stream is of the random numbers of looks, and of no block.
const stream = math.MaxUint32

// trial runs one trial; clients is 0 for the number that the plan has.
func (g *glance) trial(s dyno.Setting, warm dyno.Duration, length time.Duration, clients int) ([]sample, error) {
	t := g.e.Trial(s)
	t.N, t.Block, t.Leak = 1, 1, false
	t.Load.Warmup, t.Load.Duration, t.Load.Idle, t.Load.KeepRequests, t.Load.MaxRequestsKept = warm, dyno.Duration(length), 0, "all", 0
	t.Load.Seed = g.e.Rand(stream).Uint64()
	if clients > 0 {
		t.Load.Concurrency = clients
	}
	r, samples, err := g.measure(g.ctx, t)
	switch {
	case g.ctx.Err() != nil:
		return nil, context.Cause(g.ctx)
	case err != nil:
		return nil, err
	}
	if r.Err != "" {
		return nil, &failure{g.named(s) + r.Err}
	}
	return samples, nil
}

// warmup is as long as the first setting and the last need, as far as the run has time for it.
func (g *glance) warmup(c *Choice) (why string, err error) {
	warm := time.Duration(0)
	var failures []error
	looked := slices.Compact([]int{0, len(g.settings) - 1})
	for _, s := range looked {
		took, text, err := g.warms(g.settings[s])
		if failed := (*failure)(nil); errors.As(err, &failed) { // the run will show it, unless there is nothing else
			failures = append(failures, err)
			continue
		}
		if err != nil {
			return "", err
		}
		warm, why = max(warm, took), cmp.Or(why, text)
	}
	if len(failures) == len(looked) {
		return "", fmt.Errorf("the service failed in a look before the run: %w", failures[0])
	}
	why = cmp.Or(why, fmt.Sprintf("response times are level after %v", dyno.Duration(warm.Round(100*time.Millisecond))))
	need := max(leastWarm, time.Duration(math.Ceil(2*spare*warm.Seconds()))*time.Second/2)
	if c.Warmup = dyno.Duration(need); g.e.Repeats > 0 && g.e.Within == 0 {
		return why, nil
	}
	within, each := cmp.Or(g.e.Within, dyno.DefaultWithin), time.Duration(2*blocks*len(g.settings))
	if most := max(leastWarm, (time.Duration(within) / each).Truncate(time.Second/2)); need > most {
		c.Warmup = dyno.Duration(most)
		why += fmt.Sprintf(", for which a run of %v has no time (consider: --within %v)", within, dyno.Duration(each*need))
	}
	return why, nil
}

// warms measures how long a setting takes to warm up. If that cannot be told, why says what was seen.
func (g *glance) warms(s dyno.Setting) (took time.Duration, why string, err error) {
	for _, length := range []time.Duration{first, second} {
		samples, err := g.trial(s, 0, length, 0)
		if err != nil {
			return 0, "", err
		}
		g.rate = min(g.rate, float64(len(samples))/length.Seconds())
		switch after, course := steadyAfter(samples, length); {
		case course == level:
			return after, "", nil
		case course == falling:
			took, why = length, fmt.Sprintf("%sresponse times still fall after %v", g.named(s), length)
		case course == rising:
			took, why = unknownWarm, fmt.Sprintf("%sresponse times rise over %v", g.named(s), length)
		default:
			took, why = unknownWarm, fmt.Sprintf("%s%d requests in %v do not tell when it is warm", g.named(s), len(samples), length)
		}
	}
	return took, why, nil
}

// clients are as many as are worth it by what the first setting answers per second.
func (g *glance) clients(c *Choice) (why string, err error) {
	l := &g.e.Load
	rests := func(s dyno.Step) bool { return s.Sleep != (dyno.Sleep{}) }
	if l.Open() || l.Concurrency > 0 || varies(g.e, "load.concurrency") || varies(g.e, "load.rate") || slices.ContainsFunc(l.Client.Loop, rests) {
		return "", nil
	}
	answers := func(n int) (float64, error) {
		samples, err := g.trial(g.settings[0], c.Warmup, brief, n)
		return float64(len(samples)) / brief.Seconds(), err
	}
	failed := (*failure)(nil)
	n := dyno.DefaultConcurrency
	least, err := answers(n)
	if errors.As(err, &failed) || err == nil && least == 0 { // the run will show it
		return "", nil
	}
	if err != nil {
		return "", err
	}
	rate := least
	why = fmt.Sprintf("more than %d clients are not tried", mostClients)
	for next := more * n; next <= mostClients; next *= more {
		got, err := answers(next)
		if errors.As(err, &failed) {
			text, _, _ := strings.Cut(failed.text, "\n")
			why = fmt.Sprintf("%d clients fail: %s", next, text)
			break
		}
		if err == nil && got >= worth*rate { // perhaps the machine was disturbed before
			var again float64
			if again, err = answers(n); errors.As(err, &failed) {
				again, err = 0, nil
			}
			rate = max(rate, again)
		}
		if err != nil {
			return "", err
		}
		if got < worth*rate {
			why = fmt.Sprintf("%d clients get %s requests per second", next, compared(got/rate))
			break
		}
		n, rate = next, got
	}
	c.Concurrency = n
	g.rate *= max(1, rate/least)
	return why, nil
}

// length is the default, or longer if that has few requests.
func (g *glance) length(c *Choice) (why string, err error) {
	need := time.Duration(math.Ceil(enough/max(g.rate, 1))) * time.Second
	most := longest
	if within := time.Duration(g.e.Within); within > 0 { // a given time waits for no block
		most = min(most, (within/time.Duration(stats.MedianTrials*len(g.settings)) - time.Duration(c.Warmup)).Truncate(time.Second))
	}
	if length := g.window(); need <= length || length >= most {
		return "", nil
	}
	c.Duration = dyno.Duration(min(need, most))
	return fmt.Sprintf("%v has %.0f requests", c.Duration, g.rate*time.Duration(c.Duration).Seconds()), nil
}

// window returns how long a trial is by default.
func (g *glance) window() time.Duration { return time.Duration(g.e.Trial(g.settings[0]).Load.Duration) }

func (g *glance) named(s dyno.Setting) string {
	if len(g.settings) == 1 {
		return ""
	}
	return s.String() + ": "
}

// said returns the choice in words; length is the default length.
func (c *Choice) said(length time.Duration) string {
	text := ""
	if c.Concurrency > 0 {
		text = fmt.Sprintf("%d clients, ", c.Concurrency)
	}
	return fmt.Sprintf("%s%v after %v of warm-up", text, cmp.Or(c.Duration, dyno.Duration(length)), c.Warmup)
}

// compared is a ratio in words.
func compared(ratio float64) string {
	switch by := 100 * (ratio - 1); {
	case by >= 1:
		return fmt.Sprintf("only %.0f%% more", by)
	case by <= -1:
		return fmt.Sprintf("%.0f%% fewer", -by)
	}
	return "no more"
}

func varies(e *dyno.Experiment, factor string) bool {
	return slices.ContainsFunc(e.Levels(), func(s dyno.Setting) bool {
		return slices.ContainsFunc(s, func(l dyno.Level) bool { return l.Factor == factor })
	})
}
