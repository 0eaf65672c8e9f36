// Package lab runs experiments: it brings a subject, its probes and its load together in one trial
// at a time.
//
// It owns the order of events in a trial and the handling of failures. Package subject builds and
// launches, load sends requests, probe observes, and each result goes to a sink.
package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/foreign"
	"github.com/dynolab/dyno/internal/load/grpc"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject/awake"
)

// A Lab runs trials with its hands and informs its observers. [Open] gives the hands of this
// machine.
type Lab struct {
	Hands
	Observers
}

// Hands do the work of a trial. Start, Load, Probe and Dir are required; Tool is for a load that is
// a command; Knobs and CPU are for slices.
type Hands struct {
	Vet     func(ctx context.Context, s dyno.Subject) error                 // finds mistakes that Prepare would find late, after it has prepared others; may be nil
	Prepare func(ctx context.Context, s dyno.Subject) error                 // makes, and keeps, what Start needs of a subject, such as a build
	Sources func(ctx context.Context, s dyno.Subject) map[string]string     // subject.Builder.Sources; nil means that they are unknown
	Sum     func(ctx context.Context, s dyno.Subject) (string, error)       // of a prepared subject's executable; nil means that it is unknown
	Names   func(ctx context.Context, s dyno.Subject, variable string) bool // whether its executable holds a variable's name; nil means that it is unknown
	Limit   func(dyno.Limits) error                                         // subject.CheckLimits; nil means that any limit can be set
	// Start launches the subject of a trial, whose files go to dir, and returns when it is ready.
	// patience is after what time it gives up, if that is before the plan's ready timeout; 0: it is not.
	Start func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error)
	// WhyNotBeside says in one line how an instance that runs already can be the reason of an error
	// of Start: subject.WhyNotBeside. It is "" if it cannot; nil means that it never can.
	WhyNotBeside func(error) string
	Load         func(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) // load.Run
	// Program makes the executable of a load's program, or of that for gRPC, and keeps it; dir is the plan's directory. Nil: no load has one.
	Program func(ctx context.Context, l dyno.Load, dir string) (path string, err error)
	Tool    foreign.Tool                          // runs the command of a load that has one: subject.RunTool
	Probe   func(name string) (probe.Probe, bool) // ProbeNamed
	RSS     func(pids ...int) (float64, error)    // kernel.Together; nil means that idle memory is not read
	// Memory returns the bytes left and the total, of the machine or of a control group that limits
	// it. Nil means that memory is not guarded.
	Memory func() (left, total float64, err error)
	// Places finds where a subject's source sets a variable of the Go runtime, those first that give it a value;
	// nil means that it is unknown.
	Places  func(ctx context.Context, s dyno.Subject, name, value string) []dyno.Setter
	Inspect func(pid int, socket string) (Inspector, error) // goruntime.OpenInspector; nil means that there are no snapshots
	Knobs   func(pid int, socket string) (Knobs, error)     // goruntime.OpenKnobs, and CPU is kernel.CPU
	CPU     func(pid int) (float64, error)
	Dir     func(n int) (string, error) // makes the directory for the files of trial n
	Skip    func(n int) bool            // reports that trial n is done already; nil means that none is
	// Away is how long a message takes at most to all generators, if these are on other machines, whose
	// turns go by the clock; else 0.
	Away   time.Duration
	Keeper *awake.Keeper // keeps the CPUs awake once it is needed; nil: they sleep as they like
	// Enough reports, after each block of a run that decides itself how many it takes, whether more
	// would decide nothing; nil means never. Least is the number of blocks that are run however
	// long they take where the plan has no time.
	Enough func(block int) bool
	Least  int
}

