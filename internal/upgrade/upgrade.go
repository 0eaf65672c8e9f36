// Package upgrade says whether a later toolchain, or later dependencies, are safe for a service: whether what the user
// allows of each metric holds, and which of the new defaults changed a metric. It only thinks: it chooses which versions run side by side
// next, and when it is enough, and it gives the answer. Its caller measures.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Kind says what was found.
type Kind string

// The kinds of answers.
const (
	Safe       Kind = "safe"        // all that is allowed surely holds
	NotSafe    Kind = "not-safe"    // some of it surely does not
	NotDecided Kind = "not-decided" // the time was up before
	OneProgram Kind = "one-program" // both versions are the same program, to the byte
	Refused    Kind = "refused"     // the new version does not build, as was known before
)

// A Source is where a candidate can be turned back.
type Source string

// The sources of candidates.
const (
	Experiment Source = "experiment" // GOEXPERIMENT=noNAME, at build
	Debug      Source = "godebug"    // GODEBUG=NAME=OLD, at launch
	GoLine     Source = "go-line"    // the go line of go.mod
	Module     Source = "module"     // a version in go.mod
)

// A Candidate is something that the new version changed, and that can be turned back alone.
type Candidate struct {
	Source Source
	Name   string      // of the experiment, the setting or the module
	Was    string      // the value, line or version as before
	Is     string      // the line or version now
	Within []Candidate // what it is made of, each of which can be turned back alone, too
}

// An Allowance is what a metric may change.
type Allowance struct {
	dyno.Threshold
	Asked bool // by the user; of others a metric that was not measured is left out
}

// A Problem is two versions of a service, and what may have changed it.
type Problem struct {
	Plan       *dyno.Experiment
	Old, New   dyno.Setting
	Candidates []Candidate // the likeliest first
	Allow      []Allowance
	Total      dyno.Duration // most time for the comparison of the two
	Refused    bool          // the new version is known not to build
	NoCause    bool          // who changed what is not asked for
}

// Measure is campaign.Measure.
type Measure = func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error)

// An Upgrade is a question: is the new version safe, and if a metric changed, which of the candidates did it?
type Upgrade struct {
	Problem

	// Build makes a setting, and returns the sum of its executable, "" if it is unknown.
	Build func(ctx context.Context, s dyno.Setting) (sum string, err error)
	Tell  func(format string, args ...any) // says what is measured next; may be nil

	Answer Answer

	sum  string // of the new version's executable
	runs int
}

// An Answer is what is known so far.
type Answer struct {
	Kind     Kind
	Judged   []compare.Judgement // what is allowed
	Table    *compare.Table      // of old and new; nil if they were not measured
	Run      string              // its name
	Blocks   int
	PerBlock time.Duration // time that a block took
	More     int           // blocks that would decide, roughly; 0 if that cannot be said
	Cause    *Cause        // of the change that matters most; nil if none is sure, or nothing can be turned back
}

// Subjects implements campaign.Question.
func (u *Upgrade) Subjects() *dyno.Experiment {
	if u.Refused || u.same() {
		return u.plan(u.Old)
	}
	return u.versions()
}

// same reports whether nothing is to be changed.
func (u *Upgrade) same() bool { return u.Old.String() == u.New.String() }

func (u *Upgrade) plan(settings ...dyno.Setting) *dyno.Experiment {
	e := *u.Plan
	e.Factors, e.Settings = nil, settings
	return &e
}

// versions is the plan of old and new.
func (u *Upgrade) versions() *dyno.Experiment {
	e := u.judged(u.Old, u.New)
	e.Within = u.Total
	e.Thresholds = nil
	for _, a := range u.Allow {
		e.Thresholds = append(e.Thresholds, a.Threshold)
	}
	return e
}

// judged is a plan by which something is said of settings: each block has a new order of their functions, so that where the
// linker put them is no change.
func (u *Upgrade) judged(settings ...dyno.Setting) *dyno.Experiment {
	e := u.plan(settings...)
	if e.Relink == nil {
		e.Relink = new(true)
	}
	return e
}

func (u *Upgrade) tell(format string, args ...any) {
	if u.Tell != nil {
		u.Tell(format, args...)
	}
}

// With is the new version with candidates turned back.
func (p *Problem) With(back ...Candidate) dyno.Setting {
	s := slices.Clone(p.New)
	var experiments, debug []string
	for _, c := range back {
		switch c.Source {
		case Experiment:
			experiments = append(experiments, "no"+c.Name)
		case Debug:
			debug = append(debug, c.Name+"="+c.Was)
		case GoLine:
			s = turned(s, dyno.DepFactor+"go", ".")
		case Module:
			s = turned(s, dyno.DepFactor+c.Name, ".")
		}
	}
	s = p.joined(s, "GOEXPERIMENT", experiments)
	return p.joined(s, "GODEBUG", debug)
}

func turned(s dyno.Setting, factor, value string) dyno.Setting {
	for i := range s {
		if s[i].Factor == factor {
			s[i].Value = value
			return s
		}
	}
	return append(s, dyno.Level{Factor: factor, Value: value})
}

// joined adds values to a list that the environment of the plan may have.
func (p *Problem) joined(s dyno.Setting, name string, values []string) dyno.Setting {
	if len(values) == 0 {
		return s
	}
	if had := p.Plan.Subject.Env[name]; had != "" {
		values = slices.Concat([]string{had}, values)
	}
	return append(s, dyno.Level{Factor: name, Value: strings.Join(values, ",")})
}

