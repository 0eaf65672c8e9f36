package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
)

// TestProgressLine: the line says how far a trial is, in the words of its load.
func TestProgressLine(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		load         dyno.Load
		phase        string
		total        int
		done, failed int64
		after        time.Duration
		want         string
	}{
		{"a duration", dyno.Load{Duration: dyno.Duration(30 * time.Second)}, "measure", 1, 187_700, 3, 12250 * time.Millisecond, "12s of 30s · 15,322 req/s · 3 failed"},
		{"the default duration", dyno.Load{}, "measure", 1, 50, 0, 500 * time.Millisecond, "0s of 10s · 100 req/s"},
		{"the wait for the last", dyno.Load{Duration: dyno.Duration(2 * time.Second)}, "measure", 1, 0, 0, 5 * time.Second, "2s of 2s"},
		{"the length of a rate", dyno.Load{Rate: dyno.Rate{{From: 10, To: 20, Over: dyno.Duration(time.Minute)}}}, "measure", 1, 1000, 0, 59 * time.Second, "59s of 1m0s · 17 req/s"},
		{"requests", dyno.Load{Requests: 20_000}, "measure", 1, 8_299, 0, 2 * time.Second, "41% of 20,000 · 4,150 req/s"},
		{"requests of each client", dyno.Load{RequestsPerClient: 600, Concurrency: 2}, "measure", 1, 1300, 1234, time.Second, "100% of 1,200 · 1,300 req/s · 1,234 failed"},
		{"warm-up", dyno.Load{Warmup: dyno.Duration(3 * time.Second)}, "warmup", 1, 0, 0, time.Second, "warmup 1s of 3s"},
		{"set-up", dyno.Load{}, "setup", 1, 0, 0, time.Second, "setup"},
		{"one of many", dyno.Load{}, "measure", 12, 900, 0, 3 * time.Second, "trial 4/12 · GOGC=50 · measure 3s of 10s · 300 req/s"},
	} {
		var m load.Meter
		p := &Trials{total: c.total, plan: &dyno.Experiment{Repeats: 12}}
		p.start, p.trials = start, []underWay{{&dyno.Trial{N: 4, Load: c.load, Setting: dyno.Setting{{Factor: "GOGC", Value: "50"}}}, &m}}
		m.Enter(c.phase)
		p.line(start)
		m.Done.Store(c.done)
		m.Failed.Store(c.failed)
		if got := p.line(start.Add(c.after)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := (&Trials{}).line(start); got != "" {
		t.Errorf("before the first trial: %q", got)
	}
}

// A stage plays the lab to a progress: trials that begin, work and end, on a clock of its own.
type stage struct {
	*Trials
	out    bytes.Buffer
	trials []dyno.Trial
	meters []*load.Meter
	lines  []string // that were drawn
}

func onStage(e *dyno.Experiment, width, known int) *stage {
	s := &stage{Trials: newTrials(e, known, 3), trials: e.Trials()}
	s.w, s.width = &s.out, width
	return s
}

// begin begins trials by number, all before one of them works.
func (s *stage) begin(ns ...int) {
	s.meters = nil
	for _, n := range ns {
		s.meters = append(s.meters, new(load.Meter))
		s.Trials.Begin(&s.trials[n-1], s.meters[len(s.meters)-1])
	}
	for _, m := range s.meters {
		m.Enter("start")
	}
	s.look(0)
}

// enter lets all trials enter a phase, and looks after a time.
func (s *stage) enter(phase string, after time.Duration) {
	for _, m := range s.meters {
		m.Enter(phase)
	}
	s.line(time.Now())
	s.look(after)
}

func (s *stage) look(after time.Duration) {
	time.Sleep(after)
	s.lines = append(s.lines, narrowed(s.line(time.Now()), max(s.width, 1000*(1-s.width))))
}

func (s *stage) end(errs map[int]string, ns ...int) {
	for _, n := range ns {
		s.Trials.End(&dyno.Result{Trial: s.trials[n-1], Elapsed: 3 * time.Second, Err: errs[n], Sent: dyno.Sent{Requests: 1200}})
	}
}

func (s *stage) want(t *testing.T, lines string) {
	t.Helper()
	if got := strings.Join(s.lines, "\n"); got != strings.TrimSpace(lines) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(lines))
	}
}

