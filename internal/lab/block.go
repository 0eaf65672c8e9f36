package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/rests"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/turn"
	"github.com/dynolab/dyno/internal/turns"
)

// A block is the trials of one block that run side by side.
type block struct {
	rota     *turns.Rota
	launched []chan struct{} // of each trial, closed when its subject is ready or failed
	turn     time.Duration
	own      func(*dyno.Trial) bool // an error of this trial is its setting's own
	ledger   *rests.Ledger          // nil where CPU clocks cannot be read
	known    *rests.Known
	quiet    bool // it has a quiet moment, as none before had
	patient  bool // none has less time to get ready because others are there

	stop    context.CancelCauseFunc
	quieted atomic.Bool // it had its quiet moment
	mu      sync.Mutex
	running []*Running    // the subjects that are ready
	ready   time.Duration // the longest that one of them took; at least 1
}

// notBeside says why the subjects of a block cannot run side by side.
type notBeside struct {
	why    string
	trial  int           // that failed; 0 if none was tried
	waited time.Duration // until it was given up, if it had less time than alone
}

func (e *notBeside) Error() string { return e.why }

func failedBeside(r *dyno.Result) *notBeside {
	first, _, _ := strings.Cut(r.Err, "\n")
	return &notBeside{
		why:   fmt.Sprintf("%s fails beside the others but not alone: %s (consider: {{.Addr}} and {{.Dir}} for shared resources)", r.Trial.Setting, first),
		trial: r.Trial.N,
	}
}

// besides is a trial's part in its block; nil if it runs alone.
type besides struct {
	*turns.Member
	block    *block
	place    int    // in the order of launches
	launched func() // lets the next be launched; may be called again
	turn     *turn.Turn
	turns    int                     // that the window had
	rested   rests.Rested            // of the window
	counted  bool                    // rested is known
	needs    map[string]rests.Rested // of the window, by name
}

// runBlock runs trials side by side and returns their results in the same order. The error is a
// *notBeside, or the cause of ctx, which leaves results that are not whole.
func (l *Lab) runBlock(ctx context.Context, c *course, trials []dyno.Trial) ([]*dyno.Result, error) {
	if why := l.noRoom(trials); why != "" {
		return nil, &notBeside{why: why}
	}
	l = l.sharing()
	b := &block{rota: turns.New(trials[0].Load.Seed), turn: time.Duration(c.e.Resolved().Turn.Or(dyno.DefaultTurn)), own: c.itsOwn, patient: c.proved || c.patient}
	if l.CPU != nil && l.Away == 0 {
		b.ledger, b.known, b.quiet = rests.NewLedger(), &c.known, !c.quieted
		b.rota.Mark = b.ledger.Mark
		b.known.Probing = rests.Reading / time.Duration(trials[0].Probes.Every.Or(dyno.DefaultEvery)).Seconds()
	}
	if trials[0].Load.Open() || l.Away > 0 { // so are all
		b.rota.ByClock(b.turn)
		b.rota.Early(l.Away)
	}
	ctx, b.stop = context.WithCancelCause(ctx)
	defer b.stop(nil)
	results := make([]*dyno.Result, len(trials))
	all := make([]*trial, len(trials))
	for i, plan := range trials {
		results[i], all[i] = l.begin(plan)
		b.join(all[i], i)
	}
	var wg sync.WaitGroup
	for i, t := range all {
		wg.Go(func() {
			defer t.beside.Leave()
			defer t.beside.launched()
			t.finish(ctx, results[i])
		})
	}
	b.rota.Run(ctx)
	wg.Wait()
	c.quieted = c.quieted || b.quiet && b.quieted.Load()
	for _, t := range all {
		if t.beside.counted && trials[0].For == "" {
			c.known.Add(t.Setting.String(), t.beside.rested)
		}
	}
	return results, context.Cause(ctx)
}

