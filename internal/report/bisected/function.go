package bisected

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// A Func is a function whose source the found version touches.
type Func struct {
	File string // from the top of the repository
	Name string // F, T.M or (*T).M
	Line int
}

// A Function accounts for a change.
type Function struct {
	Name   string      `json:"name"`
	File   string      `json:"file,omitempty"` // from the top of the repository; of another module as the profile has it
	Line   int         `json:"line,omitempty"` // where it begins
	Metric string      `json:"metric"`         // that of the profiles
	Share  dyno.Number `json:"share"`          // of the metric, in the later version; NaN if that has none of it
	Change float64     `json:"change"`         // per request, or per operation
	Sure   bool        `json:"sure"`           // the profiles surely differ in it

	of string // the metric in words
}

// leastShare is of the metric; a function with less is not named for its share.
const leastShare = 0.01

// FunctionOf returns the function that surely changed most in one direction, more or less; first of those whose source was touched. If none
// surely changed, it returns the touched one with the largest share of the metric. It is nil if there is none.
func FunctionOf(d *profiles.Diff, touched []Func, more bool) *Function {
	var best *Function
	rank := func(f *Function, source bool) float64 {
		share := float64(f.Share)
		switch {
		case f.Sure && source:
			return 3
		case f.Sure:
			return 2
		case source && share >= leastShare:
			return share
		}
		return 0
	}
	most := 0.0
	for i := range d.Rows { // the greatest change first
		r := &d.Rows[i]
		if r.Own.Clear() && (r.Own.Diff > 0) != more {
			continue
		}
		f := &Function{
			Name: path.Base(r.Name), File: inTree(r.File), Line: r.Function.Line, Metric: d.Metric, of: nounOf(d.Kind),
			Share: dyno.Number(r.Own.Value / d.Total.Value), Change: r.Own.Diff, Sure: r.Own.Clear(),
		}
		at, source := sourceOf(r.Name, r.File, touched)
		source = source && r.Function.Own
		if source {
			f.File, f.Line = at.File, at.Line
		}
		if now := rank(f, source); now > most {
			best, most = f, now
		}
	}
	return best
}

// inTree is a file from the top of the repository, if a profile has it in a worktree of dyno's: these are gone, and each revision has another.
func inTree(file string) string {
	if _, rest, ok := strings.Cut(file, "/dyno-rev-"); ok {
		if _, rest, ok := strings.Cut(rest, "/"); ok {
			return rest
		}
	}
	return file
}

func nounOf(kind string) string {
	if kind == "allocs" {
		return "allocated bytes"
	}
	return "CPU time"
}

// sourceOf finds a function of a profile, or the one that it is a closure in, among those that were touched.
func sourceOf(name, file string, touched []Func) (f Func, ok bool) {
	_, name, _ = strings.Cut(path.Base(name), ".")
	name = strings.ReplaceAll(name, "[...]", "")
	i := slices.IndexFunc(touched, func(f Func) bool {
		rest, same := strings.CutPrefix(name, f.Name)
		return same && (rest == "" || rest[0] == '.' || rest[0] == '-') && (file == f.File || strings.HasSuffix(file, "/"+f.File))
	})
	if i < 0 {
		return f, false
	}
	return touched[i], true
}

// source says whether the found version changed the source of functions; "" if that is not known.
func (r *Report) source(of ...Func) string {
	who := "The " + r.Unit
	if r.Hi-r.Lo > 1 {
		who = "One of the " + r.Unit + "s"
	}
	for _, f := range of {
		if at, ok := sourceOf(f.Name, f.File, r.Touched); ok {
			return fmt.Sprintf("%s changed its source (%s:%d).", who, at.File, cmp.Or(f.Line, at.Line))
		}
	}
	files := r.Versions[r.Hi].Files
	switch {
	case !r.Known || len(of) == 0:
		return ""
	case slices.ContainsFunc(files, func(f string) bool { return path.Base(f) == "go.mod" }):
		return who + " did not change its source, but go.mod: the cause may be a dependency."
	}
	return who + " did not change its source: it may have changed who calls it, and how often."
}
