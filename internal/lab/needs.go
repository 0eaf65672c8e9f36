package lab

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/lab/rests"
	"github.com/dynolab/dyno/internal/needs"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
	"github.com/dynolab/dyno/internal/subject"
)

// openNeeds starts what the subject of a trial needs, and keeps what servers write in files of the trial. Without
// needs, it returns nil.
func openNeeds(ctx context.Context, k *needs.Keeper, t *dyno.Trial, dir string) (*needs.Opened, func() error, error) {
	if len(t.Subject.Needs) == 0 {
		return nil, func() error { return nil }, nil
	}
	written := &logs.Files{Dir: dir}
	opened, err := k.Open(ctx, t, func(need string) io.Writer { return written.New("need-" + need + ".log") })
	if err != nil {
		return nil, nil, errors.Join(err, written.Close())
	}
	return opened, written.Close, nil
}

// watchNeeds names the needs of a service that runs already. Their processes run already, too.
func (r *Running) watchNeeds(t *dyno.Trial) {
	for name, need := range t.Subject.Needs {
		r.Target.Needs = append(r.Target.Needs, probe.Need{Name: name, PID: need.PID, Booked: true})
		r.Target.Others = append(r.Target.Others, need.PID)
	}
}

// withoutNeeds is a context that ends with one of the needs.
func withoutNeeds(ctx context.Context, opened *needs.Opened) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if opened != nil {
		go func() {
			select {
			case <-opened.Done:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// void is an error of a need, which says nothing about the subject; nil of nil.
func void(err error) error {
	if err == nil {
		return nil
	}
	return &VoidError{Why: err.Error()}
}

// withNeeds ends a running subject when one of its needs does, and its needs after it.
func withNeeds(running *Running, p *subject.Process, opened *needs.Opened, closeLogs func() error) {
	if opened == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-p.Done:
		case <-opened.Done:
		}
	}()
	running.Done = done
	var hung error
	running.Err = func() error { return cmp.Or(void(opened.Err()), hung, p.Err()) }
	running.Target.Needs, running.Warnings = opened.Targets(), append(running.Warnings, opened.Warnings...)
	for _, n := range running.Target.Needs {
		if n.PID != 0 {
			running.Target.Others = append(running.Target.Others, n.PID)
		}
	}
	stop := running.Stop
	running.Stop = func() error {
		hung = void(opened.Hung())
		err := stop()
		opened.Close()
		return errors.Join(err, closeLogs())
	}
}

// needOf stands for a trial's need in the ledger of a block.
type needOf struct {
	*trial
	name string
}

// openNeeds begins to tell apart what the needs of a trial use of the CPUs in its turns, and in those of others.
func (p *besides) openNeeds(t *trial, running *Running) {
	for _, n := range running.Target.Needs {
		if n.PID != 0 {
			p.block.ledger.Open(needOf{t, n.Name}, kernel.NewFamily(n.PID).Clock, p.turn.Own)
		}
	}
}

// closeNeeds ends that.
func (p *besides) closeNeeds(t *trial, running *Running) {
	p.needs = map[string]rests.Rested{}
	for _, n := range running.Target.Needs {
		if r, ok := p.block.ledger.Close(needOf{t, n.Name}); ok {
			p.needs[n.Name] = r
		}
	}
}
