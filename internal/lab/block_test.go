package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/plan/how"
)

// ran is what a run told.
type ran struct {
	results []*dyno.Result
	alone   []string
	ended   dyno.Ended
	err     error
}

func (f *fake) run(ctx context.Context, e *dyno.Experiment) (r ran) {
	f.lab.Alone = func(why string) { r.alone = append(r.alone, why) }
	f.lab.Over = func(ended dyno.Ended) { r.ended = ended }
	r.err = f.lab.Run(ctx, e, func(res *dyno.Result) error {
		r.results = append(r.results, res)
		return nil
	})
	return r
}

func besideExperiment(repeats int) *dyno.Experiment {
	e := experiment(repeats)
	e.Alone = false
	e.Load.Idle = 0
	return e
}

// most is the greatest number of subjects that were alive at the same time, after all
// starts that are counted.
func (f *fake) most() (n int) {
	alive := 0
	for _, line := range f.log {
		switch {
		case strings.HasPrefix(line, "start"):
			alive++
		case strings.HasPrefix(line, "stop"):
			alive--
		}
		n = max(n, alive)
	}
	return n
}

// The subjects of a block are launched one after the other, live together, and give a
// result each; nothing of one block is alive in the next.
func TestBlockSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := f.run(t.Context(), besideExperiment(3))
		if r.err != nil || len(r.results) != 6 || r.alone != nil || f.most() != 2 {
			t.Fatalf("%v, %d results, alone %q, %d alive", r.err, len(r.results), r.alone, f.most())
		}
		for i := range 3 {
			part := f.log[i*len(f.log)/3 : (i+1)*len(f.log)/3]
			want := []string{fmt.Sprintf("start %d", 2*i+1), fmt.Sprintf("start %d", 2*i+2)}
			if !slices.Equal(part[:2], want) || !strings.HasPrefix(part[len(part)-1], "stop") {
				t.Errorf("block %d: %q", i+1, part)
			}
		}
		for _, res := range r.results {
			if res.Err != "" || res.Turns == 0 {
				t.Errorf("trial %d: error %q, %d turns", res.Trial.N, res.Err, res.Turns)
			}
		}
	})
}

// A second instance that does not start beside the first, and does alone, makes the run go
// on alone, and says why once. Nothing is lost of the block in which it was found.
func TestBlockNotBeside(t *testing.T) {
	for name, know := range map[string]bool{"as Start says": true, "as trying shows": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				files := t.TempDir()
				f.lab.Dir = func(n int) (string, error) {
					dir := filepath.Join(files, strconv.Itoa(n))
					return dir, os.MkdirAll(dir, 0o777)
				}
				var left []int // directories of trials, as each starts
				start, up := f.lab.Start, 0
				f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
					dirs, err := os.ReadDir(files)
					if left = append(left, len(dirs)); err != nil {
						return nil, err
					}
					if up > 0 {
						return nil, errors.New("exit status 1\n| listen tcp :8080: address already in use")
					}
					running, err := start(ctx, tr, dir, patience)
					up++
					stop := running.Stop
					running.Stop = func() error { up--; return stop() }
					return running, err
				}
				want := "GOGC=50 fails beside the others but not alone: exit status 1 (consider: {{.Addr}} and {{.Dir}} for shared resources)"
				if know {
					want = "port 8080 (consider: {{.Addr}})"
					f.lab.WhyNotBeside = func(error) string { return want }
				}
				e := besideExperiment(3)
				if e.Trials()[1].Setting.String() != "GOGC=50" {
					e.Seed = new(uint64(1))
				}
				r := f.run(t.Context(), e)
				if r.err != nil || len(r.alone) != 1 || len(r.results) != 6 {
					t.Fatalf("%v, %d results, alone %q", r.err, len(r.results), r.alone)
				}
				// Two that are tried side by side, and then one more each time: nothing is left of the attempt.
				if !slices.Equal(left[2:], []int{1, 2, 3, 4, 5, 6}) {
					t.Errorf("as trials start there are %v directories", left)
				}
				if second := e.Trials()[1].Setting.String(); r.alone[0] != strings.Replace(want, "GOGC=50", second, 1) {
					t.Errorf("said %q", r.alone[0])
				}
				for _, res := range r.results {
					if res.Err != "" || res.Turns != 0 {
						t.Errorf("trial %d: error %q, %d turns", res.Trial.N, res.Err, res.Turns)
					}
				}
			})
		})
	}
}

