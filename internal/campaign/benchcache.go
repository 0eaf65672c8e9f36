package campaign

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// CheckBaseline finds before an hour of measuring that there is nothing to compare with.
func CheckBaseline(file string) error {
	data, err := safe.Benchmarks.ReadFile(file)
	if err != nil {
		return flags.Mistakef("--baseline: %v (want a file of go test -bench)", err)
	}
	for r := benchfmt.NewReader(bytes.NewReader(data), file); r.Scan(); {
		if _, ok := r.Result().(*benchfmt.Result); ok {
			return nil
		}
	}
	return flags.Mistakef("--baseline: %s has no benchmark results (want lines such as BenchmarkX 100 12.5 ns/op)", file)
}

// FromCache finds the file with the results of a baseline rev:NAME; another baseline stays as it is. A revision without any is measured
// beside the working tree, and kept for the next time: then the plan says so, and the baseline is "".
func (c *Campaign) FromCache(ctx context.Context, e *dyno.Experiment, baseline, cache string) (file string, err error) {
	rev, ok := strings.CutPrefix(baseline, "rev:")
	switch {
	case !ok:
		return baseline, nil
	case cache == "":
		return "", flags.Mistakef("--baseline %s needs a cache (want --cache DIR)", baseline)
	case len(e.Levels()) > 1:
		return "", flags.Mistakef("--baseline is compared with one setting, not %d (consider: --vary rev=%s,. without --baseline)", len(e.Levels()), rev)
	}
	commit, err := Tool(ctx, e.Subject.Dir, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", flags.Mistakef("--baseline: no revision %s in %s", rev, e.Subject.Dir)
	}
	file = CacheFile(cache, e, GoVersion(ctx, e.Subject.Dir), commit)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	c.Note("%s does not exist yet: dyno measures %s and the working tree side by side", file, rev)
	e.Settings, e.Factors = nil, dyno.Factors{{Name: "rev", Levels: []string{rev, "."}}}
	return "", nil
}

// CacheFile names a revision's results by all that they depend on.
func CacheFile(cache string, e *dyno.Experiment, version, commit string) string {
	all := store.Redacted(e).Resolved() // as the run directory has it
	_, cpu, _ := lab.Describe()
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %d %v %q %q %q %q", all.Bench.Packages, all.Bench.Match, all.Bench.CPUs, all.Bench.Sample, all.Subject.Env, all.Subject.Build, all.Subject.Args, cpu)
	return filepath.Join(cache, fmt.Sprintf("%s-%.12s-%s-%08x.txt", filepath.Base(e.Name), commit, cmp.Or(version, "go"), h.Sum32()))
}

// FillCache writes a benchmark file of each setting that is a commit, built by the go
// command's own choice: without changes beside it, and with nothing else varied.
func FillCache(cache string, dir *store.Dir) error {
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return err
	}
	e, results := dir.Run.Plan, dir.Results()
	for _, s := range e.Levels() {
		i := slices.IndexFunc(results, func(r *dyno.Result) bool { return r.Trial.Setting.String() == s.String() && r.Trial.For == "" })
		if i < 0 || slices.ContainsFunc(s, func(l dyno.Level) bool { return l.Factor != "rev" }) {
			continue
		}
		version, commit, _ := strings.Cut(results[i].Subject, " ")
		if commit == "" || strings.Contains(commit, "+dirty") {
			continue
		}
		var b strings.Builder
		h := dir.Run.Host
		fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\ncommit: %s\ngo: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"), commit, version)
		if err := export.BenchOf(&b, results, s); err != nil {
			return err
		}
		if err := os.WriteFile(CacheFile(cache, e, version, commit), []byte(b.String()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