// Ask implements campaign.Question.
func (u *Upgrade) Ask(ctx context.Context, measure Measure) (err error) {
	u.Answer, u.runs = Answer{Kind: NotDecided}, 0
	a := &u.Answer
	if u.Refused {
		a.Kind = Refused
		return nil
	}
	if u.same() {
		a.Kind = OneProgram
		return nil
	}
	old, err := u.Build(ctx, u.Old)
	if err == nil {
		u.sum, err = u.Build(ctx, u.New)
	}
	if err != nil {
		return err
	}
	if old != "" && old == u.sum {
		a.Kind = OneProgram
		return nil
	}
	a.Run = u.name("versions")
	table, results, err := measure(ctx, a.Run, u.versions(), u.decided)
	if table != nil && len(table.Settings) == 2 {
		a.Table = table
		u.judge(table, results)
	}
	if err != nil || u.NoCause || len(u.Candidates) == 0 {
		return err
	}
	if metric, v, ok := u.changed(); ok {
		return u.explain(ctx, measure, metric, v)
	}
	return nil
}

// name is that of the next run.
func (u *Upgrade) name(what string) string {
	u.runs++
	return fmt.Sprintf("%d-%s", u.runs, what)
}

// someBlocks is after how many blocks a run ends in which something surely fails, though other limits are not decided; or all limits are
// decided, though some verdicts are not.
const someBlocks = 12

// decided reports whether the run of old and new needs no more blocks.
func (u *Upgrade) decided(t *compare.Table, rs []*dyno.Result) bool {
	n := blocksOf(rs)
	if n < compare.FewestBlocks {
		return false
	}
	failed, unclear := count(u.judgements(t))
	if unclear == 0 {
		return n >= someBlocks || u.NoCause || len(u.Candidates) == 0 || t.Undecided() == 0 // a change that is sure may be told the cause of
	}
	return failed > 0 && n >= someBlocks
}

func count(js []compare.Judgement) (failed, unclear int) {
	for _, j := range js {
		switch j.Outcome {
		case compare.Failed:
			failed++
		case compare.Unclear:
			unclear++
		}
	}
	return failed, unclear
}

// judgements are those of what is allowed, but for default ones of metrics that were not measured.
func (u *Upgrade) judgements(t *compare.Table) (js []compare.Judgement) {
	for _, j := range t.Thresholds {
		i := slices.IndexFunc(u.Allow, func(a Allowance) bool { return a.Threshold == j.Threshold })
		if i < 0 || !u.Allow[i].Asked && !slices.ContainsFunc(t.Rows, func(r compare.Row) bool { return r.Name == j.Metric }) {
			continue
		}
		js = append(js, j)
	}
	return js
}

func (u *Upgrade) judge(t *compare.Table, rs []*dyno.Result) {
	a := &u.Answer
	a.Judged, a.Blocks = u.judgements(t), blocksOf(rs)
	a.PerBlock = perBlock(rs)
	failed, unclear := count(a.Judged)
	switch {
	case failed > 0:
		a.Kind = NotSafe
	case unclear == 0 && len(a.Judged) > 0:
		a.Kind = Safe
	}
	for _, j := range a.Judged {
		if j.Outcome == compare.Unclear && j.MoreBlocks == 0 {
			a.More = 0
			break
		}
		if j.Outcome == compare.Unclear {
			a.More = max(a.More, j.MoreBlocks)
		}
	}
}

func blocksOf(rs []*dyno.Result) (n int) {
	for _, r := range rs {
		if r.Trial.For == "" {
			n = max(n, r.Trial.Block)
		}
	}
	return n
}

// perBlock is the time from one block to the next.
func perBlock(rs []*dyno.Result) time.Duration {
	var first, last time.Time
	for _, r := range rs {
		if r.Trial.For != "" || r.Start.IsZero() {
			continue
		}
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
		if end := r.Start.Add(r.Elapsed); end.After(last) {
			last = end
		}
	}
	if n := blocksOf(rs); n > 0 {
		return last.Sub(first) / time.Duration(n)
	}
	return 0
}

// changed is the sure change that matters most: one that fails, else one for the worse, else one for the better.
func (u *Upgrade) changed() (metric dyno.Metric, v compare.Versus, ok bool) {
	t := u.Answer.Table
	if t == nil {
		return metric, v, false
	}
	rank := func(row compare.Row, v compare.Versus) int {
		failed := slices.ContainsFunc(u.Answer.Judged, func(j compare.Judgement) bool { return j.Metric == row.Name && j.Outcome == compare.Failed })
		switch {
		case v.Verdict != stats.Worse && v.Verdict != stats.Better, !(v.Ratio > 0):
			return 0
		case failed:
			return 3
		case row.Primary && v.Verdict == stats.Worse:
			return 2
		case row.Primary:
			return 1
		}
		return 0
	}
	best := 0
	for _, row := range t.Rows {
		if x, known := t.Settings[1].Versus[row.Key]; known && rank(row, x) > best {
			best, metric, v, ok = rank(row, x), row.Metric, x, true
		}
	}
	return metric, v, ok
}

// Changed is the ratio of a metric to what it was, with its interval; NaN if it is not known.
func (a *Answer) Changed(metric string) (ratio, lo, hi float64) {
	if a.Table != nil {
		if v, ok := a.Table.Settings[1].Versus[metric]; ok {
			return v.Ratio, v.Lo, v.Hi
		}
	}
	return math.NaN(), math.NaN(), math.NaN()
}

// Traded is the metric that surely got worse, of the two that GOGC trades for each other: peak memory and CPU time. It is "" if neither did, or
// both.
func (a *Answer) Traded() (metric string) {
	if a.Table == nil {
		return ""
	}
	for _, m := range []string{"rss-peak-B", "cpu-sec/req"} {
		if a.Table.Settings[1].Versus[m].Verdict != stats.Worse {
			continue
		}
		if metric != "" {
			return ""
		}
		metric = m
	}
	return metric
}

// errNothing is why a candidate is no suspect.
var errNothing = errors.New("it makes no difference to the program")
