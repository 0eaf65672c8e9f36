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
)

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
	go func() {
		select {
		case <-opened.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// void is an error of a need, which says nothing about the subject; nil of nil.
func void(err error) error {
	if err == nil {
		return nil
	}
	return &VoidError{Why: err.Error()}
}

// WithNeeds starts what the subject of a trial needs, and then the subject by launch, which gets what templates have of each
// need. The subject ends when one of its needs does, and its needs end after it. What servers write is kept in dir.
func WithNeeds(ctx context.Context, k *needs.Keeper, t *dyno.Trial, dir string, launch func(ctx context.Context, data map[string]map[string]string) (*Running, error)) (*Running, error) {
	if len(t.Subject.Needs) == 0 {
		return launch(ctx, nil)
	}
	written := &logs.Files{Dir: dir}
	opened, err := k.Open(ctx, t, func(need string) io.Writer { return written.New("need-" + need + ".log") })
	if err != nil {
		return nil, errors.Join(err, written.Close())
	}
	starting, cancel := withoutNeeds(ctx, opened)
	running, err := launch(starting, opened.Data)
	cancel()
	if err != nil {
		err = cmp.Or(void(opened.Err()), err)
		opened.Close()
		return nil, errors.Join(err, written.Close())
	}
	done, ended := make(chan struct{}), running.Done
	go func() {
		defer close(done)
		select {
		case <-ended:
		case <-opened.Done:
		}
	}()
	why, stop := running.Err, running.Stop
	running.Done = done
	var hung error
	running.Err = func() error { return cmp.Or(void(opened.Err()), hung, why()) }
	running.Target.Needs, running.Warnings = opened.Targets(), append(running.Warnings, opened.Warnings...)
	for _, n := range running.Target.Needs {
		if n.PID != 0 {
			running.Target.Others = append(running.Target.Others, n.PID)
		}
	}
	running.Stop = func() error {
		hung = void(opened.Hung())
		err := stop()
		opened.Close()
		return errors.Join(err, written.Close())
	}
	return running, nil
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
