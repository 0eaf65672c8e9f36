package lab

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/load/foreign"
)

const (
	commandLog     = "load.log"  // what it wrote
	commandSummary = "load.json" // k6's summary
)

// put puts the load of a trial on its subject. A command runs where the subject does.
func (t *trial) put(ctx context.Context, base string, o load.Options) (*load.Record, error) {
	if t.Load.Command == "" {
		return t.lab.Load(ctx, base, t.Load, t.Subject.Arg, o)
	}
	c := foreign.Options{Options: o, Tool: t.lab.Tool, Dir: t.Subject.Dir}
	if t.dir == "" { // nothing is to be written
		return foreign.Run(ctx, base, t.Load, t.Subject.Arg, c)
	}
	dir, err := filepath.Abs(t.dir) // the command's directory is another
	if err != nil {
		return nil, err
	}
	log, err := newLogFile(dir, commandLog)
	if err != nil {
		return nil, err
	}
	c.Log, c.Summary = log, filepath.Join(dir, commandSummary)
	rec, err := foreign.Run(ctx, base, t.Load, t.Subject.Arg, c)
	return rec, errors.Join(err, log.close())
}

// putLoad is the load of a trial that has no command: dyno's own, or none.
func putLoad(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
	if !l.None {
		return load.Run(ctx, base, l, arg, o)
	}
	if l.Warmup > 0 {
		o.Meter.Enter("warmup")
		if !sleepUntil(ctx, time.Now().Add(time.Duration(l.Warmup))) {
			return nil, context.Cause(ctx)
		}
	}
	if err := o.Begin(ctx); err != nil {
		return nil, err
	}
	o.Meter.Enter("measure")
	rec := &load.Record{Start: time.Now()}
	if l.Duration > 0 {
		sleepUntil(ctx, rec.Start.Add(time.Duration(l.Duration)))
	} else {
		<-ctx.Done()
	}
	rec.Elapsed = time.Since(rec.Start)
	err := context.Cause(ctx)
	o.End()
	return rec, err
}
