package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// An outcome is what dyno said in one run, beside the truth.
type outcome struct {
	Run   string   `json:"run"`
	Kind  string   `json:"kind"`
	Err   string   `json:"error,omitempty"`
	Rate  float64  `json:"req/s"`
	Found []claim  `json:"found"`           // the true leaks, or heap alone if there are none
	False []string `json:"false,omitempty"` // what was said to leak and does not
}

// A claim is a verdict beside the truth, per hour.
type claim struct {
	What       string `json:"what"`
	Truth      number `json:"truth"` // 0 is no leak
	Verdict    string `json:"verdict"`
	By         string `json:"by,omitempty"`
	Shape      string `json:"shape,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Rate       number `json:"rate"`
	Lo         number `json:"lo"`
	Hi         number `json:"hi"`
	Detectable number `json:"detectable"`
	Sites      []site `json:"sites,omitempty"`
	RightSite  bool   `json:"right-site,omitempty"`
}

// A number may be NaN, which is null in JSON.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (c *claim) leaking() bool { return c.Verdict == "leaking" }
func (c *claim) over() bool    { return c.Truth > 0 && c.Truth >= c.Detectable }
func (c *claim) covers() bool  { return c.Lo <= c.Truth && c.Truth <= c.Hi }

// missed is a leak that had to be found, or was found elsewhere.
func (c *claim) missed() bool {
	return c.over() && !c.leaking() || c.Truth > 0 && c.leaking() && len(c.Sites) > 0 && !c.RightSite
}

// good reports whether nobody will want to look at the run again.
func (o outcome) good() bool {
	return o.Err == "" && len(o.False) == 0 && !slices.ContainsFunc(o.Found, func(c claim) bool { return c.missed() })
}

func (o outcome) String() string {
	if o.Err != "" {
		return "failed: " + o.Err
	}
	var parts []string
	for _, c := range o.Found {
		text := fmt.Sprintf("%s %s", c.What, c.Verdict)
		if c.Truth > 0 {
			text += fmt.Sprintf(" %s, in truth %s", hourly(c.What, c.Rate), hourly(c.What, c.Truth))
		}
		text += ", finds from " + hourly(c.What, c.Detectable)
		if c.missed() {
			text += " MISSED"
		}
		parts = append(parts, text)
	}
	for _, f := range o.False {
		parts = append(parts, "FALSE: "+f)
	}
	return strings.Join(parts, "; ")
}

// score holds a report against the truth.
func score(j job, r *report, err error) outcome {
	o := outcome{Run: j.String(), Kind: j.kind.name}
	if err != nil {
		o.Err = err.Error()
		return o
	}
	o.Rate = r.requests / r.seconds
	truths := []truth{{what: "heap"}}
	if j.kind.leaks != nil {
		truths = j.kind.leaks(j.n)
	}
	for _, t := range truths {
		f, ok := r.findings[t.what]
		if !ok {
			o.Err = "nothing is said of " + t.what
			return o
		}
		o.Found = append(o.Found, claim{What: t.what, Truth: number(t.perReq * r.perHour()), Verdict: f.Verdict, By: f.By, Shape: f.Shape, Reason: f.Reason,
			Rate: number(f.Rate), Lo: number(f.Lo), Hi: number(f.Hi), Detectable: number(f.Detectable),
			Sites: f.Sites, RightSite: len(f.Sites) > 0 && t.at(f.Sites[0])})
	}
	for what, f := range r.findings {
		real := slices.ContainsFunc(truths, func(t truth) bool { return t.what == what && t.perReq > 0 })
		if f.Verdict == "leaking" && !real {
			o.False = append(o.False, what)
		}
	}
	slices.Sort(o.False)
	return o
}

// at reports whether a site is the truth's: its function, and its line where the
// source marks such.
func (t truth) at(s site) bool {
	if !strings.Contains(s.Func, t.creator) {
		return false
	}
	return t.site == "" || filepath.Base(s.File) == "main.go" && slices.Contains(linesOf(t.site), s.Line)
}

// source is the service's, in which lines of leaks are marked.
var source string

// linesOf are those that end with a mark, from 1.
func linesOf(mark string) (lines []int) {
	n := 0
	for line := range strings.Lines(source) {
		if n++; strings.HasSuffix(strings.TrimSpace(line), "// "+mark) {
			lines = append(lines, n)
		}
	}
	return lines
}

func readSource(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "examples/testdata/leaks/main.go"))
	source = string(text)
	return err
}

// A row is the claims of one kind on one thing.
type row struct {
	name   string
	failed int
	claims []claim
}

func rows(outcomes []outcome) []*row {
	var all []*row
	at := map[string]*row{}
	get := func(name string) *row {
		if at[name] == nil {
			at[name] = &row{name: name}
			all = append(all, at[name])
		}
		return at[name]
	}
	for _, o := range outcomes {
		if o.Err != "" {
			get(o.Kind).failed++
		}
		for i, c := range o.Found {
			name := o.Kind
			if i > 0 {
				name += ", " + c.What
			}
			get(name).claims = append(get(name).claims, c)
		}
	}
	return all
}

func (r *row) count(is func(c *claim) bool) int {
	n := 0
	for i := range r.claims {
		if is(&r.claims[i]) {
			n++
		}
	}
	return n
}

func (r *row) median(of func(c *claim) number) number {
	var vs []float64
	for i := range r.claims {
		vs = append(vs, float64(of(&r.claims[i])))
	}
	return number(median(vs))
}

// median is of what is not NaN, and NaN if nothing is.
func median(vs []float64) float64 {
	vs = slices.DeleteFunc(slices.Clone(vs), math.IsNaN)
	slices.Sort(vs)
	n := len(vs)
	if n == 0 {
		return math.NaN()
	}
	return (vs[(n-1)/2] + vs[n/2]) / 2
}

// table prints a line for each kind.
func table(w io.Writer, outcomes []outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\truns\tfailed\tleaking\tlevel\tunclear\ttruth\tsaid\tfinds from\tover\tfound\tsite\tcovers\t")
	for _, r := range rows(outcomes) {
		verdict := func(v string) int { return r.count(func(c *claim) bool { return c.Verdict == v }) }
		what := "heap"
		if len(r.claims) > 0 {
			what = r.claims[0].What
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t", r.name, len(r.claims)+r.failed, r.failed, verdict("leaking"), verdict("level"), verdict("unclear"))
		truth := r.median(func(c *claim) number { return c.Truth })
		finds := hourly(what, r.median(func(c *claim) number { return c.Detectable }))
		if !(truth > 0) {
			fmt.Fprintf(t, "none\t-\t%s\t-\t-\t-\t-\t\n", finds)
			continue
		}
		named := r.count(func(c *claim) bool { return c.leaking() && len(c.Sites) > 0 })
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d/%d\t%d/%d\t\n", hourly(what, truth), hourly(what, r.median(func(c *claim) number { return c.Rate })), finds,
			r.count((*claim).over), r.count(func(c *claim) bool { return c.over() && c.leaking() }),
			r.count(func(c *claim) bool { return c.leaking() && c.RightSite }), named,
			r.count(func(c *claim) bool { return c.leaking() && c.covers() }), verdict("leaking"))
	}
	t.Flush()
	fmt.Fprint(w, "  truth, said, finds from: medians, per hour; over: runs in which the truth was over what dyno said it would find;\n"+
		"  found: of those; site: the first named is the right one, of the runs that name one; covers: dyno's interval has the truth\n")
}

// hourly is a rate with its unit.
func hourly(what string, v number) string {
	switch {
	case math.IsNaN(float64(v)):
		return "-"
	case what != "heap":
		return fmt.Sprintf("%.0f", float64(v))
	}
	return fmt.Sprintf("%.2f MiB", float64(v)/(1<<20))
}
