package lab

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/dynolab/dyno"
)

// requests holds the requests of a trial in a scratch file until its subject has stopped: their
// final form takes CPU time.
type requests struct {
	trial *trial
	file  *os.File // nil if they are not kept
	all   iter.Seq2[dyno.Request, error]
}

// keepRequests makes the file, if requests are to be kept.
func (t *trial) keepRequests() (*requests, error) {
	s := &requests{trial: t}
	if t.lab.Keep == nil || t.Load.KeepRequests == "none" || t.Load.Command != "" {
		return s, nil
	}
	var err error
	if s.file, err = os.CreateTemp(t.dir, "requests-*.scratch"); err != nil {
		return nil, fmt.Errorf("make the scratch file of a trial: %w", err)
	}
	return s, nil
}

// store hands the requests over and removes the file. An error is a doubt about the trial.
func (s *requests) store(ctx context.Context) (err error) {
	if s.file == nil {
		return nil
	}
	if s.all != nil && ctx.Err() == nil {
		err = s.trial.lab.Keep(s.trial.N, s.all)
	}
	s.file.Close()
	os.Remove(s.file.Name())
	return err
}