// Observers are called with events of the lab. Each may be nil. The lab waits for them.
type Observers struct {
	Building func(step string)                  // told of each package that is compiled for a subject, and each module that is downloaded
	Watch    func(t *dyno.Trial, m *load.Meter) // told of each trial as it begins, with the meter of its load; those of a block side by side begin together, before one of them enters a phase
	Alone    func(why string)                   // told once if subjects do not run side by side, though the plan has several settings; results of before that were Beside count no more
	Awake    func(since string)                 // told once if loops keep the CPUs awake that the plan did not ask for: since when, and why
	Over     func(dyno.Ended)                   // told why no more blocks are compared, if that is before the last of the plan
	// Live is told of each point of the series, and by which probe. Several goroutines call it.
	Live func(t *dyno.Trial, probe, metric string, v float64)
	// Second is told once a second of the latency in a part of the window. h is valid until it
	// returns. Trials side by side call it at the same time.
	Second      func(t *dyno.Trial, h *hist.Histogram, from, to time.Duration)
	Keep        func(n int, requests iter.Seq2[dyno.Request, error]) error // stores the single requests of trial n
	Void        func(r *dyno.Result, again bool)                           // told of each trial that is void, and whether its block is measured again
	Interrupted func(r *dyno.Result)                                       // given the partial result of the trial during which Run's context ended
}

// Check is check.Experiment, and finds mistakes in the load's steps or command, too, which would appear only in a trial.
func Check(e *dyno.Experiment) error {
	if err := check.Experiment(e); err != nil {
		return err
	}
	for _, t := range firstBlock(e) {
		if t.Load.None {
			continue
		}
		check := load.Check
		switch {
		case t.Load.Command != "":
			check = foreign.Check
		case t.Load.GRPC != nil:
			check = grpc.Check
		}
		if err := check(t.Load, t.Subject.Arg); err != nil {
			return err
		}
	}
	return nil
}

// OneProgram returns the settings that differ from the baseline in the build only, but have the same
// program. Call PrepareAll before.
func (l *Lab) OneProgram(ctx context.Context, e *dyno.Experiment) (same []dyno.Setting) {
	settings := e.Levels()
	sum := func(s dyno.Setting) string {
		if l.Sum == nil {
			return ""
		}
		sum, _ := l.Sum(ctx, e.Trial(s).Subject)
		return sum
	}
	for _, s := range settings[1:] {
		if dyno.DifferInBuild(settings[0], s) {
			if base := sum(settings[0]); base != "" && sum(s) == base {
				same = append(same, s)
			}
		}
	}
	return same
}

// Unnamed returns the variables among the factors that only the program can read, and whose name no setting's
// executable holds. Call PrepareAll before.
func (l *Lab) Unnamed(ctx context.Context, e *dyno.Experiment) (names []string) {
	settings := e.Levels()
	for _, s := range settings[1:] {
		for _, name := range dyno.ProgramReads(settings[0], s) {
			holds := func(s dyno.Setting) bool { return l.Names == nil || l.Names(ctx, e.Trial(s).Subject, name) }
			if !strings.HasPrefix(name, "arg.") && !slices.Contains(names, name) && !slices.ContainsFunc(settings, holds) {
				names = append(names, name)
			}
		}
	}
	return names
}

func firstBlock(e *dyno.Experiment) []dyno.Trial { return e.Trials()[:len(e.Levels())] }

// PrepareAll checks the limits and the subject of every setting, and then prepares them. So it
// reports a mistake in the last before it compiles the first.
func (l *Lab) PrepareAll(ctx context.Context, e *dyno.Experiment) error {
	trials := firstBlock(e)
	for _, t := range trials {
		if t.Grouped && l.Limit != nil {
			if err := l.Limit(t.Limits); err != nil {
				return err
			}
		}
	}
	for _, t := range trials {
		if l.Vet == nil || len(trials) == 1 {
			break
		}
		if err := l.Vet(ctx, t.Subject); err != nil {
			return err
		}
	}
	for _, t := range trials {
		if err := l.Prepare(ctx, t.Subject); err != nil {
			return err
		}
		if _, err := l.program(ctx, &t); err != nil {
			return err
		}
	}
	return nil
}

// program makes the executable of a trial's load, "" if that is no program.
func (l *Lab) program(ctx context.Context, t *dyno.Trial) (path string, err error) {
	if t.Load.Program == "" && t.Load.GRPC == nil {
		return "", nil
	}
	if l.Program == nil {
		return "", errors.New("a load's program cannot be built here")
	}
	if path, err = l.Program(ctx, t.Load, t.Subject.Dir); err != nil {
		return "", fmt.Errorf("load program: %w", err)
	}
	return path, nil
}

