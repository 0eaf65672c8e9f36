//go:build linux

// Track shows what dyno track finds in a generated history: which of the planted changes, how late, and what beside them. README.md has the
// commands.
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/history"
	"github.com/dynolab/dyno/eval/internal/program"
)

type options struct {
	commits, real int
	none          bool
	seed          uint64
	dyno, keep    string
}

func main() {
	var o options
	flag.IntVar(&o.commits, "commits", 300, "of the repository")
	flag.IntVar(&o.real, "real", 60, "commits that are really measured; the others are drawn from their blocks")
	flag.BoolVar(&o.none, "none", false, "plant no change")
	flag.Uint64Var(&o.seed, "seed", 1, "of the places, and of what is drawn")
	flag.StringVar(&o.dyno, "dyno", "", "use this `program` (default: build it)")
	flag.StringVar(&o.keep, "keep", "", "keep the repository, the lines and all runs in this `dir`ectory")
	flag.Parse()
	program.Main("eval/track", func(ctx context.Context) error { return run(ctx, o) })
}

// A study is one history while it is measured.
type study struct {
	options
	rng *rand.Rand
	dir string
	history.History
	planted  []change
	ids      []string // of commits
	machine  machine
	points   []point   // really measured
	raw      []float64 // CPU seconds per request of each commit, as a store of plain figures has it
	alarms   []alarm
	base     map[string]float64 // values of the anchor, by metric
	took     []time.Duration
	done     int // commits after the anchor
	began    time.Time
	reported map[string]bool // alarms
	kept     lines           // of an earlier session
}

func run(ctx context.Context, o options) error {
	dir := o.keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "dyno-track-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	var err error
	if o.dyno, err = program.Dyno(ctx, o.dyno, dir); err != nil {
		return err
	}
	s := &study{options: o, rng: rand.New(rand.NewPCG(o.seed, 44)), dir: dir, began: time.Now(), base: map[string]float64{}, reported: map[string]bool{}}
	s.plant()
	repo := filepath.Join(dir, "repo")
	if _, err := os.Stat(repo); err != nil {
		_, err = s.Make(repo)
		if err != nil {
			return err
		}
	} else if s.kept, err = readLines(filepath.Join(dir, "lines")); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "git", "-C", repo, "log", "--reverse", "--format=%H").Output()
	if err != nil {
		return err
	}
	s.ids = strings.Fields(string(out))
	defer s.machine.quiet()
	if s.kept.points != nil {
		fmt.Printf("going on after commit %d\n", len(s.kept.points))
	} else if _, err := s.track(ctx, "init", "./cmd/server", "--anchor", s.ids[0], "--path", "/"); err != nil {
		return err
	}
	real := s.chosen()
	s.raw = make([]float64, o.commits)
	for i := 1; i < o.commits; i++ {
		if err := s.step(ctx, i, real[i]); err != nil {
			if ctx.Err() == nil || len(s.took) == 0 {
				return err
			}
			fmt.Printf("ended before commit %d\n", i)
			break
		}
		s.done++
	}
	s.report()
	return nil
}

// chosen are the commits that are really measured: the first ones, which the others are drawn from, and some at random.
func (s *study) chosen() map[int]bool {
	real := map[int]bool{}
	for i := 1; i <= min(20, s.real) && i < s.commits; i++ {
		real[i] = true
	}
	for len(real) < min(s.real, s.commits-1) {
		real[1+s.rng.IntN(s.commits-1)] = true
	}
	return real
}

// step measures or draws a commit, and lets dyno look at what may have changed.
func (s *study) step(ctx context.Context, i int, real bool) error {
	s.machine.session(s.rng)
	if real {
		run := filepath.Join(s.dir, fmt.Sprintf("add%d", i))
		if !s.kept.has(s.ids[i]) {
			os.RemoveAll(run) // cut off
			if _, err := s.track(ctx, "add", s.ids[i], "--out", run); err != nil {
				return err
			}
		}
		if err := s.learn(i, run); err != nil {
			return err
		}
	} else if err := s.draw(i); err != nil {
		return err
	}
	if s.kept.has(s.ids[i]) && i < len(s.kept.points) { // was checked
		return nil
	}
	out, err := s.track(ctx, "check", s.ids[i], "--no-bisect", "--json")
	if err != nil {
		return err
	}
	var d struct{ Changes []alarm }
	if err := json.Unmarshal(out, &d); err != nil {
		return err
	}
	for _, a := range d.Changes {
		if key := a.Metric + a.From + a.To; !s.reported[key] {
			s.reported[key], a.by = true, s.kept.told(&a, i)
			s.alarms = append(s.alarms, a)
			fmt.Printf("commit %d: %s %s from %d to %d: %+.1f%%, truly %+.1f%%\n", i, a.Shape, a.Metric, s.index(a.From), s.index(a.To), 100*(a.Ratio-1), 100*math.Expm1(s.truth(&a)))
		}
	}
	return nil
}

// track runs dyno track in the repository, under the session's conditions.
func (s *study) track(ctx context.Context, args ...string) ([]byte, error) {
	argv := append([]string{s.dyno, "track"}, args...)
	argv = append(argv, "--store", filepath.Join(s.dir, "lines"))
	if s.machine.one {
		argv = append([]string{"taskset", "-c", "0"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(s.dir, "repo")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dyno track %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

func (s *study) index(commit string) int { return slices.Index(s.ids, commit) }

// A machine is what else runs beside a session.
type machine struct {
	one  bool // CPU
	stop func()
}

// session may be a new one: a third of sessions are slowed by a fifth, and half have one CPU.
func (m *machine) session(rng *rand.Rand) {
	if rng.IntN(3) > 0 {
		return
	}
	m.quiet()
	m.one = rng.IntN(2) == 0
	if rng.IntN(3) > 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for ctx.Err() == nil {
				for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
				}
				time.Sleep(80 * time.Millisecond)
			}
		})
	}
	m.stop = func() { cancel(); wg.Wait() }
}

func (m *machine) quiet() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
}

// learn keeps what a real run found: the blocks of its point, and raw figures.
func (s *study) learn(i int, run string) error {
	l, err := readLines(filepath.Join(s.dir, "lines"))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(l.points, func(p point) bool { return p.Commit == s.ids[i] })
	if at < 0 {
		return fmt.Errorf("dyno track add left no line of commit %d", i)
	}
	p := l.points[at]
	s.took = append(s.took, time.Duration(p.Took*float64(time.Second)))
	values, err := rawValues(filepath.Join(run, "blocks", "results.jsonl"), s.ids[i][:12])
	if err != nil { // equal programs are not measured
		s.raw[i] = s.raw[max(1, i-1)]
		return nil
	}
	s.raw[i] = values["cpu-sec/req"]
	s.points = append(s.points, p)
	if len(s.base) == 0 {
		for metric, x := range values {
			s.base[metric] = x
		}
	}
	return nil
}
