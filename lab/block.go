package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/lab/turns"
	"github.com/dynolab/dyno/load"
)

// A block is the trials of one block that run side by side.
type block struct {
	rota     *turns.Rota
	launched []chan struct{} // of each trial, closed when its subject is ready or failed
	turn     time.Duration
	proved   bool // earlier blocks did run side by side

	stop context.CancelCauseFunc
	mu   sync.Mutex
	up   int // subjects that are ready
}

// notBeside says why the subjects of a block cannot run side by side.
type notBeside struct{ why string }

func (e *notBeside) Error() string { return e.why }

// besides is a trial's part in its block; nil if it runs alone.
type besides struct {
	*turns.Member
	block *block
	place int // in the order of launches
	turn  *load.Turn
	turns int // that the window had
}

// runBlock runs trials side by side and returns their results in the same order. The error is a
// *notBeside, or the cause of ctx, which leaves results that are not whole.
func (l *Lab) runBlock(ctx context.Context, e *dyno.Experiment, trials []dyno.Trial, proved bool) ([]*dyno.Result, error) {
	if why := l.noRoom(trials); why != "" {
		return nil, &notBeside{why}
	}
	b := &block{rota: turns.New(trials[0].Load.Seed), turn: time.Duration(e.Turn.Or(dyno.DefaultTurn)), proved: proved}
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
			t.finish(ctx, results[i])
		})
	}
	b.rota.Run(ctx)
	wg.Wait()
	return results, context.Cause(ctx)
}

func (b *block) join(t *trial, place int) {
	turn := load.NewTurn()
	t.beside = &besides{block: b, place: place, turn: turn, Member: &turns.Member{Gate: turn, Length: func() time.Duration { return b.length(t) }}}
	b.rota.Join(t.beside.Member)
	b.launched = append(b.launched, make(chan struct{}))
}

// How long a turn is beside the response times: what is not sent while the last answers of a turn
// are awaited is then a small part of it.
const (
	answersOfTurn = 20
	longestTurn   = time.Second
)

// length is how long the next turn of a trial should be.
func (b *block) length(t *trial) time.Duration {
	done := t.meter.Done.Load()
	if done == 0 {
		return b.turn
	}
	own := t.beside.turn.Own() - t.began
	answer := own * time.Duration(max(t.Load.Concurrency, 1)) / time.Duration(done)
	return max(b.turn, min(answersOfTurn*answer, longestTurn))
}

// start launches the subject after those before it in the block, so that each is alone in the time
// in which it gets ready, and then awaits the others.
func (p *besides) start(ctx context.Context, launch func() (*Running, error)) (*Running, error) {
	b := p.block
	if p.place > 0 {
		select {
		case <-b.launched[p.place-1]:
		case <-ctx.Done():
			close(b.launched[p.place])
			return nil, context.Cause(ctx)
		}
	}
	running, err := launch()
	b.mu.Lock()
	if err == nil {
		b.up++
	} else if b.up > 0 && !b.proved && ctx.Err() == nil {
		b.stop(&notBeside{fmt.Sprintf("the second instance did not start beside the first: %v", err)})
	}
	b.mu.Unlock()
	close(b.launched[p.place])
	return running, err
}

// around lets the load of a trial take turns.
func (p *besides) around(ctx context.Context, t *trial, o *load.Options) error {
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
		return p.Await(ctx, true)
	}
	o.End = func() {
		p.turns = p.Turns()
		p.Await(ctx, false) // a window has the rests of its subject in it, up to the last turn of all
		end()
		p.turn.Open() // for the teardown
		p.Leave()
	}
	return p.Await(ctx, true)
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
	return fmt.Sprintf("with GOGC=off the heaps of all settings may grow to %s together, and there is room for %s (consider: a lower GOMEMLIMIT)", size(need), size(max(room, 0)))
}

// isNotBeside returns why a block did not run side by side.
func isNotBeside(err error) (why string, ok bool) {
	var e *notBeside
	if errors.As(err, &e) {
		return e.why, true
	}
	return "", false
}