// A setting that does not start at all is not taken for one that has no place beside the others.
func TestBlockBrokenSetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			if tr.Setting.String() == "GOGC=50" {
				return nil, errors.New("exit status 2")
			}
			return start(ctx, tr, dir, patience)
		}
		f.lab.WhyNotBeside = func(error) string { return "perhaps" }
		e := besideExperiment(3)
		e.Factors[0].Levels = []string{"100", "50", "25"}
		r := f.run(t.Context(), e)
		if r.err != nil || r.alone != nil || len(r.results) != 9 || f.most() != 2 {
			t.Fatalf("%v, %d results, alone %q, %d alive", r.err, len(r.results), r.alone, f.most())
		}
		for _, res := range r.results {
			if broken := res.Trial.Setting.String() == "GOGC=50"; (res.Err != "") != broken {
				t.Errorf("%s: error %q", res.Trial.Setting, res.Err)
			}
		}
	})
}

// A run whose first block fails alike in all settings ends, and what nobody was beside is not tried again alone.
func TestAlike(t *testing.T) {
	for name, c := range map[string]struct {
		alone    bool
		fails    func(n int) bool // of launches, from 1
		launches int
		ends     bool
	}{
		"beside":           {false, func(int) bool { return true }, 2, true},
		"alone":            {true, func(int) bool { return true }, 2, true},
		"one setting only": {true, func(n int) bool { return n%2 == 0 }, 6, false},
		"later":            {true, func(n int) bool { return n > 2 }, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				start, launches := f.lab.Start, 0
				f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
					if launches++; c.fails(launches) {
						return nil, fmt.Errorf("port %d: not ready in 30.%ds", 8000+launches, launches)
					}
					return start(ctx, tr, dir, patience)
				}
				e := besideExperiment(3)
				e.Alone = c.alone
				r := f.run(t.Context(), e)
				ends := new(AlikeError)
				if errors.As(r.err, &ends) != c.ends || launches != c.launches || len(r.results) != c.launches {
					t.Errorf("%v after %d launches and %d results", r.err, launches, len(r.results))
				}
			})
		})
	}
}

// A broken setting does not hide that two others have no place beside each other.
func TestBlockBrokenAndConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start, up := f.lab.Start, atomic.Int32{}
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			switch {
			case tr.Setting.String() == "GOGC=50":
				return nil, errors.New("exit status 2")
			case up.Load() > 0:
				return nil, errors.New("port 8080")
			}
			running, err := start(ctx, tr, dir, patience)
			up.Add(1)
			stop := running.Stop
			running.Stop = func() error { up.Add(-1); return stop() }
			return running, err
		}
		f.lab.WhyNotBeside = error.Error
		e := besideExperiment(4)
		e.Factors[0].Levels = []string{"100", "50", "25"}
		r := f.run(t.Context(), e)
		if r.err != nil || len(r.results) != 12 || !slices.Equal(r.alone, []string{"port 8080"}) {
			t.Fatalf("%v, %d results, alone %q", r.err, len(r.results), r.alone)
		}
		for _, res := range r.results {
			if broken := res.Trial.Setting.String() == "GOGC=50"; (res.Err != "") != broken {
				t.Errorf("trial %d, %s: error %q", res.Trial.N, res.Trial.Setting, res.Err)
			}
		}
	})
}

// A setting that takes much longer than the others to get ready gets that time, first or last.
func TestBlockSlowSetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			took := 10 * time.Millisecond
			if tr.Setting.String() == "GOGC=50" {
				took = 15 * time.Second
			}
			if patience > 0 && patience < took {
				time.Sleep(patience)
				return nil, errors.New("not ready in time")
			}
			time.Sleep(took)
			running, err := start(ctx, tr, dir, patience)
			running.Ready = took
			return running, err
		}
		f.lab.WhyNotBeside = error.Error
		r := f.run(t.Context(), besideExperiment(8))
		if r.err != nil || len(r.results) != 16 || r.alone != nil {
			t.Fatalf("%v, %d results, alone %q", r.err, len(r.results), r.alone)
		}
		for _, res := range r.results {
			if res.Err != "" {
				t.Errorf("trial %d: %s", res.Trial.N, res.Err)
			}
		}
	})
}

// A trial that fails before its launch keeps none of the others waiting.
func TestBlockWithoutDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Dir = func(n int) (string, error) {
			if n%2 == 1 {
				return "", errors.New("no space left")
			}
			return "", nil
		}
		r := f.run(t.Context(), besideExperiment(3))
		if r.err != nil || len(r.results) != 6 {
			t.Fatalf("%v, %d results", r.err, len(r.results))
		}
		for _, res := range r.results {
			if failed := res.Trial.N%2 == 1; (res.Err != "") != failed {
				t.Errorf("trial %d: error %q", res.Trial.N, res.Err)
			}
		}
	})
}

