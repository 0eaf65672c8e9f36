// Package foreign lets another load generator put the load on a service: it runs
// the plan's command and reads the summaries of hey, wrk, vegeta, oha and k6. It
// measures nothing; the generator decides what a request and its latency are.
package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/scenario"
)

// A Tool runs a program to its end and returns how it ended, "exit status 0" if
// well: subject.RunTool.
type Tool func(ctx context.Context, argv []string, vars map[string]string, dir string, stdout, stderr io.Writer) (status string, err error)

// Options are arguments of [Run] beside the load.
type Options struct {
	load.Options
	Tool    Tool
	Dir     string    // working directory
	Log     io.Writer // takes all that the command writes, from one goroutine at a time; may be nil
	Summary string    // absolute path of k6's summary; "" asks for it on standard error
}

// engineUnknown is the engine of a record whose output was not understood.
const engineUnknown = "command"

// Run lets l.Command put the load on the service at base and returns what it says
// of itself. The shell runs it in o.Dir with DYNO_URL, DYNO_ADDR, DYNO_HOST and
// DYNO_PORT; its whole run is the measured window.
//
// If its output is not understood, the record has no requests and a warning. When
// ctx ends, the command is killed and Run returns [context.Cause] of ctx alone. If
// the command fails, or too many of its requests do, the error comes with the record.
func Run(ctx context.Context, base string, l dyno.Load, arg map[string]string, o Options) (*load.Record, error) {
	command, err := scenario.ExpandCommand(&l, arg)
	if err != nil {
		return nil, err
	}
	vars, err := addressVars(base)
	if err != nil {
		return nil, err
	}
	maps.Copy(vars, k6Variables(o.Summary))
	if o.Summary != "" { // an interrupted trial may have left one
		if err := os.Remove(o.Summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("load command: remove an old summary: %w", err)
		}
	}
	if o.Begin != nil {
		if err := o.Begin(ctx); err != nil {
			return nil, err
		}
	}
	if o.Meter != nil {
		o.Meter.Enter("measure")
	}
	var mu sync.Mutex
	out, errs := &lastBytes{next: o.Log, mu: &mu}, &lastBytes{next: o.Log, mu: &mu}
	began := time.Now()
	status, err := o.Tool(ctx, shellArgs(command), vars, o.Dir, out, errs)
	took := time.Since(began)
	if o.End != nil {
		o.End()
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, fmt.Errorf("load command: %w", err)
	}
	var file []byte
	if o.Summary != "" {
		if file, err = os.ReadFile(o.Summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("load command: read its summary: %w", err)
		}
	}
	rec := readSummary(file, out.b, errs.b)
	if rec == nil {
		rec = &newSummary(engineUnknown).Record
		rec.Warnings.Add(dyno.WarnCommand, notUnderstood)
	}
	rec.Start = began
	if rec.Elapsed <= 0 {
		rec.Elapsed = took
	}
	rec.Window = rec.Requests
	rec.WarnOfFailures()
	if status != "exit status 0" {
		return rec, commandFailed(status, out, errs)
	}
	return rec, checkFailures(rec, float64(*l.Resolved().MaxFailures))
}

const notUnderstood = "dyno could not read the output of the load command (known: hey, wrk, vegeta report -type=json, " +
	"oha --output-format json, k6 without --summary-export): no latency and no figures per request"

// Check reports a mistake in the template of l.Command as a [*dyno.PlanError].
func Check(l dyno.Load, arg map[string]string) error {
	_, err := scenario.ExpandCommand(&l, arg)
	return err
}

func addressVars(base string) (map[string]string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("load %q: not the address of a service (want for example http://127.0.0.1:8080)", base)
	}
	network, addr := http1.Address(u)
	if network == "unix" {
		return nil, fmt.Errorf("load %q: other load generators are given no unix socket (consider: dyno's own load)", base)
	}
	_, port, _ := net.SplitHostPort(addr)
	return map[string]string{
		"DYNO_URL": u.Scheme + "://" + u.Host, "DYNO_ADDR": addr, "DYNO_HOST": u.Hostname(), "DYNO_PORT": port,
	}, nil
}

func shellArgs(command string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", command}
	}
	return []string{"sh", "-c", command}
}

// outputKept is the number of bytes of output that are searched for a summary.
const outputKept = 64 << 20

type lastBytes struct {
	next io.Writer
	mu   *sync.Mutex // guards next, which two of them share
	b    []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	if len(l.b)+len(p) > outputKept {
		half := l.b[len(l.b)/2:]
		half = half[bytes.IndexByte(half, '\n')+1:]
		l.b = append(l.b[:0], half...)
	}
	l.b = append(l.b, p...)
	if l.next == nil {
		return len(p), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next.Write(p)
}

const (
	errorLines = 10  // of a command's output in an error
	errorWidth = 300 // bytes of such a line
)

func (l *lastBytes) lines() (last []string) {
	for line := range strings.Lines(string(l.b[max(0, len(l.b)-64<<10):])) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			last = append(last, strings.ToValidUTF8(line[:min(len(line), errorWidth)], "?"))
		}
	}
	return last[max(0, len(last)-errorLines):]
}

// commandFailed makes the error of a command that ended so.
func commandFailed(status string, stdout, stderr *lastBytes) error {
	lines := stderr.lines()
	if len(lines) == 0 {
		lines = stdout.lines()
	}
	s := "load command: " + status
	switch len(lines) {
	case 0:
		s += " (it wrote nothing)"
	case 1:
		s += ": " + lines[0]
	}
	s += map[string]string{
		"exit status 127":  " (consider: whether the program is installed, and in PATH)", // POSIX, Shell Command Language, 2.8.2; cmd says 9009, or 1
		"exit status 9009": " (consider: whether the program is installed, and in %PATH%)",
		"exit status 126":  " (consider: whether the program may be executed)",
		// errext/exitcodes of k6: a threshold was crossed
		"exit status 99": " (consider: k6 run --no-thresholds, if k6 ended because its script crossed a threshold)",
	}[status]
	if len(lines) > 1 {
		s += "; its last lines:\n\t" + strings.Join(lines, "\n\t")
	}
	return errors.New(s)
}

// checkFailures returns an error if more requests failed than the load allows.
func checkFailures(rec *load.Record, limit float64) error {
	if rec.Engine == engineUnknown {
		return nil
	}
	if rec.Requests == 0 {
		return errors.New("load command: no request was answered (consider: a longer run)")
	}
	share := float64(rec.Failed) / float64(rec.Requests)
	if share <= limit {
		return nil
	}
	return fmt.Errorf("load command: %d of %d requests failed (%.3g %%), more than the %v allowed: most often %s (consider: the URL in the command, or max_failures)",
		rec.Failed, rec.Requests, 100*share, dyno.Fraction(limit), rec.MostFrequent())
}