func (b *block) join(t *trial, place int) {
	gate, launched := turn.New(), make(chan struct{})
	t.beside = &besides{
		block: b, place: place, turn: gate, launched: sync.OnceFunc(func() { close(launched) }),
		Member: &turns.Member{Gate: gate, Follow: gate.Follow, Length: func() time.Duration { return b.length(t) }},
	}
	b.rota.Join(t.beside.Member)
	b.launched = append(b.launched, launched)
}

// How long a turn is beside the response times: what is not sent while the last answers of a turn
// are awaited is then a small part of it.
const (
	answersOfTurn = 20
	longestTurn   = time.Second
)

// length returns how long the next turn of a trial should be. For a load that ends after a number of
// requests, it is estimated from the requests done so far.
func (b *block) length(t *trial) time.Duration {
	turn, done := b.turn, t.meter.Done.Load()
	own := t.beside.turn.Own() - t.began
	if all := t.Load.Requests + t.Load.RequestsPerClient*t.Load.Concurrency; all > 0 {
		whole := float64(own) * float64(all) / float64(max(done, 1))
		turn = min(turn, max(time.Duration(whole)/dyno.FewTurns, time.Duration(dyno.ShortTurn)))
	}
	answer := time.Duration(t.meter.Answer.Load())
	if done > 0 {
		answer = own * time.Duration(max(t.Load.Concurrency, 1)) / time.Duration(done)
	}
	return max(turn, min(answersOfTurn*answer, longestTurn))
}

// A second instance that waits for what the first holds would wait for the whole of
// ready_timeout, 30 s unless said. So it has five times as long as the first took, and so long at
// the least that a busy machine does not make the difference.
const (
	besideTimes = 5
	besideLeast = 2 * time.Second
)

// limit returns how long the next subject may take to get ready; 0 means as long as it may alone.
func (b *block) limit() time.Duration {
	if b.patient || b.ready == 0 {
		return 0
	}
	return max(besideTimes*b.ready, besideLeast)
}

