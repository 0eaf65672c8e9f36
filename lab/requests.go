package lab

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/dynolab/dyno"
)

// A scratch holds the single requests of a trial until its subject has stopped:
// to bring them into their final form takes CPU time that is the subject's.
type scratch struct {
	file     *os.File // nil if they are not kept
	requests iter.Seq2[dyno.Request, error]
}

// open makes the file, if the requests of t are to be kept.
func (s *scratch) open(l *Lab, t *dyno.Trial, dir string) (err error) {
	if l.Keep == nil || t.Load.KeepRequests == "none" || t.Load.Command != "" {
		return nil
	}
	if s.file, err = os.CreateTemp(dir, "requests-*.scratch"); err != nil {
		return fmt.Errorf("make the scratch file of a trial: %w", err)
	}
	return nil
}

// store hands the requests over and removes the file. Requests that cannot be
// stored are a doubt about the trial, not its end.
func (s *scratch) store(ctx context.Context, l *Lab, r *dyno.Result) {
	if s.file == nil {
		return
	}
	if s.requests != nil && ctx.Err() == nil {
		if err := l.Keep(r.Trial.N, s.requests); err != nil {
			r.Warnings = append(r.Warnings, err.Error())
		}
	}
	s.file.Close()
	os.Remove(s.file.Name())
}