func sideBySide(repeats int) *dyno.Experiment {
	return &dyno.Experiment{
		Subject: dyno.Subject{Package: "."}, Repeats: repeats, Seed: new(uint64(1)),
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}},
		Load:    dyno.Load{Warmup: dyno.Duration(time.Second), Duration: dyno.Duration(3 * time.Second)},
		Profile: []string{"cpu"}, ProfileRepeats: 1,
	}
}

// Of a block side by side the line is of all its trials: settings in the order of the plan,
// the phase of the slowest, requests of all. A run that decides itself how many blocks it
// takes says no number of them, and no more than the most time that is left.
func TestProgressBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(sideBySide(0), 80, 0)
		s.begin(2, 1)
		s.meters[0].Enter("warmup")
		s.look(time.Second) // the second is not ready
		s.enter("warmup", 1500*time.Millisecond)
		s.meters[0].Enter("measure")
		s.look(0)
		s.enter("measure", 0)
		s.meters[0].Done.Store(10_000)
		s.meters[1].Done.Store(14_690)
		s.meters[1].Failed.Store(12)
		s.look(2 * time.Second)
		s.enter("teardown", 5500*time.Millisecond)
		s.end(nil, 1, 2) // after 10 s
		s.begin(4, 3)
		s.enter("measure", 4*time.Second)
		s.look(6 * time.Second)
		s.end(nil, 3, 4)
		s.begin(6, 5)
		s.enter("measure", 5*time.Second)
		s.want(t, `
block 1 · GOGC=100, 200 · start
block 1 · GOGC=100, 200 · start
block 1 · GOGC=100, 200 · warmup 1s of 2s
block 1 · GOGC=100, 200 · warmup 1s of 2s
block 1 · GOGC=100, 200 · 0s of 6s
block 1 · GOGC=100, 200 · 2s of 6s · 12,345 req/s · 12 failed
block 1 · GOGC=100, 200 · teardown · 12 failed
block 2 · GOGC=100, 200 · start · at most 2m0s left
block 2 · GOGC=100, 200 · 4s of 6s · at most 1m56s left
block 2 · GOGC=100, 200 · 6s of 6s · at most 1m50s left
block 3 · GOGC=100, 200 · start · at most 1m50s left
block 3 · GOGC=100, 200 · 5s of 6s · at most 1m45s left`)

		// The verdicts are decided: a profile of each setting, alone, is left.
		s.lines = nil
		s.look(5 * time.Second)
		s.end(map[int]string{6: "it died"}, 5, 6)
		s.begin(81)
		s.enter("measure", 2*time.Second)
		s.end(nil, 81)
		s.begin(82)
		first, second := s.trials[80].Setting.String(), s.trials[81].Setting.String()
		s.want(t, strings.NewReplacer("A", first, "B", second).Replace(`
block 3 · GOGC=100, 200 · 6s of 6s · at most 1m40s left
trial 1/2 · A · for profile · start · 10s left
trial 1/2 · A · for profile · measure 2s of 3s · 8s left
trial 2/2 · B · for profile · start · 5s left`))
		if got, want := s.out.String(), "\r\x1b[Kblock 3 "+s.trials[5].Setting.String()+": failed: it died\n"; got != want {
			t.Errorf("left %q, want %q", got, want)
		}
	})
}

// Settings that do not run side by side after all are named one by one, and each trial
// that is over is a line where there is no terminal.
func TestProgressFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := sideBySide(5)
		e.Profile = nil
		s := onStage(e, 0, 0)
		s.begin(1, 2)
		s.look(2 * time.Second)
		for n := 1; n <= 4; n++ { // the second did not start, and so none has ended
			s.begin(n)
			s.enter("measure", 4*time.Second)
			s.end(nil, n)
		}
		one, two, three, four := s.trials[0].Setting.String(), s.trials[1].Setting.String(), s.trials[2].Setting.String(), s.trials[3].Setting.String()
		names := strings.NewReplacer("<A>", one, "<B>", two, "<C>", three, "<D>", four)
		s.want(t, names.Replace(`
block 1/5 · GOGC=100, 200 side by side · start
block 1/5 · GOGC=100, 200 side by side · start
trial 1/10 · <A> · start
trial 1/10 · <A> · measure 3s of 3s
trial 2/10 · <B> · start · 36s left
trial 2/10 · <B> · measure 3s of 3s · 32s left
trial 3/10 · <C> · start · 32s left
trial 3/10 · <C> · measure 3s of 3s · 28s left
trial 4/10 · <D> · start · 28s left
trial 4/10 · <D> · measure 3s of 3s · 24s left`))
		if got, want := s.out.String(), names.Replace("trial 1/10 <A>: 1200 requests in 3s\ntrial 2/10 <B>: 1200 requests in 3s\ntrial 3/10 <C>: 1200 requests in 3s\ntrial 4/10 <D>: 1200 requests in 3s\n"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}

		for _, c := range []struct {
			repeats int
			alone   bool
			want    string
		}{
			{5, false, "block 2/5 A: 1200 requests in 3s\n"},
			{0, false, "block 2 A: 1200 requests in 3s\n"},
			{0, true, "block 2 A: 1200 requests in 3s\n"},
		} {
			e := sideBySide(c.repeats)
			s := onStage(e, 0, 0)
			if s.begin(3, 4); c.alone {
				s.begin(3)
			}
			s.end(nil, 3)
			if got, want := s.out.String(), strings.ReplaceAll(c.want, "A", s.trials[2].Setting.String()); got != want {
				t.Errorf("%+v: got %q, want %q", c, got, want)
			}
		}
	})
}

