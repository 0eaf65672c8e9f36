package profiles

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/pprof/profile"
)

// A Run is the profiles of a run, as they were read.
type Run struct {
	Name     string                // of the plan
	Bench    string                // that the profiles are of, Package.Name; "" if they are of a service
	PerOp    bool                  // Profiled.Requests are operations of benchmarks
	Settings []string              // that have any, in the order of reports
	Kinds    []string              // in the order of dyno.ProfileNames
	Of       map[string][]Profiled // by kind
	Losses   []Loss                // what could not be read
}

// A LossKind is why something of profiles is left out.
type LossKind string

const (
	ProfileGone    LossKind = "profile-gone"    // there is no file, though other trials have one
	ProfileUnread  LossKind = "profile-unread"  // Err
	RequestsUnsaid LossKind = "requests-unsaid" // the load did not say how many it sent
	OpsUnsaid      LossKind = "ops-unsaid"      // the benchmark did not say how many it did
	SourceGone     LossKind = "source-gone"     // the file is not on this machine
	SourceTrimmed  LossKind = "source-trimmed"  // -trimpath left no place
	SourceChanged  LossKind = "source-changed"  // since the run began; it is shown
)

// A Loss is a profile that is left out, or a doubt about the source of a function.
type Loss struct {
	Kind  LossKind
	Trial int    // of a profile
	File  string // of a source
	Err   error  // of ProfileGone and ProfileUnread
}

func (l Loss) Error() string {
	switch l.Kind {
	case RequestsUnsaid:
		return fmt.Sprintf("trial %d: its load did not report its number of requests, so its profiles have no figures per request", l.Trial)
	case OpsUnsaid:
		return fmt.Sprintf("trial %d: its benchmark did not report its number of operations, so its profiles have no figures per operation", l.Trial)
	case SourceGone:
		return fmt.Sprintf("no source of %s: it is not on this machine", l.File)
	case SourceTrimmed:
		return fmt.Sprintf("no source of %s: the subject was built with -trimpath, so its profile does not say where it is", l.File)
	case SourceChanged:
		return fmt.Sprintf("%s was changed after the run began: its lines may differ from those measured", l.File)
	}
	return l.Err.Error()
}

// Profiles are those of a kind, per request or per operation. own says which packages are the subject's; nil: as New does.
func (r *Run) Profiles(kind string, own func(pkg, file string) bool) (*Profiles, error) {
	ps, err := New(kind, r.Of[kind], own)
	if err == nil && r.PerOp {
		ps.Metric, ps.Counts = strings.Replace(ps.Metric, "/req", "/op", 1), strings.Replace(ps.Counts, "/req", "/op", 1)
	}
	return ps, err
}

// A Sum is the sum of the profiles of one kind of a setting's trials.
type Sum struct {
	Setting  string
	Profile  *profile.Profile
	Requests int64 // of the windows that they are of; 0 if that is not known
}

// Sum adds up the profiles of one kind of a setting. The error is fs.ErrNotExist if
// there is none.
func (r *Run) Sum(kind, setting string) (Sum, error) {
	sum := Sum{Setting: setting}
	var parts []*profile.Profile
	for _, p := range r.Of[kind] {
		if p.Setting == setting {
			parts = append(parts, p.Profile)
			sum.Requests += p.Requests
		}
	}
	if len(parts) == 0 {
		return sum, fmt.Errorf("%s has no %s profile of %q: %w", r.Name, kind, setting, fs.ErrNotExist)
	}
	var err error
	sum.Profile, err = profile.Merge(parts)
	return sum, err
}

// SourceOf is a function's source file in a setting: revisions have folders of their own.
func (r *Run) SourceOf(fn *Function, kind, setting string) string {
	like := ""
	for _, t := range r.Of[kind] {
		if t.Setting != setting {
			continue
		}
		for _, f := range t.Profile.Function {
			switch {
			case path.Base(f.Filename) != path.Base(fn.File):
			case f.Name == fn.Name:
				return f.Filename
			case strings.HasPrefix(f.Name, fn.Package+"."): // a closure, or one that a compiler renamed
				like = f.Filename
			}
		}
	}
	return cmp.Or(like, fn.File)
}

// A BenchWhy is what profiles tell of a benchmark that changed.
type BenchWhy struct {
	Benchmark string // Package.Name
	Setting   string // against the baseline
	Parts     []BenchPart
}

// A BenchPart is what one kind of profile tells; Diff has rows.
type BenchPart struct {
	Diff    *Diff
	Metric  string
	List    []Listing // of the function that changed most, or none
	Sources map[string][]string
}
