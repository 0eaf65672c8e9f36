//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// theSuites are two releases each of public modules. -suites names others in the same form.
const theSuites = "golang.org/x/text@v0.14.0..v0.30.0 github.com/RoaringBitmap/roaring/v2@v2.3.0..v2.10.0"

// A suite is all benchmarks of a module in two of its versions.
type suite struct {
	module, old, new string
	dir              string
}

// allSuites compares whole suites of benchmarks: dyno with its default time or -share, go test -count=10 of both and benchstat, and a long run
// as the truth.
func (l *lab) allSuites(ctx context.Context, names string) error {
	for _, name := range strings.Fields(names) {
		module, versions, ok1 := strings.Cut(name, "@")
		old, latest, ok2 := strings.Cut(versions, "..")
		if !ok1 || !ok2 {
			return fmt.Errorf("-suites: %s (want module@old..new)", name)
		}
		s := &suite{module, old, latest, filepath.Join(l.dir, strings.ReplaceAll(module, "/", "-"))}
		if err := s.checkout(); err != nil {
			return err
		}
		if err := l.suite(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkout makes a repository with both versions, as tags.
func (s *suite) checkout() error {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	if err := git(s.dir, "init", "-q"); err != nil {
		return err
	}
	for _, version := range []string{s.old, s.new} {
		if version == "" {
			continue
		}
		out, err := exec.Command("go", "mod", "download", "-json", s.module+"@"+version).Output()
		if err != nil {
			return fmt.Errorf("download %s@%s: %w", s.module, version, err)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(out, &found); err != nil {
			return err
		}
		if err := git(s.dir, "rm", "-rqf", "--ignore-unmatch", "."); err != nil {
			return err
		}
		if err := exec.Command("cp", "-rT", "--no-preserve=mode", found.Dir, s.dir).Run(); err != nil {
			return err
		}
		for _, args := range [][]string{{"add", "-Af", "."}, {"commit", "-qm", version}, {"tag", version}} {
			if err := git(s.dir, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lab) suite(ctx context.Context, s *suite) error {
	run := func(name string, args ...string) (map[string]versus, error) {
		out := filepath.Join(l.dir, name+filepath.Base(s.dir))
		began := time.Now()
		args = append([]string{"bench", "./...", "--profile", "none", "--vary", "rev=" + s.old + "," + s.new, "--out", out}, args...)
		if _, err := l.tool(ctx, s.dir, l.dyno, args...); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(out, "summary.json"))
		if err != nil {
			return nil, err
		}
		found, failed, err := times(data)
		counts := map[string]int{}
		for _, v := range found {
			counts[v.Verdict]++
		}
		fmt.Printf("  dyno bench %s: %v, %d benchmarks, %d fail, %v\n", strings.Join(args[6:], " "), time.Since(began).Round(time.Second), len(found), failed, counts)
		return found, err
	}
	fmt.Printf("%s %s..%s\n", s.module, s.old, s.new)
	truth, took, err := l.slowly(ctx, s, run)
	if err != nil {
		return err
	}
	var length []string
	if l.share > 0 && took > 0 {
		length = []string{"-d", time.Duration(l.share * float64(took)).Round(time.Second).String()}
	}
	found, err := run("quick-", length...)
	if err != nil || truth == nil {
		return err
	}
	var missed, wrong []string
	changes, confirmed := 0, 0
	for name, t := range truth {
		v := found[name]
		changed := v.Verdict == "better" || v.Verdict == "worse"
		really := t.Verdict == "better" || t.Verdict == "worse"
		big := really && math.Abs(math.Log(*t.Ratio)) > math.Log(1.03)
		switch {
		case big && changed && v.Verdict == t.Verdict:
			confirmed++
		case big:
			missed = append(missed, fmt.Sprintf("%s %+.1f%%", name, 100*(*t.Ratio-1)))
		case changed && !really || changed && v.Verdict != t.Verdict:
			wrong = append(wrong, name)
		}
		if big {
			changes++
		}
	}
	slices.Sort(missed)
	fmt.Printf("  of %d changes above 3 %% in the long run, %d were found; not: %v; not confirmed by it: %v\n", changes, confirmed, missed, wrong)
	return nil
}

// slowly is the long run, which is nil without -truth, and the time of the usual protocol, 0 without -plain. They run side by side, as what
// counts of the protocol is its time, and the long run can stand noise.
func (l *lab) slowly(ctx context.Context, s *suite, run func(string, ...string) (map[string]versus, error)) (truth map[string]versus, took time.Duration, err error) {
	var both sync.WaitGroup
	var usually, long error
	if l.plain {
		both.Go(func() { took, usually = l.benchstat(ctx, s) })
	}
	if l.truth > 0 {
		both.Go(func() { truth, long = run("truth-", "-d", l.truth.String()) })
	}
	both.Wait()
	return truth, took, errors.Join(usually, long)
}

// times reads the comparisons of sec/op by package and name, and counts the benchmarks without one.
func times(data []byte) (found map[string]versus, failed int, err error) {
	var t table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, 0, err
	}
	found = map[string]versus{}
	for _, b := range t.Benchmarks {
		name := b.Package + "." + b.Name
		if v, ok := t.Settings[1].Versus[name+" sec/op"]; ok && v.Ratio != nil {
			found[name] = v
		} else {
			failed++
		}
	}
	return found, failed, nil
}

// benchstat is the usual protocol, and the time that it takes.
func (l *lab) benchstat(ctx context.Context, s *suite) (time.Duration, error) {
	began := time.Now()
	var sides []map[string][]float64
	for _, version := range []string{s.old, s.new} {
		dir := filepath.Join(l.dir, "benchstat")
		if err := errors.Join(os.RemoveAll(dir), git(l.dir, "clone", "-q", "-b", version, s.dir, dir)); err != nil {
			return 0, err
		}
		out, err := l.tool(ctx, dir, "go", "test", "-vet=off", "-run=^$", "-bench=.", "-count=10", "-cpu=1", "-timeout=5h", "./...")
		if err != nil {
			fmt.Println("  go test fails, and what it printed before counts:", strings.SplitN(err.Error(), "\n", 2)[0])
		}
		m := map[string][]float64{}
		for r := benchfmt.NewReader(strings.NewReader(out), "out"); r.Scan(); {
			if res, ok := r.Result().(*benchfmt.Result); ok {
				v, _ := res.Value("sec/op")
				name := res.GetConfig("pkg") + "." + string(res.Name)
				m[name] = append(m[name], v)
			}
		}
		sides = append(sides, m)
	}
	changed, n := 0, 0
	for name, a := range sides[0] {
		th := benchmath.DefaultThresholds
		x, y := benchmath.NewSample(a, &th), benchmath.NewSample(sides[1][name], &th)
		if c := benchmath.AssumeNothing.Compare(x, y); c.P < usual {
			changed++
		}
		n++
	}
	took := time.Since(began)
	fmt.Printf("  go test -count=10 of both and benchstat: %v, %d benchmarks, %d called changed\n", took.Round(time.Second), n, changed)
	return took, nil
}
