package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/exectrace"
	"github.com/dynolab/dyno/store"
)

// tabulate makes the table of a run, with what the files of its trials tell.
func tabulate(cmd *cobra.Command, dir *store.Dir, o *outFlags, results []*dyno.Result) *compare.Table {
	opt := options(dir.Run.Plan, results)
	if i := slices.IndexFunc(opt.Settings, func(s dyno.Setting) bool { return s.String() == o.base }); o.base != "" && i > 0 {
		opt.Settings = slices.Concat(opt.Settings[i:i+1], opt.Settings[:i], opt.Settings[i+1:])
	}
	noter, notes := noting(cmd.ErrOrStderr())
	opt.Tails = tails(noter, dir, results)
	opt.Growths = growths(noter, dir, results)
	opt.Steadiness = steadiness(noter, dir, results)
	o.notes = slices.Concat(notes(), dir.Notes())
	explain(&opt, dir, results)
	t := compare.Tabulate(results, opt)
	attribute(t, dir, results, o.serves)
	return t
}

// attribute reads the execution traces of a run into its table. One that cannot
// be read is a warning.
func attribute(t *compare.Table, dir *store.Dir, results []*dyno.Result, serves []string) {
	warn := func(r *dyno.Result, format string, args ...any) {
		t.Warnings.Add(dyno.WarnAttribution, "trial %d: "+format, append([]any{r.Trial.N}, args...)...)
	}
	for _, r := range results {
		if r.Trial.For != dyno.ForTrace || r.Err != "" {
			continue
		}
		a, err := readExecTrace(dir.TrialFile(r.Trial.N, "trace.out"), serves)
		if err != nil {
			warn(r, "the time of requests is not attributed: %v", err)
			continue
		}
		if a.Requests == 0 {
			warn(r, "no request was seen in its execution trace (consider: dyno report %s --serves FUNCTION, if the service does not use net/http)", dir.Path)
			continue
		}
		a.Trial = r.Trial.N
		for i := range t.Settings {
			if t.Settings[i].Setting.String() == r.Trial.Setting.String() {
				t.Settings[i].Trace = a
			}
		}
	}
}

func readExecTrace(path string, serves []string) (*exectrace.Attribution, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return exectrace.Read(f, serves...)
}
