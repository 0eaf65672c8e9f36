package program_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/load/program"
	"github.com/dynolab/dyno/internal/load/schedule"
	"github.com/dynolab/dyno/internal/load/turn"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/load/client"
)

// The test binary is the load's program, too: its first argument says what kind.
func TestMain(m *testing.M) {
	guard.Main()
	if os.Getenv(frames.Socket) != "" {
		play(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

func play(kind string) {
	switch kind {
	case "ends":
		fmt.Fprintln(os.Stderr, "no such table")
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "lies":
		impostor(func(conn net.Conn) {
			conn.Write(frames.JSON(frames.KindHello, frames.Hello{Version: 99}))
			io.Copy(io.Discard, conn)
		})
	case "garbage":
		impostor(func(conn net.Conn) {
			conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			io.Copy(io.Discard, conn)
		})
	case "hangs":
		impostor(func(conn net.Conn) {
			k, text, _ := frames.Read(conn, nil)
			conn.Write(frames.Bytes(k, text...))
			io.Copy(io.Discard, conn)
		})
	}
	client.Main(func(_ context.Context, t client.Target) (client.Client, error) {
		if kind == "cannot open" && t.Client == 1 {
			return nil, errors.New("no route")
		}
		return &tester{kind: kind, target: t}, nil
	})
	if kind == "stays" {
		time.Sleep(time.Hour)
	}
}

// impostor speaks for itself.
func impostor(speak func(net.Conn)) {
	l, err := net.Listen("unix", os.Getenv(frames.Socket))
	if err != nil {
		panic(err)
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	speak(conn)
	os.Exit(0)
}

// A tester's client is of a kind.
type tester struct {
	kind   string
	target client.Target
	tokens sync.WaitGroup
	used   bool
}

// kinds are those of other files.
var kinds = map[string]func(context.Context, *client.Request) error{}

func (c *tester) Do(ctx context.Context, r *client.Request) error {
	if do := kinds[c.kind]; do != nil {
		return do(ctx, r)
	}
	switch c.kind {
	case "steps":
		r.Step("get")
		time.Sleep(2 * time.Millisecond)
		r.Mark("first message")
		r.Received, r.Messages = 100, 3
		r.Step("put")
		r.Sent = 7
		if r.N%4 == 3 {
			return client.Kind("refused by the service", fmt.Errorf("no %d", r.N))
		}
	case "async":
		tok := r.Async()
		if r.N%5 == 4 {
			return nil // never done
		}
		c.tokens.Go(func() { time.Sleep(20 * time.Millisecond); tok.Done(nil); tok.Done(errors.New("twice")) })
		if r.N%5 == 3 {
			tok.Done(errors.New("early")) // before Do returns
		}
	case "early":
		if r.N > 0 {
			return errors.New("cannot")
		}
		r.Step("get")
	case "later":
		tok := r.Async()
		time.AfterFunc(20*time.Millisecond, func() { tok.Done(nil) })
		time.Sleep(5 * time.Millisecond)
	case "panics":
		panic("oops")
	case "ignores":
		time.Sleep(time.Hour)
	case "obeys":
		<-ctx.Done()
		return ctx.Err()
	case "slow":
		time.Sleep(5 * time.Millisecond)
	case "nameless":
		return client.Kind("", errors.New(""))
	case "late step":
		r.Async()
		r.Step("more")
	case "breaks":
		if c.used {
			return errors.New("a broken client is used")
		}
		c.used = true
		return client.Broken(errors.New("reset by peer"))
	case "fails":
		return errors.New("cannot")
	case "dies":
		os.Exit(4)
	}
	return nil
}

func (c *tester) Close() error {
	c.tokens.Wait()
	if c.kind == "cannot close" {
		return errors.New("not empty")
	}
	return nil
}

func run(t *testing.T, ctx context.Context, kind string, l dyno.Load, o load.Options) (*load.Record, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.Program, l.Args = exe, []string{kind}
	return load.Run(ctx, "http://127.0.0.1:1", l, nil, o)
}

const second = dyno.Duration(time.Second)

func all() *dyno.Fraction { f := dyno.Fraction(1); return &f }

func TestClosed(t *testing.T) {
	rec, err := run(t, t.Context(), "steps", dyno.Load{Concurrency: 4, RequestsPerClient: 20, Warmup: second / 10, MaxFailures: all()}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Engine != "program" || rec.Requests != 160 || rec.Window != 160 || rec.BytesIn != 8000 || rec.BytesOut != 560 || rec.Messages != 240 {
		t.Errorf("engine %s, %d requests, %d in the window, %d B in, %d B out, %d messages", rec.Engine, rec.Requests, rec.Window, rec.BytesIn, rec.BytesOut, rec.Messages)
	}
	labels := map[string]int64{}
	for _, s := range rec.Steps {
		labels[s.Label] = s.Requests
	}
	if len(labels) != 3 || labels["get"] != 80 || labels["put"] != 80 || labels["first message"] != 80 {
		t.Errorf("steps %v", labels)
	}
	if rec.Failed != 20 || rec.Failures["refused by the service"] != 20 || !strings.HasPrefix(rec.Examples["refused by the service"], "no ") {
		t.Errorf("%d failed: %v, such as %v", rec.Failed, rec.Failures, rec.Examples)
	}
	if p := rec.Steps[0].Latency.Quantile(0); p < 2*time.Millisecond {
		t.Errorf("the first step took %v, less than it sleeps", p)
	}
	rec, err = run(t, t.Context(), "slow", dyno.Load{Concurrency: 3, Requests: 50}, load.Options{})
	if err != nil || rec.Requests != 50 {
		t.Errorf("%d requests, want 50, %v", rec.Requests, err)
	}
	rec, err = run(t, t.Context(), "slow", dyno.Load{Concurrency: 3, Duration: second / 2}, load.Options{})
	if err != nil || rec.Requests == 0 || rec.Played < time.Second/2 {
		t.Errorf("%d requests in %v, %v", rec.Requests, rec.Played, err)
	}
}

// The program gets the due times that the schedule has, to the nanosecond, and of several generators
// each has its part.
func TestDueTimes(t *testing.T) {
	for _, arrival := range []string{"constant", "poisson"} {
		l := dyno.Load{Rate: dyno.PerSecond(300), Duration: second, Arrival: arrival, Seed: 3, Warmup: second / 10}
		next := schedule.Constant(l.Rate)
		if arrival == "poisson" {
			next = schedule.Poisson(l.Rate, l.Seed, 0)
		}
		var want, got []time.Duration
		for at, ok := next(); ok && at < time.Second; at, ok = next() {
			want = append(want, at)
		}
		for part := range 2 {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			rec, err := run(t, t.Context(), "echo", l, load.Options{Scratch: f, Part: load.Part{Index: part, Of: 2, First: part * 256}})
			if err != nil {
				t.Fatal(err)
			}
			for q, err := range rec.Kept {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, q.Due)
				if q.Sent < q.Due || q.Done < q.Sent || q.Step != frames.OneStep || q.Client/256 != part {
					t.Fatalf("request %+v of part %d", q, part)
				}
			}
			if rec.Unsent != 0 {
				t.Errorf("%d not sent", rec.Unsent)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %d due times, want the %d of the schedule", arrival, len(got), len(want))
		}
	}
}

func TestAsync(t *testing.T) {
	rec, err := run(t, t.Context(), "async", dyno.Load{Rate: dyno.PerSecond(100), Duration: second, Concurrency: 1, Timeout: second, MaxFailures: all()}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Requests != 100 || rec.Failures["timeout"] != 20 || rec.Failures["early"] != 20 || rec.Failed != 40 || rec.Slow != 20 {
		t.Errorf("%d requests, failures %v, %d slow", rec.Requests, rec.Failures, rec.Slow)
	}
	// One client sends all of them in time, although each takes longer than the time between two.
	if rec.Latency.Count() != 60 || rec.Latency.Quantile(0) < 20*time.Millisecond {
		t.Errorf("%d succeeded, the fastest in %v", rec.Latency.Count(), rec.Latency.Quantile(0))
	}
}

// A broken client is replaced.
func TestBroken(t *testing.T) {
	rec, err := run(t, t.Context(), "breaks", dyno.Load{Concurrency: 1, Requests: 20, MaxFailures: all()}, load.Options{})
	if err != nil || rec.Failures["reset by peer"] != 20 {
		t.Errorf("failures %v, %v", rec.Failures, err)
	}
}

// What a client cannot keep up with waits, and is counted.
func TestUnsent(t *testing.T) {
	rec, err := run(t, t.Context(), "slow", dyno.Load{Rate: dyno.PerSecond(2000), Requests: 2000, Concurrency: 1, Timeout: second, MaxFailures: all()}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Unsent == 0 || rec.Requests+rec.Unsent != 2000 || rec.Waited < rec.Requests/2 {
		t.Errorf("%d sent, %d not, %d waited", rec.Requests, rec.Unsent, rec.Waited)
	}
}

// While the turn is shut nothing begins, and it is no time of the load. A turn waits for the ends of
// asynchronous requests, too.
func TestTurns(t *testing.T) {
	for _, kind := range []string{"slow", "later"} {
		t.Run(kind, func(t *testing.T) { testTurns(t, kind) })
	}
}

func testTurns(t *testing.T, kind string) {
	gate := turn.New()
	meter := new(load.Meter)
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type span struct{ from, to time.Time }
	var spans []span
	done := make(chan struct{})
	var turning sync.WaitGroup
	turning.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(30 * time.Millisecond):
			}
			from := time.Now()
			gate.Open()
			time.Sleep(30 * time.Millisecond)
			gate.Shut(t.Context())
			spans = append(spans, span{from, time.Now()})
		}
	})
	rec, err := run(t, t.Context(), kind, dyno.Load{Concurrency: 2, Duration: second / 2}, load.Options{Turn: gate, Meter: meter, Scratch: f,
		Begin: func(context.Context) error { return nil }, End: func() {}})
	close(done)
	turning.Wait()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for q, err := range rec.Kept {
		if err != nil {
			t.Fatal(err)
		}
		n++
		sent, over := rec.Start.Add(q.Sent), rec.Start.Add(q.Done)
		if !slices.ContainsFunc(spans, func(s span) bool { return !sent.Before(s.from) && !over.After(s.to) }) {
			t.Fatalf("a request from %v to %v is in no turn", q.Sent, q.Done)
		}
	}
	var shut time.Duration // at least: its turn was over, or had not begun
	end := rec.Start.Add(rec.Elapsed)
	for i, s := range spans {
		since := rec.Start
		if i > 0 && spans[i-1].to.After(since) {
			since = spans[i-1].to
		}
		if till := min(s.from.Sub(since), end.Sub(since)); till > 0 {
			shut += till
		}
	}
	if n == 0 || shut == 0 || rec.Played < time.Second/2 || rec.Played > rec.Elapsed-shut/2 { // half: both ends are some milliseconds apart
		t.Errorf("%d requests, %v of its own time in %v, %v of which it was shut", n, rec.Played, rec.Elapsed, shut)
	}
}

func TestFaults(t *testing.T) {
	closed := dyno.Load{Concurrency: 2, Requests: 100, Timeout: second / 5}
	for _, c := range []struct {
		kind string
		load dyno.Load
		want string
	}{
		{"ends", closed, "it ended (exit status 3); its last lines:\n\tno such table"},
		{"lies", closed, "it speaks version 99 of dyno's protocol"},
		{"garbage", closed, "it does not greet as a load does"},
		{"cannot open", closed, "open client 1: no route"},
		{"nameless", closed, "most often other"},
		{"late step", closed, "Do panics: load/client: Step after Async"},
		{"panics", closed, "Do panics: oops"},
		{"ignores", closed, "its call has not returned 5s after the time limit of 200ms"},
		{"dies", closed, "it ended (exit status 4)"},
		{"dies", dyno.Load{Rate: dyno.PerSecond(100_000), Duration: 60 * second}, "it ended (exit status 4)"}, // with due times unread
		{"fails", closed, "100 of 100 requests failed (100 %), more than the 1% that max_failures allows: most often cannot, such as cannot"},
		{"obeys", closed, "most often timeout"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel() // most of them wait
			_, err := run(t, t.Context(), c.kind, c.load, load.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A client that does not close says nothing against what was measured.
func TestUnclosed(t *testing.T) {
	rec, err := run(t, t.Context(), "cannot close", dyno.Load{Concurrency: 2, Requests: 100}, load.Options{})
	if err != nil || rec.Requests != 100 || !strings.Contains(strings.Join(rec.Warnings.Texts(), ""), "close client 0: not empty") {
		t.Errorf("%+v, %v", rec, err)
	}
}

// A request that fails before it names a step is of the step that others name first.
func TestEarlyFailure(t *testing.T) {
	rec, err := run(t, t.Context(), "early", dyno.Load{Concurrency: 1, Requests: 10, MaxFailures: all()}, load.Options{})
	if err != nil || rec.Requests != 10 || rec.Failed != 9 || len(rec.Steps) > 0 && (len(rec.Steps) != 1 || rec.Steps[0].Label != "get") {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestPatience(t *testing.T) {
	program.Impatient(t)
	for kind, want := range map[string]string{
		"hangs":  "it has said nothing for 1s",
		"silent": "it has not called client.Main within 1s",
		"stays":  "it has not ended 1s after its clients",
	} {
		_, err := run(t, t.Context(), kind, dyno.Load{Concurrency: 1, Requests: 10}, load.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", kind, err, want)
		}
	}
}

// When the run ends early, what is under way is cancelled and does not count.
func TestInterrupted(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(stop) })
	rec, err := run(t, ctx, "obeys", dyno.Load{Rate: dyno.PerSecond(50), Duration: 60 * second}, load.Options{})
	if err != stop || rec == nil || rec.Requests != 0 || rec.Failed != 0 || rec.Unsent < 0 || rec.Unsent > 10 {
		t.Errorf("%+v, %v", rec, err)
	}
}