// Run runs the trials of e block by block and hands each result to sink before the next block
// begins. A trial that fails is a result with Err. Run ends early only if Enough is satisfied, the
// time is up, ctx ends, which leaves the current block without results, or sink fails. Call
// PrepareAll before.
func (l *Lab) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	trials := e.Trials()
	if e.Slice > 0 {
		return l.runSlices(ctx, e, trials, sink)
	}
	c := &course{lab: l, e: e, began: time.Now(), broken: map[string]bool{}, kept: map[int]bool{}}
	var seen []*dyno.Result // of the block
	c.sink = func(r *dyno.Result) error {
		l.place(ctx, r)
		seen = append(seen, r)
		if c.blocks == 1 && r.Trial.For == "" {
			c.first = append(c.first, r)
		}
		return sink(r)
	}
	why := ""
	if why, c.beside = e.WhyAlone(); why != "" {
		l.alone(why)
	}
	trials = dyno.InOrder(trials)
	over := false // the compared blocks are
	for len(trials) > 0 {
		n := sameBlock(trials)
		part := trials[:n]
		trials = trials[n:]
		if over && part[0].For == "" || c.noSame && part[0].For == dyno.ForSame || len(c.left(part)) == 0 {
			c.turned = c.turned || part[0].For == "" // perhaps, by a process before
			continue
		}
		seen = nil
		if err := c.block(ctx, part); err != nil {
			return err
		}
		l.Saw(seen...)
		if c.restart { // what was measured in turns counts no more
			c.restart, c.blocks, c.first = false, 0, nil
			trials = dyno.InOrder(e.Trials())
			continue
		}
		if c.blocks == 1 && len(trials) > 0 && len(c.first) == len(part) && alike(c.first) {
			return &AlikeError{len(part), c.first[0].Err}
		}
		if c.blocks == 1 {
			if err := l.Overridden(ctx, e, c.first...); err != nil {
				return err
			}
		}
		if part[0].For == "" && !over {
			ended := c.ended(part[0].Block)
			if over = ended != ""; over && l.Over != nil {
				l.Over(ended)
			}
		}
	}
	return nil
}

// An AlikeError ends a run whose first block failed in the same way in all settings, as the other
// blocks would too. The results of the block have the failures.
type AlikeError struct {
	Settings int
	Err      string // of the first
}

func (e *AlikeError) Error() string { return e.what() + ": " + e.Err }

// Rest returns the error without the first line of Err, for a reader who has seen that line.
func (e *AlikeError) Rest() string {
	_, lines, ok := strings.Cut(e.Err, "\n")
	if !ok {
		return e.what()
	}
	return e.what() + "; it said:\n" + lines
}

func (e *AlikeError) what() string {
	if e.Settings == 1 {
		return "the first trial failed, so the run ends (consider: --resume, once the cause is fixed)"
	}
	return fmt.Sprintf("all %d settings failed alike in the first block, so the run ends (consider: --resume, once the cause is fixed)", e.Settings)
}

func alike(rs []*dyno.Result) bool {
	return !slices.ContainsFunc(rs, func(r *dyno.Result) bool { return r.Err == "" || r.FailedLike() != rs[0].FailedLike() })
}

// sameBlock counts the trials at the beginning that are of one block.
func sameBlock(trials []dyno.Trial) int {
	other := slices.IndexFunc(trials, func(t dyno.Trial) bool { return t.Block != trials[0].Block || t.For != trials[0].For })
	if other < 0 {
		return len(trials)
	}
	return other
}

// left are the trials that are not done already.
func (l *Lab) left(trials []dyno.Trial) (left []dyno.Trial) {
	for _, t := range trials {
		if l.Skip == nil || !l.Skip(t.N) {
			left = append(left, t)
		}
	}
	return left
}

// left returns the trials that have to run: neither done, nor measured alone while others ran side by side.
func (c *course) left(trials []dyno.Trial) []dyno.Trial {
	return slices.DeleteFunc(c.lab.left(trials), func(t dyno.Trial) bool { return c.kept[t.N] })
}

// Saw keeps the CPUs awake from now on if a trial was withheld time. All trials of a block are to be seen at its end, so
// that none has loops and another none.
func (l *Lab) Saw(rs ...*dyno.Result) {
	for _, r := range rs {
		if since := l.Keeper.Saw(r); since != "" && l.Awake != nil {
			l.Awake(since)
		}
	}
}

func (l *Lab) alone(why string) {
	if l.Alone != nil {
		l.Alone(why)
	}
}
