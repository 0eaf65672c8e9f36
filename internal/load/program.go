package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/cause"
	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/load/program"
	"github.com/dynolab/dyno/internal/load/scenario"
	"github.com/dynolab/dyno/internal/load/schedule"
)

// A distant is the load's own program, which sends the requests instead of this process. Due times go to
// it ahead of their time, and records come back.
type distant struct {
	*program.Program
	r *runner

	// Of the goroutine that reads records, and of phases between these:
	shard    *shard
	clients  []*client
	steps    map[uint16]*scenario.Step // by number; a mark's has marked in it
	kinds    map[uint16]*outcome       // the failure and its example, by number
	measured bool
	failed   chan error    // why the load ends early; holds one
	cut      time.Duration // when it was ended early; 0: it was not
}

// marked is set in the number of a step that is a mark.
const marked = 1 << 15

// cure returns what may help against an error of the program.
func (d *distant) cure() string {
	if d.r.options.Log == nil {
		return "the load's program, which makes this error"
	}
	return "the load's program, which makes this error; what it wrote is in load.log"
}

func (r *runner) newDistant(ctx context.Context, arg map[string]string) (*distant, error) {
	if r.base.Host == dyno.SocketHost {
		return nil, fmt.Errorf("load %v: a program is given no unix socket (consider: an argument of its own)", r.base)
	}
	args, err := scenario.ExpandArgs(&r.load, arg)
	if err != nil {
		return nil, err
	}
	d := &distant{
		r: r, shard: r.rec.shards[0], failed: make(chan error, 1),
		steps: map[uint16]*scenario.Step{}, kinds: map[uint16]*outcome{frames.NoTime: {failure: failure{CauseTimeout, cause.Cure(CauseTimeout)}}},
	}
	part := r.options.Part
	for i := range r.players() {
		d.clients = append(d.clients, &client{r: r, number: part.First + i, shard: d.shard})
	}
	d.Program, err = program.Start(ctx, program.Options{
		Path: r.load.Program, Args: args, Name: filepath.Base(r.load.Program), Config: r.options.Config, Dir: r.options.Dir, Log: r.options.Log,
		Hello: frames.Hello{
			Base: r.base.String(), Timeout: time.Duration(r.load.Timeout), First: part.First, Index: part.Index, Of: part.of(),
			Seed: r.load.Seed, Open: r.load.Open(),
		},
		Now: r.now, Record: d.record, Named: d.named,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// setUp opens the clients: all of a closed load, the first of an open one, which needs the others later.
func (d *distant) setUp(ctx context.Context) error {
	n := len(d.clients)
	open := n
	if d.r.load.Open() {
		open = 1
	}
	return d.Connect(ctx, n, open)
}

// named takes the name of a step or of a kind of failures.
func (d *distant) named(n *frames.Name) {
	if !n.Step {
		text := cmp.Or(n.Text, frames.Other)
		d.kinds[n.Number] = &outcome{failure: failure{text, cmp.Or(cause.Cure(text), d.cure())}, example: tame(n.Example)}
		return
	}
	d.steps[n.Number] = &scenario.Step{Label: n.Text, Measured: true, Tally: -1}
}

// stepOf is the step of a record, whose tally it makes if it is the first that counts.
func (d *distant) stepOf(m *frames.Record) *scenario.Step {
	key, loop := m.Step, m.Flags&frames.Mark == 0
	if !loop {
		key |= marked
	}
	s := d.steps[key]
	if s == nil {
		label := frames.Other
		if named := d.steps[m.Step]; named != nil {
			label = named.Label
		}
		s = &scenario.Step{Label: label, Measured: true, Tally: -1}
		d.steps[key] = s
	}
	if s.Tally < 0 && d.measured {
		s.Tally = d.r.rec.tally(scenario.Tally{Label: s.Label, Loop: loop})
	}
	return s
}

// record takes a record.
func (d *distant) record(m *frames.Record) {
	r := d.r
	i := int(m.Client) - r.options.Part.First
	if i < 0 || i >= len(d.clients) {
		d.end(fmt.Errorf("load program %s: a record of client %d, which there is not", d.Name, m.Client))
		return
	}
	var o outcome
	if m.Kind != 0 {
		if of := d.kinds[m.Kind]; of != nil {
			o = *of
		} else {
			o.failure = failure{frames.Other, d.cure()}
		}
	}
	o.sent, o.done, o.in, o.out, o.messages = m.Sent, m.Done, m.In, m.Out, int64(m.Messages)
	s := d.stepOf(m)
	switch {
	case !d.measured:
		if m.Flags&frames.Mark == 0 {
			r.warm.Add(1)
			r.warmTook.Add(int64(m.Done - m.Sent))
		}
	case m.Flags&frames.Mark != 0:
		d.shard.add(d.clients[i], s, due{at: m.Due}, &o)
	default:
		if m.Flags&frames.Follows != 0 && r.turn.Next(m.Due) != m.Due {
			r.strayed++
		}
		if err := r.note(d.clients[i], s, due{m.Due, m.Free, m.Flags&frames.Follows != 0}, &o); err != nil {
			d.end(err)
		}
	}
}

// end ends the phase under way.
func (d *distant) end(why error) {
	select {
	case d.failed <- why:
	default:
	}
}

// Due times go to the program so long ahead, so often.
const (
	ahead     = 300 * time.Millisecond
	feedEvery = 50 * time.Millisecond
)

// open plays a schedule; see runner.open.
func (d *distant) open(ctx context.Context, s schedule.Times, length, catchUp time.Duration, measured bool) error {
	r := d.r
	start := r.begins()
	s, length = r.turn.LayOut(s, start, length)
	if d.measured = measured; measured {
		r.rec.begin(start)
	}
	d.Begin(frames.Phase{Open: true, Start: start, Limit: start + length + catchUp})
	f := feeder{next: s, start: start}
	feed := func() {
		if times := f.until(r.now(), ahead); len(times) > 0 {
			d.Due(times)
		}
		if f.ended {
			d.Due(nil)
		}
	}
	feed()
	tick := time.NewTicker(feedEvery)
	defer tick.Stop()
	over, err := d.await(ctx, func(ctx context.Context) {
		for !f.ended && ctx.Err() == nil {
			select {
			case <-tick.C:
				feed()
			case <-ctx.Done():
			}
		}
	})
	if measured && over.Valid {
		r.unsent = max(0, f.due(cmp.Or(d.cut, r.now()))-over.Taken) // it may take one before it hears of the end
	}
	return err
}

// closed plays the loop of all clients; see runner.closed.
func (d *distant) closed(ctx context.Context, until time.Duration, measured bool) error {
	r := d.r
	d.measured = measured
	ph := frames.Phase{}
	if measured {
		ph.Requests, ph.PerClient = int64(r.load.Requests), int64(r.load.RequestsPerClient)
	}
	d.Begin(ph)
	detach := r.turn.Attach(ctx, d.Program)
	_, err := d.await(ctx, func(ctx context.Context) {
		if until > 0 {
			if r.turn.Rest(ctx, until-r.turn.OwnAt(r.now())); ctx.Err() == nil {
				d.Stop(false)
			}
		}
	})
	detach()
	return err
}

// await waits for the end of a phase, while attend is at work, and ends it early if it has to.
func (d *distant) await(ctx context.Context, attend func(context.Context)) (over frames.Over, err error) {
	r := d.r
	began := r.turn.OwnAt(r.now())
	attended, cancel := context.WithCancel(ctx)
	idle := make(chan struct{})
	go func() { defer close(idle); attend(attended) }()
	defer func() { cancel(); <-idle }()
	ended, end := context.WithCancelCause(ctx)
	defer end(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case err := <-d.failed:
			end(err)
		case <-ended.Done():
		}
	}()
	defer func() { end(nil); <-watched }()
	if over, err = d.Over(ended); err != nil && ended.Err() != nil {
		why := err
		d.cut = r.now()
		d.Stop(true)
		wait, stop := context.WithTimeout(context.WithoutCancel(ctx), mostParting)
		defer stop()
		if over, err = d.Over(wait); errors.Is(err, context.DeadlineExceeded) {
			d.Kill() // records of requests that do not end would come while others are counted
		}
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = why
		}
	}
	took := r.turn.OwnAt(r.now()) - began
	r.busiest = over.CPU.Seconds() / (max(took, 1).Seconds() * float64(max(d.Procs, 1)))
	return over, err
}

// mostParting is how long requests under way may take to end after they are cancelled.
const mostParting = 2 * time.Second

// A feeder takes due times from a schedule.
type feeder struct {
	next  schedule.Times
	start time.Duration
	ended bool
	held  time.Duration   // taken from the schedule, and still to be told; 0: none
	told  int64           // times that were due when more were taken
	later []time.Duration // those told, and due later
}

// until are the next times up to a moment ahead of now.
func (f *feeder) until(now, ahead time.Duration) (times []time.Duration) {
	for !f.ended {
		if f.held == 0 {
			at, ok := f.next()
			if !ok {
				f.ended = true
				break
			}
			f.held = max(f.start+at, 1)
		}
		if f.held > now+ahead {
			break
		}
		times = append(times, f.held)
		f.held = 0
	}
	n := f.due(now) - f.told
	f.told += n
	f.later = append(f.later[:0:0], append(f.later[n:], times...)...)
	return times
}

// due counts the told due times that are not after now.
func (f *feeder) due(now time.Duration) int64 {
	n, _ := slices.BinarySearch(f.later, now+1)
	return f.told + int64(n)
}