// start launches the subject after those before it in the block, so that each is alone in the time
// in which it gets ready.
func (p *besides) start(ctx context.Context, t *trial, launch func(limit time.Duration) (*Running, error)) (*Running, error) {
	b := p.block
	defer p.launched()
	if p.place > 0 {
		select {
		case <-b.launched[p.place-1]:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	limit := b.limit() // those before have left it alone
	running, err := launch(limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.running, b.ready = append(b.running, running), max(b.ready, running.Ready, 1)
		return running, nil
	}
	whyNot := t.lab.WhyNotBeside
	if b.own(&t.Trial) || len(b.running) == 0 || whyNot == nil || ctx.Err() != nil {
		return nil, err
	}
	if why := whyNot(err); why != "" {
		b.stop(&notBeside{why, t.N, limit})
	}
	return nil, err
}

// alive returns the subjects that are ready.
func (p *besides) alive() []*Running {
	if p == nil {
		return nil
	}
	p.block.mu.Lock()
	defer p.block.mu.Unlock()
	return slices.Clone(p.block.running)
}

// exhausted ends a block whose subjects took all memory together.
func (p *besides) exhausted(trial int, err error) {
	if p != nil && len(p.alive()) > 1 {
		first, _, _ := strings.Cut(err.Error(), " (consider: ")
		p.block.stop(&notBeside{why: "there is not enough memory for all at the same time: " + first, trial: trial})
	}
}

// around lets the load of a trial take turns.
func (p *besides) around(ctx context.Context, t *trial, running *Running, o *load.Options) error {
	cpu := t.lab.clockOf(running)
	begin, end := o.Begin, o.End
	o.Turn = p.turn
	o.Begin = func(ctx context.Context) error {
		if err := p.Await(ctx, false); err != nil { // until all are warm
			return err
		}
		if err := begin(ctx); err != nil {
			return err
		}
		t.began = p.turn.Own()
		if l := p.block.ledger; l != nil && cpu != nil {
			l.Open(t, cpu, p.turn.Own)
			p.openNeeds(t, running)
		}
		return p.Await(ctx, true)
	}
	o.End = func() {
		p.turns = p.Turns()
		p.Await(ctx, false) // a window has the rests of its subject in it, up to the last turn of all
		if l := p.block.ledger; l != nil {
			p.rested, p.counted = l.Close(t)
			p.closeNeeds(t, running)
		}
		end()
		p.turn.Open() // for the teardown
		p.Leave()
	}
	if p.block.quiet {
		if err := p.rest(ctx, t, cpu); err != nil {
			return err
		}
	}
	return p.Await(ctx, true)
}

// clockOf reads the CPU clock of a subject, in seconds; nil if it has none here.
func (l *Lab) clockOf(r *Running) func() (float64, error) {
	if r.Target.PID == 0 || l.CPU == nil {
		return nil
	}
	return func() (sum float64, err error) {
		for _, pid := range r.Target.All() {
			cpu, err := l.CPU(pid)
			if err != nil {
				return 0, err
			}
			sum += cpu
		}
		return sum, nil
	}
}

// rest measures what a subject uses of the CPU while no subject is loaded.
func (p *besides) rest(ctx context.Context, t *trial, cpu func() (float64, error)) error {
	b := p.block
	if err := p.Await(ctx, false); err != nil { // until all are ready
		return err
	}
	for tries, busy := 0, cpu != nil; busy && tries < rests.QuietTries; tries++ {
		began, err := cpu()
		from := time.Now()
		if !sleepUntil(ctx, from.Add(rests.QuietTime)) { // what was seen is of no moment
			return context.Cause(ctx)
		}
		if ended, err2 := cpu(); err == nil && err2 == nil {
			busy = b.known.Quiet(t.Setting.String(), (ended-began)/time.Since(from).Seconds())
		}
	}
	if err := p.Await(ctx, false); err != nil { // until that is known of all
		return err
	}
	b.quieted.Store(true)
	if why := b.known.TooMuch(); why != "" {
		b.stop(&notBeside{why: why})
	}
	return nil
}

// charge takes off what time used of the CPU in the rests of a window: of that the subject would have had none, had it been
// alone for as long as its turns lasted.
func (p *besides) charge(t *trial, values dyno.Values) dyno.Values {
	if !p.counted {
		return values
	}
	off := p.block.known.Timed(t.Setting.String(), p.rested) * p.rested.Time().Seconds()
	if all, _ := values.Get("cpu-sec"); off > 0 && all > 0 {
		for i, v := range values {
			if v.Metric == "cpu-sec" || v.Metric == "cpu-user-sec" || v.Metric == "cpu-system-sec" { // in proportion
				values[i].Value *= max(1-off/all, 0)
			}
		}
	}
	if p.rested.LateTime > 0 {
		values = append(values, dyno.Value{Metric: "rest-cpu-frac", Value: p.rested.Rate()})
	}
	return values
}

// sharing is a lab whose trials share the readings of memory that is left: each takes some 100 µs
// of the CPU time that is to send the load.
func (l *Lab) sharing() *Lab {
	if l.Memory == nil {
		return l
	}
	shared := *l
	var (
		mu          sync.Mutex
		read        time.Time
		left, total float64
		err         error
	)
	shared.Memory = func() (float64, float64, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(read) >= guardNear/2 {
			read = now
			left, total, err = l.Memory()
		}
		return left, total, err
	}
	return &shared
}

// noRoom says why there is not memory for all subjects of a block; "" if there may be.
func (l *Lab) noRoom(trials []dyno.Trial) string {
	if l.Memory == nil {
		return ""
	}
	left, total, err := l.Memory()
	if err != nil {
		return ""
	}
	room := left - reserve(total)
	need := 0.0
	for _, t := range trials {
		need += promised(&t)
	}
	if need <= room || len(trials) < 2 {
		return ""
	}
	return fmt.Sprintf("with GOGC=off, all heaps together may grow to %s, but there is room for %s (consider: a lower GOMEMLIMIT)", size(need), size(max(room, 0)))
}
