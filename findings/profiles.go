package findings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/safe"
)

// ReadProfiles reads the profiles of results of a run. It fails if no result has any.
func ReadProfiles(dir *Dir, results []*dyno.Result) (*profiles.Run, error) {
	run := &profiles.Run{Name: dir.Run.Plan.Name, PerOp: dir.Run.Plan.Bench != nil, Of: map[string][]profiles.Profiled{}}
	results = slices.SortedStableFunc(slices.Values(results), func(a, b *dyno.Result) int {
		return placeOf(dir, a.Trial.Setting.String()) - placeOf(dir, b.Trial.Setting.String())
	})
	var read safe.Profiles
	gone := map[string][]profiles.Loss{}
	for _, r := range results {
		if r.Trial.For != dyno.ForProfile || r.Err != "" {
			continue
		}
		run.Bench = benchOf(r)
		for _, kind := range dyno.ProfileNames {
			p, loss := readTrialProfile(&read, dir, r, kind)
			switch {
			case loss == nil:
				if run.Of[kind] = append(run.Of[kind], *p); !slices.Contains(run.Settings, p.Setting) {
					run.Settings = append(run.Settings, p.Setting)
				}
			case loss.Kind == profiles.ProfileGone:
				gone[kind] = append(gone[kind], *loss)
			default:
				run.Losses = append(run.Losses, *loss)
			}
		}
	}
	for _, kind := range dyno.ProfileNames {
		if len(run.Of[kind]) > 0 {
			run.Kinds = append(run.Kinds, kind)
			run.Losses = append(run.Losses, gone[kind]...)
		}
	}
	if len(run.Kinds) > 0 {
		return run, nil
	}
	if len(run.Losses) > 0 {
		var texts []string
		for _, loss := range run.Losses {
			texts = append(texts, loss.Error())
		}
		return nil, errors.New(strings.Join(texts, "; "))
	}
	return nil, fmt.Errorf("%s has no profiles (consider: %s --profile cpu,allocs)", dir.Path, MadeBy(dir))
}

// FunctionsOf compares the functions of two settings by their profiles of a kind, those of one benchmark unless that is "".
func FunctionsOf(dir *Dir, benchmark, kind string) (*profiles.Diff, error) {
	run, err := ReadProfiles(dir, ProfilesOf(dir.Brief(), benchmark))
	if err != nil {
		return nil, err
	}
	p, err := run.Profiles(kind, nil)
	if err != nil {
		return nil, err
	}
	settings := dir.Run.Plan.Levels()
	return p.Difference(settings[0].String(), settings[len(settings)-1].String(), profiles.ByOwn, Negligible(dir.Run.Plan)), nil
}

func readTrialProfile(read *safe.Profiles, dir *Dir, r *dyno.Result, kind string) (*profiles.Profiled, *profiles.Loss) {
	p := &profiles.Profiled{Setting: r.Trial.Setting.String(), Block: r.Trial.Block, Requests: r.Sent.Requests, File: dir.TrialFile(r.Trial.N, kind+".pb.gz")}
	loss := &profiles.Loss{Trial: r.Trial.N}
	p.Profile, loss.Err = readProfile(read, p.File)
	bench := dir.Run.Plan.Bench != nil
	if bench {
		p.Requests = 0
		for _, b := range r.Benchmarks {
			p.Requests += b.N
		}
	}
	switch {
	case errors.Is(loss.Err, fs.ErrNotExist):
		loss.Kind = profiles.ProfileGone
	case loss.Err != nil:
		loss.Kind = profiles.ProfileUnread
	case p.Requests > 0:
		return p, nil
	case bench:
		loss.Kind = profiles.OpsUnsaid
	default:
		loss.Kind = profiles.RequestsUnsaid
	}
	return nil, loss
}

func readProfile(all *safe.Profiles, file string) (*profile.Profile, error) {
	data, err := all.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return p, nil
}

// reading opens a file and reads it.
func reading[T any](file string, read func(io.Reader) (T, error)) (x T, err error) {
	f, err := safe.Of(file).Open(file)
	if err != nil {
		return x, err
	}
	defer f.Close()
	return read(f)
}

// SumProfiles adds up the profiles of one kind of a setting, and the requests of their windows. The error is
// fs.ErrNotExist if there is no such profile.
func SumProfiles(dir *Dir, kind, setting string) (profiles.Sum, error) {
	results := slices.DeleteFunc(dir.Brief(), func(r *dyno.Result) bool { return r.Trial.Setting.String() != setting })
	if !hasProfiles(results) {
		return profiles.Sum{}, fmt.Errorf("%s has no profiles of %s: %w", dir.Path, cmp.Or(setting, "(as is)"), fs.ErrNotExist)
	}
	run, err := ReadProfiles(dir, results)
	if err != nil {
		return profiles.Sum{}, err
	}
	return run.Sum(kind, setting)
}

func hasProfiles(results []*dyno.Result) bool {
	return slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Trial.For == dyno.ForProfile && r.Err == "" })
}

// benchOf is the benchmark that a trial for profiles is of, "" if it is of none.
func benchOf(r *dyno.Result) string {
	if r.Trial.For != dyno.ForProfile || len(r.Benchmarks) == 0 {
		return ""
	}
	return r.Benchmarks[0].Package + "." + r.Benchmarks[0].Name
}

// ProfiledBenchmarks returns the names of the benchmarks with profiles, as Package.Name.
func ProfiledBenchmarks(results []*dyno.Result) (names []string) {
	for _, r := range results {
		if name := benchOf(r); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Negligible returns the greatest change that the plan calls the same, above 0 also if the plan says 0.
func Negligible(e *dyno.Experiment) float64 {
	if e.Negligible == nil {
		return dyno.DefaultNegligible
	}
	return max(float64(*e.Negligible), 1e-9)
}

// ProfilesOf returns the results that have profiles of one benchmark.
func ProfilesOf(results []*dyno.Result, name string) []*dyno.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *dyno.Result) bool { return benchOf(r) != name })
}

// MadeBy returns the command line that made a run.
func MadeBy(dir *Dir) string {
	if dir.Run.Plan.Bench != nil {
		return "dyno bench"
	}
	return "dyno run"
}

// placeOf is the place of a setting in reports; -1 if the run has none of that name.
func placeOf(dir *Dir, setting string) int {
	return slices.IndexFunc(dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == setting })
}
