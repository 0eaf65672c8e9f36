package profiles

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
)

// Trace takes an execution trace of the first part of the window.
type Trace struct{}

const (
	traceFile  = "trace.out" // of a trial ForTrace
	traceMagic = "go 1."     // begins every execution trace

	shortGrace = 5 * time.Second // less than remoteGrace: a service that hangs shall not hold up the end of a watch
)

// Watch writes the trace to a file while it is recorded. The injected probe ends it with the
// window; a service's own page cannot, so it is awaited.
func (Trace) Watch(ctx context.Context, t probe.Target) (r probe.Reading, err error) {
	defer func() {
		if err != nil {
			r, err = probe.Reading{}, fmt.Errorf("take an execution trace: %w", err)
		}
	}()
	if err := mayAsk(t); err != nil {
		return r, err
	}
	f, err := t.Create(traceFile)
	if err != nil {
		return r, err
	}
	began, ended := time.Now(), make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() { ended <- time.Now() })
	if t.Pprof != "" {
		err = remoteTrace(t, f)
	} else {
		seconds := strconv.FormatFloat(t.Length.Seconds(), 'f', -1, 64)
		c := &goruntime.Client{Socket: t.Socket}
		err = c.Stream(ctx, "trace "+seconds, t.Length+remoteGrace, t.Begin, f)
	}
	var short bool
	if !stop() { // the window ended first
		short = (<-ended).Sub(began) < t.Length*9/10
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return r, err
	}
	if short {
		r.Warnings.Add(dyno.WarnTraceLength, "the window was shorter than the trace of %v (consider: a longer load)", t.Length)
	}
	<-ctx.Done()
	return r, nil
}

func remoteTrace(t probe.Target, w io.Writer) error {
	from, err := newRemote(t)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := from.awake(); err != nil {
		return err
	}
	t.Begin()
	return from.trace(t.Length, t.Length, w)
}

// TakeTrace asks a service's net/http/pprof for an execution trace of some length.
func TakeTrace(url string, length time.Duration, insecure bool, w io.Writer) error {
	from, err := newRemote(probe.Target{Pprof: url, Insecure: insecure})
	if err != nil {
		return err
	}
	defer from.Close()
	return from.trace(length+shortGrace-remoteGrace, length, w)
}

// Sample asks for a CPU profile of some length, whose samples are in a trace that is taken meanwhile. It does not tell
// whether there was one.
func Sample(url string, length time.Duration, insecure bool) {
	from, err := newRemote(probe.Target{Pprof: url, Insecure: insecure})
	if err != nil {
		return
	}
	defer from.Close()
	from.page("profile", "seconds="+strconv.Itoa(int(math.Ceil(length.Seconds()))), length+shortGrace-remoteGrace, func(body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	})
}

func (r *remote) trace(takes, length time.Duration, w io.Writer) error {
	query := "seconds=" + strconv.FormatFloat(length.Seconds(), 'f', -1, 64)
	return r.page("trace", query, takes, func(body io.Reader) error {
		begins := bufio.NewReaderSize(body, len(traceMagic))
		switch head, err := begins.Peek(len(traceMagic)); {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case string(head) != traceMagic: // of a page that answers whatever it is asked
			return fmt.Errorf("%s gave no execution trace, but data that begins with %q (consider: the path of the service's net/http/pprof)", r.base.JoinPath("trace"), head)
		}
		_, err := io.Copy(w, begins)
		return err
	})
}
