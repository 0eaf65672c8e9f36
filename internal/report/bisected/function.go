package bisected

import (
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
	Name    string      `json:"name"`
	At      string      `json:"at,omitempty"`     // file and line, as far as they are known
	Metric  string      `json:"metric"`           // that of the profiles
	Of      string      `json:"of"`               // in words
	Share   dyno.Number `json:"share"`            // of the metric, in the later version; NaN if that has none of it
	Change  float64     `json:"change,omitempty"` // per request, or per operation; 0 if it is not sure
	Sure    bool        `json:"sure"`             // the profiles surely differ in it
	Touched bool        `json:"touched"`          // the version changed its source
}

// FunctionOf returns the function that surely changed most, one whose source was touched first. If none surely changed, it is that of the touched
// ones which has most of the metric. It is nil if there is none.
func FunctionOf(d *profiles.Diff, touched []Func) *Function {
	var best *profiles.FunctionChange
	var at Func
	rank := func(r *profiles.FunctionChange, f Func) float64 {
		switch {
		case r == nil:
			return -1
		case r.Own.Clear() && f.Name != "":
			return 3
		case r.Own.Clear():
			return 2
		case f.Name != "" && d.Total.Value > 0:
			return r.Own.Value / d.Total.Value
		}
		return -1
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		var f Func
		if j := slices.IndexFunc(touched, func(f Func) bool { return f.is(r.Function) }); j >= 0 {
			f = touched[j]
		}
		if rank(r, f) > rank(best, at) { // rows have the greatest change first
			best, at = r, f
		}
	}
	if best == nil {
		return nil
	}
	f := &Function{Name: path.Base(best.Name), Metric: d.Metric, Of: nounOf(d.Kind), Share: dyno.Number(best.Own.Value / d.Total.Value), Sure: best.Own.Clear(), Touched: at.Name != ""}
	switch {
	case f.Touched:
		f.At = fmt.Sprintf("%s:%d", at.File, at.Line)
	case best.File != "":
		f.At = fmt.Sprintf("%s:%d", path.Base(best.File), best.Function.Line)
	}
	if f.Sure {
		f.Change = best.Own.Diff
	}
	return f
}

func nounOf(kind string) string {
	if kind == "allocs" {
		return "allocated bytes"
	}
	return "CPU time"
}

// is reports whether a function of a profile has this source, or is a closure in it.
func (f Func) is(p *profiles.Function) bool {
	_, name, _ := strings.Cut(path.Base(p.Name), ".")
	rest, same := strings.CutPrefix(strings.ReplaceAll(name, "[...]", ""), f.Name)
	return same && (rest == "" || rest[0] == '.' || rest[0] == '-') && (p.File == f.File || strings.HasSuffix(p.File, "/"+f.File))
}