// The time left is that of whole blocks, however many trials each has, and no more than
// the plan gives.
func TestProgressLeft(t *testing.T) {
	for _, c := range []struct {
		name                   string
		repeats, known, blocks int
		within, block          time.Duration
		want                   string
	}{
		{"all blocks", 6, 0, 2, 0, 10 * time.Second, "35s left"},
		{"gone on with", 6, 4, 2, 0, 10 * time.Second, "15s left"},
		{"its time", 20, 0, 2, time.Minute, 10 * time.Second, "35s left"},
		{"the blocks of the plan come before its time", 4, 0, 2, time.Hour, 10 * time.Second, "15s left"},
		{"the last block within its time", 20, 0, 1, 16 * time.Second, 10 * time.Second, "5s left"},
		{"at most", 0, 0, 2, 0, 10 * time.Second, "at most 1m35s left"},
		{"at most its time", 0, 0, 2, time.Minute, 10 * time.Second, "at most 35s left"},
		{"the fewest blocks that tell anything", 0, 0, 1, 0, time.Minute, "at most 1m55s left"},
		{"the last of 40", 0, 2 * 38, 1, 0, 4 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := sideBySide(c.repeats)
				e.Profile, e.Within = nil, dyno.Duration(c.within)
				s := onStage(e, 0, c.known)
				at := c.known
				for range c.blocks {
					s.begin(at+1, at+2)
					time.Sleep(c.block)
					s.end(nil, at+1, at+2)
					at += 2
				}
				s.begin(at+1, at+2)
				s.look(5 * time.Second)
				got := s.lines[len(s.lines)-1]
				if _, left, _ := strings.Cut(got, " · start"); strings.TrimPrefix(left, " · ") != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// However many settings there are, their names leave room for the figures.
func TestProgressNames(t *testing.T) {
	of := func(levels ...string) (ts []underWay) {
		for _, l := range levels {
			ts = append(ts, underWay{Trial: &dyno.Trial{Setting: dyno.Setting{{Factor: "GOGC", Value: l}}}})
		}
		return ts
	}
	as, is := underWay{Trial: &dyno.Trial{}}, underWay{Trial: &dyno.Trial{Setting: dyno.Setting{{Factor: "rev", Value: "main"}, {Factor: "GOGC", Value: "50"}}}}
	for _, c := range []struct {
		trials []underWay
		room   int
		want   string
	}{
		{of("100", "200"), 26, "GOGC=100, 200 side by side"},
		{of("100", "200"), 25, "GOGC=100, 200"},
		{of("100", "200"), 12, "2 side by side"},
		{of("100", "50", "200", "400", "off"), 16, "5 side by side"},
		{[]underWay{as, is}, 80, "(as is), rev=main GOGC=50 side by side"},
	} {
		if got := together(c.trials, c.room); got != c.want {
			t.Errorf("in %d: %q, want %q", c.room, got, c.want)
		}
	}
}

// TestReadingLine: what takes long says so, and what does not is silent.
func TestReadingLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration]string{time.Second: "", 15 * time.Second: "reading the results, for the report ...\n"} {
			var out bytes.Buffer
			l := Reading(&out)
			time.Sleep(after)
			l.Close()
			time.Sleep(time.Minute)
			if out.String() != want {
				t.Errorf("after %v: %q", after, out.String())
			}
		}
	})
}
