package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/load"
)

// Files of a load command in the directory of its trial.
const (
	commandLog     = "load.log"  // what it wrote
	commandSummary = "load.json" // k6's summary
)

// put puts the load of a trial on its subject: dyno's own, or the command's.
// The command runs where the subject does.
func (l *Lab) put(ctx context.Context, t *dyno.Trial, base, dir string, o load.Options) (*load.Record, error) {
	if t.Load.Command == "" {
		return l.Load(ctx, base, t.Load, t.Subject.Arg, o)
	}
	c := load.CommandOptions{Options: o, Tool: l.Tool, Dir: t.Subject.Dir}
	if dir == "" { // nothing is to be written
		return load.Command(ctx, base, t.Load, t.Subject.Arg, c)
	}
	dir, err := filepath.Abs(dir) // the command's directory is another
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, commandLog))
	if err != nil {
		return nil, fmt.Errorf("make the log of the load command: %w", err)
	}
	kept := &capped{w: log, left: gctrace.DefaultLogLimit}
	c.Log, c.Summary = kept, filepath.Join(dir, commandSummary)
	rec, err := load.Command(ctx, base, t.Load, t.Subject.Arg, c)
	errs := []error{err, kept.err, log.Close()}
	if kept.left == gctrace.DefaultLogLimit { // it said nothing, which needs no file
		errs = append(errs, os.Remove(log.Name()))
	}
	return rec, errors.Join(errs...)
}
