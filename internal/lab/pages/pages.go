// Package pages takes profiles and execution traces of a service that runs already from its page of net/http/pprof.
package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/probe/profiles"
)

// A Service has a page of net/http/pprof. What is taken from it becomes files in Dir.
type Service struct {
	Pprof    string // its URL
	Insecure bool   // its certificate is not verified
	Dir      string
}

// Profiles takes profiles, each into a file of its name and of the moment.
func (s Service) Profiles(names []string, moment string) error {
	for _, name := range names {
		data, err := profiles.TakeProfile(s.Pprof, name, s.Insecure)
		if err != nil {
			return fmt.Errorf("%s the watch: %w", moment, err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, name+"-"+moment+".pb.gz"), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Traces are execution traces of some length, one every so often: the service bears their cost for that share of the time.
type Traces struct{ Length, Every time.Duration }

// mostTraces are kept: the last.
const mostTraces = 20

// Traces takes execution traces into trace-1.out and so on, until ctx ends, and ends with the one under way. The error says
// how many could not be taken, as while somebody else took one.
func (s Service) Traces(ctx context.Context, t Traces) error {
	file := func(n int) string { return filepath.Join(s.Dir, fmt.Sprintf("trace-%d.out", n)) }
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	failed := 0
	var last error
	for n := 1; ; n++ {
		if err := s.trace(file(n), t.Length); err != nil {
			failed, last = failed+1, err
			os.Remove(file(n)) // if there is one
		}
		if n > mostTraces {
			os.Remove(file(n - mostTraces)) // if there is one
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d execution traces could not be taken, the last: %w", failed, n, last)
		}
		return nil
	}
}

// trace takes one, with the samples of a CPU profile in it if no other is being taken: only they tell on which line a
// goroutine runs.
func (s Service) trace(file string, length time.Duration) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	var sampling sync.WaitGroup
	sampling.Go(func() { profiles.Sample(s.Pprof, length, s.Insecure) })
	err = profiles.TakeTrace(s.Pprof, length, s.Insecure, f)
	sampling.Wait()
	return errors.Join(err, f.Close())
}