// What begins with too little memory for all, or takes it together, goes on alone.
func TestBlockMemory(t *testing.T) {
	const mib = 1 << 20
	t.Run("promised", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.lab.Memory = func() (float64, float64, error) { return 2 << 30, 4 << 30, nil }
			e := besideExperiment(1)
			e.Subject.Env = map[string]string{"GOGC": "off"}
			e.Factors = dyno.Factors{{Name: "GOMEMLIMIT", Levels: []string{"1100MiB", "1200MiB"}}}
			r := f.run(t.Context(), e)
			if r.err != nil || len(r.alone) != 1 || !strings.Contains(r.alone[0], "all heaps together may grow to 2.2 GiB, but there is room for 1.8 GiB") || f.most() != 1 {
				t.Errorf("%v, alone %q, %d alive", r.err, r.alone, f.most())
			}
		})
	})
	t.Run("taken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			up := map[int]time.Time{}
			rss := func(pid int) float64 { // 600 MiB in half a second
				f.mu.Lock()
				defer f.mu.Unlock()
				began, ok := up[pid]
				if !ok {
					return 0
				}
				return min(600, 1200*time.Since(began).Seconds()) * mib
			}
			f.lab.RSS = func(pids ...int) (float64, error) { return rss(pids[0]), nil }
			f.lab.Memory = func() (float64, float64, error) { return 1200*mib - rss(1) - rss(2), 2048 * mib, nil }
			start := f.lab.Start
			f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
				running, err := start(ctx, tr, dir, patience)
				pid := 1 + (tr.N-1)%2
				running.Target.PID = pid
				died := f.alive[tr.N]
				set := func(on bool) {
					f.mu.Lock()
					defer f.mu.Unlock()
					if delete(up, pid); on {
						up[pid] = time.Now()
					}
				}
				set(true)
				running.Kill = func() { set(false); close(died) }
				running.Err = func() error { return nil }
				running.Stop = func() error { set(false); return nil }
				return running, err
			}
			r := f.run(t.Context(), besideExperiment(2))
			if r.err != nil || len(r.alone) != 1 || !strings.HasPrefix(r.alone[0], "there is not enough memory for all at the same time: dyno stopped the subject") {
				t.Errorf("%v, alone %q", r.err, r.alone)
			}
			for _, res := range r.results {
				if res.Err != "" {
					t.Errorf("trial %d: %s", res.Trial.N, res.Err)
				}
			}
		})
	})
}

// A run ends when it has decided, or before a block that would take it beyond its time.
func TestRunEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		within  time.Duration
		decided int // block after which it is
		least   int
		blocks  int
		ended   dyno.Ended
	}{
		{"decided", 0, 4, 6, 4, dyno.EndedDecided},
		{"within", 20 * time.Second, 0, 0, 10, dyno.EndedTime},
		{"within, between blocks", 21 * time.Second, 0, 0, 10, dyno.EndedTime},
		{"by default", 0, 0, 6, 40, ""},
		{"one block at least", time.Second, 0, 0, 1, dyno.EndedTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.lab.Enough = func(block int) bool { return block == c.decided }
				f.lab.Least = c.least
				e := besideExperiment(0)
				e.Within = dyno.Duration(c.within)
				r := f.run(t.Context(), e)
				if r.err != nil || len(r.results) != 2*c.blocks || r.ended != c.ended {
					t.Errorf("%v, %d results, ended %q, want %d blocks, %q", r.err, len(r.results), r.ended, c.blocks, c.ended)
				}
			})
		})
	}
}

// Of a block that is interrupted no result counts, and all subjects are stopped.
func TestBlockInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var partial []int
		f.lab.Interrupted = func(r *dyno.Result) { partial = append(partial, r.Trial.N) }
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // in the second block
		defer cancel()
		r := f.run(ctx, besideExperiment(5))
		starts := slices.DeleteFunc(slices.Clone(f.log), func(s string) bool { return !strings.HasPrefix(s, "start") })
		stops := slices.DeleteFunc(slices.Clone(f.log), func(s string) bool { return !strings.HasPrefix(s, "stop") })
		if !errors.Is(r.err, context.DeadlineExceeded) || len(r.results) != 2 || !slices.Equal(partial, []int{3, 4}) || len(starts) != 4 || len(stops) != 4 {
			t.Errorf("%v, %d results, partial %v, %d starts, %d stops", r.err, len(r.results), partial, len(starts), len(stops))
		}
	})
}

