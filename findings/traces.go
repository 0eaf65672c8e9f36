package findings

import (
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/exectrace"
)

// attribute reads execution traces into the table. One that cannot be read is a warning.
func (f *Findings) attribute(serves []string) {
	t := f.Table
	for _, r := range f.Results {
		if r.Trial.For != dyno.ForTrace || r.Err != "" {
			continue
		}
		a, err := reading(f.Dir.TrialFile(r.Trial.N, "trace.out"), func(trace io.Reader) (*exectrace.Attribution, error) {
			return exectrace.Read(trace, serves...)
		})
		switch {
		case err != nil:
			t.Warnings.Add(dyno.WarnAttribution, "trial %d: the time of requests is not attributed: %v", r.Trial.N, err)
			continue
		case a.Requests == 0:
			t.Warnings.Add(dyno.WarnAttribution, "trial %d: no request was seen in its execution trace (consider: dyno report %s --serves FUNCTION, if the service does not use net/http)", r.Trial.N, f.Dir.Path)
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
