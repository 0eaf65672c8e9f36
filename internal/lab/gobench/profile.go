package gobench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/pattern"
	"github.com/dynolab/dyno/internal/subject"
)

const (
	profileSec     = 1.0 // a benchmark is profiled for so many seconds: 100 samples of the CPU
	profileRepeats = 3   // the spread of profiles of a benchmark in a setting is what a difference is held against
	// This is -test.memprofilerate in bytes: with the usual 512 KiB a second misses lines that
	// allocate little. As it slows the program down, it has a process of its own.
	profileRate = 4096
)

// Profile takes profiles of measured benchmarks (wanted: Package and Name) and gives a result
// ForProfile of each to sink. A trial's directory gets cpu.pb.gz and allocs.pb.gz, of two processes
// with the same iterations: N of its only Benchmark, the first call included. A profile that fails is
// a result with Err.
func (w *Run) Profile(ctx context.Context, wanted []dyno.Benchmark, sink func(*dyno.Result) error) error {
	var chosen []*pairing
	for _, x := range wanted {
		i := slices.IndexFunc(w.pairings, func(p *pairing) bool { return p.pkg == x.Package && p.name == x.Name })
		if i < 0 {
			return fmt.Errorf("profile %s: no such benchmark was measured", x.Name)
		}
		chosen = append(chosen, w.pairings[i])
	}
	if len(chosen) == 0 {
		return nil
	}
	done, total := 0, profileRepeats*len(chosen)*len(w.sides)
	for block := 1; block <= profileRepeats; block++ {
		// Not the random numbers of a block that is compared.
		rng := w.e.Rand(math.MaxUint64 - uint64(block))
		w.step(Step{Phase: "profile", Block: block, Benchmarks: total, Done: done}) // links are part of it
		paths, err := w.layout(ctx, rng, chosen)
		if err != nil {
			return err
		}
		for _, p := range chosen {
			// The same in all settings, so that what is done once weighs the same.
			n := float64(mostN)
			for _, l := range p.in {
				n = min(n, profileSec/(l.sec()+l.grows))
			}
			for _, i := range rng.Perm(len(w.sides)) {
				w.step(Step{Phase: "profile", Block: block, Benchmarks: total, Done: done})
				done++
				r := w.profile(ctx, w.sides[i], p, p.in[i], paths[p.in[i].p], max(1, int64(n)), block)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := sink(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Locate finds the path of a setting's file that -trimpath named by its import path; "" if
// it is in no module of the setting's test packages.
func (w *Run) Locate(setting, file string) string {
	for _, s := range w.sides {
		if s.trial.Setting.String() != setting {
			continue
		}
		for _, p := range s.packages {
			path := inModule(file, p)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return ""
}

func inModule(file string, p *subject.TestPackage) string {
	up, down := strings.Split(p.ImportPath, "/"), strings.Split(path.Clean(file), "/")
	same := 0
	for same < min(len(up), len(down)-1) && up[same] == down[same] {
		same++
	}
	if same == 0 {
		return ""
	}
	return filepath.Join(append([]string{p.Dir, strings.Repeat("../", len(up)-same)}, down[same:]...)...)
}

func (w *Run) profile(ctx context.Context, s *side, p *pairing, l *benchmark, path string, n int64, block int) *dyno.Result {
	r := w.result(s, block, dyno.ForProfile, time.Now())
	r.Trial.Profile = []string{"cpu", "allocs"}
	all := n
	if l.calls(n) > 1 {
		all++
	}
	r.Benchmarks = []dyno.Benchmark{{Package: p.pkg, Name: p.name, N: all}}
	if err := w.takeProfiles(ctx, r.Trial.N, s, l, path, n); err != nil {
		r.Err, r.Benchmarks[0].Err = err.Error(), err.Error()
	}
	r.Elapsed = time.Since(r.Start)
	return r
}

func (w *Run) takeProfiles(ctx context.Context, trial int, s *side, l *benchmark, path string, n int64) error {
	dir, err := w.Dir(trial)
	if err == nil {
		dir, err = filepath.Abs(dir) // the benchmark's directory is another
	}
	if err != nil {
		return err
	}
	limit := hangLimit(time.Duration(l.wall(n) * float64(time.Second)))
	ctx, cancel := context.WithTimeoutCause(ctx, 2*limit, fmt.Errorf("it was stopped after %v", 2*limit))
	defer cancel()
	for _, profile := range [][]string{
		{"-test.cpuprofile=" + filepath.Join(dir, "cpu.pb.gz")},
		{"-test.memprofile=" + filepath.Join(dir, "allocs.pb.gz"), fmt.Sprintf("-test.memprofilerate=%d", profileRate)},
	} {
		args := append([]string{"-test.bench=" + pattern.Of(l.Printed), fmt.Sprintf("-test.benchtime=%dx", n)}, profile...)
		if _, err := w.Once(ctx, path, w.options(s, l.p, args...), io.Discard); err != nil {
			return fmt.Errorf("profile %s: %w", l.Printed, err)
		}
	}
	return nil
}