// A block of which a part was measured before is measured anew, all of it.
func TestBlockAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Skip = func(n int) bool { return n <= 3 }
		r := f.run(t.Context(), besideExperiment(3))
		var got []int
		for _, res := range r.results {
			got = append(got, res.Trial.N)
		}
		if !slices.Equal(got, []int{3, 4, 5, 6}) {
			t.Errorf("trials %v", got)
		}
	})
}

// A block that is measured again, and fails, replaces nothing that was done.
func TestBlockAnewFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Skip = func(n int) bool { return n == 3 }
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			if tr.N == 4 {
				return nil, errors.New("exit status 2")
			}
			return start(ctx, tr, dir, patience)
		}
		r := f.run(t.Context(), besideExperiment(2))
		var got []int
		for _, res := range r.results {
			got = append(got, res.Trial.N)
		}
		if !slices.Equal(got, []int{1, 2, 4}) || r.results[2].Err == "" {
			t.Errorf("trials %v", got)
		}
	})
}

// An open load's turns go by the clock: half of the time is a setting's own, also while its
// service does not answer, and none of it is another's.
func TestBlockOfOpenLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		e := besideExperiment(2)
		e.Load.Rate = dyno.PerSecond(100)
		e.Turn = dyno.Duration(20 * time.Millisecond)
		f.lab.Load = func(ctx context.Context, _ string, _ dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
			if err := o.Begin(ctx); err != nil {
				return nil, err
			}
			began := o.Turn.Own()
			time.Sleep(2*time.Millisecond + 50*44*time.Millisecond) // the first gap and 50 rounds
			if own := o.Turn.Own() - began; own != time.Second {
				t.Errorf("%v of 2.2 s are its own, want 1s", own)
			}
			o.End()
			return &load.Record{Sent: dyno.Sent{Requests: 100}, Rate: 100}, nil
		}
		r := f.run(t.Context(), e)
		if r.err != nil || len(r.results) != 4 || r.alone != nil {
			t.Fatalf("%v, %d results, alone %q", r.err, len(r.results), r.alone)
		}
		for _, res := range r.results {
			if res.Err != "" || res.Turns < 50 || res.Turns > 51 { // the next begins just now
				t.Errorf("trial %d: error %q, %d turns", res.Trial.N, res.Err, res.Turns)
			}
		}
	})
}

// A short load has the short turns that the plan is said to have.
func TestBlockOfShortLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		e := besideExperiment(1)
		e.Load = dyno.Load{Rate: dyno.PerSecond(100), Duration: dyno.Duration(1500 * time.Millisecond)}
		f.lab.Load = func(ctx context.Context, _ string, _ dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
			if err := o.Begin(ctx); err != nil {
				return nil, err
			}
			time.Sleep(15 * 220 * time.Millisecond) // turns of 100 ms, with gaps of 10 ms
			o.End()
			return &load.Record{Sent: dyno.Sent{Requests: 100}, Rate: 100}, nil
		}
		r := f.run(t.Context(), e)
		for _, res := range r.results {
			if res.Err != "" || res.Turns < 15 || res.Turns > 16 {
				t.Errorf("trial %d: error %q, %d turns", res.Trial.N, res.Err, res.Turns)
			}
		}
		if said := how.Turns(e); r.err != nil || len(r.results) != 2 || !strings.Contains(said, "100ms") {
			t.Errorf("%v, %d results; it is said: %s", r.err, len(r.results), said)
		}
	})
}

// So is one that then turns out to have no place side by side.
func TestBlockAnewAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		done := map[int]bool{1: true, 2: true, 3: true, 5: true} // side by side, by a process before
		f.lab.Skip = func(n int) bool { return done[n] }
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			if patience > 0 {
				return nil, errors.New("a port is taken")
			}
			running, err := start(ctx, tr, dir, patience)
			running.Ready = time.Second
			return running, err
		}
		f.lab.WhyNotBeside = error.Error
		alone := 0
		f.lab.Alone = func(string) { clear(done); alone++ } // as the store does
		var got []int
		err := f.lab.Run(t.Context(), besideExperiment(3), func(r *dyno.Result) error { got = append(got, r.Trial.N); return nil })
		if err != nil || !slices.Equal(got, []int{3, 4, 1, 2, 5, 6}) || alone != 1 {
			t.Errorf("%v, trials %v, alone %d times", err, got, alone)
		}
	})
}

// So is a resumed run in whose quiet moment a setting works.
func TestBlockAnewBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		epoch := time.Now()
		done := map[int]bool{1: true, 2: true, 3: true, 4: true}
		f.lab.Skip = func(n int) bool { return done[n] }
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			running, err := start(ctx, tr, dir, patience)
			running.Target.PID = tr.N
			return running, err
		}
		f.lab.CPU = func(pid int) (float64, error) { return float64(1-pid%2) / 2 * time.Since(epoch).Seconds(), nil }
		f.lab.Alone = func(string) { clear(done) }
		var got []int
		err := f.lab.Run(t.Context(), besideExperiment(3), func(r *dyno.Result) error { got = append(got, r.Trial.N); return nil })
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%v, trials %v", err, got)
		}
	})
}

// Where no directory says what is done, a block that was measured alone as the run went alone counts once.
func TestBlockAloneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		left := 2e9
		f.lab.Memory = func() (float64, float64, error) { return left, 4 << 30, nil }
		e := besideExperiment(3)
		e.Subject.Env = map[string]string{"GOGC": "off"}
		e.Factors = dyno.Factors{{Name: "GOMEMLIMIT", Levels: []string{"500MiB", "600MiB"}}}
		var results []*dyno.Result
		f.lab.Alone = func(string) { results = slices.DeleteFunc(results, (*dyno.Result).Beside) }
		err := f.lab.Run(t.Context(), e, func(r *dyno.Result) error {
			if results = append(results, r); len(results) == 2 {
				left = 1.2e9 // short from the second block on
			}
			return nil
		})
		var got []int
		for _, r := range results {
			got = append(got, r.Trial.N)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%v, trials %v", err, got)
		}
	})
}

// A block that does not come to its quiet moment leaves it to the next.
func TestBlockQuietLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		epoch := time.Now()
		f.lab.CPU = func(int) (float64, error) { return 0.002 * time.Since(epoch).Seconds(), nil }
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			took := 100 * time.Millisecond
			if tr.N == 2 {
				took = 10 * time.Second
			}
			if patience > 0 && took > patience {
				return nil, errors.New("it did not get ready")
			}
			running, err := start(ctx, tr, dir, patience)
			running.Ready, running.Target.PID = took, tr.N
			return running, err
		}
		f.lab.WhyNotBeside = error.Error
		f.lab.Load = slowLoad(6 * time.Second)
		if r := f.run(t.Context(), besideExperiment(3)); r.err != nil || r.alone != nil || len(r.results) != 6 {
			t.Errorf("%v, %d results, alone %q", r.err, len(r.results), r.alone)
		}
	})
}

// A subject that works half of the time while it rests, from the second block on, so a good quarter so far: all blocks are measured anew, one trial after
// the other.
func TestBlockBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		epoch := time.Now()
		launched := map[int]*dyno.Trial{}
		var mu sync.Mutex
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			running, err := start(ctx, tr, dir, patience)
			mu.Lock()
			defer mu.Unlock()
			running.Target.PID, launched[tr.N] = tr.N, tr
			return running, err
		}
		f.lab.CPU = func(pid int) (float64, error) {
			mu.Lock()
			defer mu.Unlock()
			if tr := launched[pid]; tr.Block > 1 && tr.Setting.String() == "GOGC=50" {
				return 0.5 * time.Since(epoch).Seconds(), nil
			}
			return 0, nil
		}
		f.lab.Load = slowLoad(6 * time.Second)
		r := f.run(t.Context(), besideExperiment(3))
		var turns []bool
		var ns []int
		for _, res := range r.results {
			turns, ns = append(turns, res.Turns > 0), append(ns, res.Trial.N)
		}
		if r.err != nil || !slices.Equal(ns[min(2, len(ns)):], []int{1, 2, 3, 4, 5, 6}) || !slices.Equal(turns, []bool{true, true, false, false, false, false, false, false}) {
			t.Errorf("%v, trials %v, in turns %v", r.err, ns, turns)
		}
		if len(r.alone) != 1 || !strings.HasPrefix(r.alone[0], "GOGC=50 uses 26 % of a CPU without any request") {
			t.Errorf("alone: %q", r.alone)
		}
	})
}

// slowLoad is the load of a fake whose window is so long.
func slowLoad(length time.Duration) func(context.Context, string, dyno.Load, map[string]string, load.Options) (*load.Record, error) {
	return func(ctx context.Context, _ string, _ dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
		if err := o.Begin(ctx); err != nil {
			return nil, err
		}
		time.Sleep(length)
		o.End()
		return &load.Record{Sent: dyno.Sent{Requests: 4}, Window: 4, Elapsed: length, Rate: 1, Latency: hist.New()}, nil
	}
}
