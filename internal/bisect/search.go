package bisect

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
	"github.com/dynolab/dyno/internal/pattern"
	"github.com/dynolab/dyno/internal/stats"
)

// A Problem says among which versions the change is looked for.
type Problem struct {
	Versions []dyno.Level // in their order, the good end first
	Plan     *dyno.Experiment
	Metric   string  // "": the primary one that is surely worse
	Most     int     // versions alive at once, at least 3
	Error    float64 // chance of an answer that is wrong
	All      bool    // looks for further changes before and after the one that it found
}

// Limits of a search.
const (
	doubt     = 0.02 // probability that the change is elsewhere than where it is looked for next; the model's own, which bounds nothing
	leastLook = 2    // blocks of a look
	mostLook  = 12
	leastPair = 6                              // blocks of a pair
	mostPairs = 2                              // compared alone, before the search gives up
	pairTime  = dyno.Duration(6 * time.Minute) // most, of a pair; as a rule it is decided before
	mostStuck = 2                              // looks in a row that narrow little
)

// A Search asks for runs until one version and the one before it, alone on fresh blocks, differ as the ends do. So the
// bound of the error is that of this comparison, and does not rest on the model that chose the pair.
type Search struct {
	Problem

	// Build makes a version, and returns the sum of its executable, "" if it is unknown. A version with an error is left out.
	Build func(ctx context.Context, version int) (sum string, err error)
	Tell  func(format string, args ...any) // is told what the search does next

	// Branch returns a search of the commits that a version merges, or nil if it merges none that can be searched. Where Branch is nil, the search
	// opens no merge. The error is the context's.
	Branch func(ctx context.Context, version int) (*Search, error)

	Answer Answer
	Done   bool // the search came to its end

	chosen *Yardstick     // by the search that this is a part of; else nil
	wanted stats.Verdict  // of the merge whose commits these are; else ""
	sums   map[int]string // of versions that were built
	obs    []Observation
	blocks int // of all runs so far
	runs   int
}

// Measure is campaign.Measure.
type Measure = func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error)

// A Kind says what was found.
type Kind string

// The kinds of answers.
const (
	Found     Kind = "found"       // one version changed the metric
	Range     Kind = "range"       // one of several did: those between cannot be measured
	NoChange  Kind = "no-change"   // the ends are not shown to differ; inside of a merge, they do not as it does
	OneBuild  Kind = "one-program" // the ends are the same program, to the byte
	Undecided Kind = "undecided"   // the ends differ, but no version is shown to differ from the one before
)

// An Answer is what is known so far.
type Answer struct {
	Kind Kind
	Yardstick
	Ends      compare.Versus // the bad end against the good one
	EndsRun   string         // its run
	Lo, Hi    int            // the change is after Lo, and at Hi at the latest
	Pair      compare.Versus // of Found and Range: Hi against Lo, on blocks of their own
	PairRun   string         // its run
	PairTable *compare.Table // what that found, with causes
	Partly    bool           // of these: the pair's change is probably less than that of the ends
	Failed    []Pair         // that were compared alone, and do not surely differ
	Posterior []float64      // by version, of the model
	Measured  []Measured     // in the order of versions
	Skipped   map[int]error  // that do not build, or do not start
	Built     int            // versions that were built
	More      []Answer       // about the versions before and after, if all changes are looked for; what was measured there is in this one, too
	Why       error          // a search among commits that are merged failed
	Others    int            // other benchmarks that are surely worse at the bad end
}

// A Pair is two versions that were compared alone.
type Pair struct {
	Lo, Hi int
	Versus compare.Versus
	Run    string
}

// Measured is what the blocks say of a version.
type Measured struct {
	Version, Blocks int
	Change          float64 // against the good end, the median over blocks; over versions between, if it never ran beside that. A ratio, or if plain a difference
}

// Subjects implements campaign.Question.
func (s *Search) Subjects() *dyno.Experiment { return s.plan(0, len(s.Versions)-1) }

// plan is a run of versions side by side, in their order.
func (s *Search) plan(versions ...int) *dyno.Experiment {
	e := *s.Plan
	e.Factors, e.Settings = nil, nil
	for _, v := range versions {
		e.Settings = append(e.Settings, dyno.Setting{s.Versions[v]})
	}
	if a := &s.Answer; a.Name != "" {
		only := *e.Bench
		only.Packages, only.Match, only.Duration = []string{a.Package}, pattern.Of(a.Name), pairTime
		e.Bench = &only
	} else if a.Metric != "" {
		e.Primary = []string{a.Metric}
	}
	return &e
}

// judged is the plan of two versions by which something is said of them: each block has a new order of their functions, so that where the linker
// put them is no change.
func (s *Search) judged(lo, hi int) *dyno.Experiment {
	e := s.plan(lo, hi)
	if e.Relink == nil && e.Bench == nil { // whose blocks have new layouts anyway
		e.Relink = new(true)
	}
	return e
}

func (s *Search) tell(format string, args ...any) {
	if s.Tell != nil {
		s.Tell(format, args...)
	}
}

// Ask implements campaign.Question.
func (s *Search) Ask(ctx context.Context, measure Measure) error {
	s.runs = 0
	return s.ask(ctx, measure)
}

func (s *Search) ask(ctx context.Context, measure Measure) error {
	err := s.one(ctx, measure)
	if err == nil && s.Branch != nil && s.Answer.Kind == Found {
		err = s.inside(ctx, measure)
	}
	if err == nil && s.All && (s.Answer.Kind == Found || s.Answer.Kind == Range) {
		err = s.rest(ctx, measure)
	}
	s.Done = err == nil
	return err
}

// one looks for one change.
func (s *Search) one(ctx context.Context, measure Measure) error {
	last := len(s.Versions) - 1
	s.sums, s.obs, s.blocks = map[int]string{}, nil, 0
	s.Answer = Answer{Kind: NoChange, Yardstick: Yardstick{Metric: s.Metric}, Hi: last, Skipped: map[int]error{}}
	a := &s.Answer
	if s.chosen != nil {
		a.Yardstick = *s.chosen
	}
	for _, v := range []int{0, last} {
		if err := s.build(ctx, v); err != nil {
			return fmt.Errorf("%s, an end of the search: %w", s.Versions[v].Value, err)
		}
	}
	if s.sums[0] != "" && s.sums[0] == s.sums[last] {
		a.Kind = OneBuild
		return nil
	}
	ends := s.judged(0, last)
	ends.Within = pairTime // a search is asked for because somebody saw a change, so it is worth more than a run's two minutes
	table, results, err := s.run(ctx, measure, "ends", ends, nil, 0, last)
	if table != nil {
		a.EndsRun = s.name("ends")
		s.ends(table)
		s.obs, s.blocks = nil, 0
		s.keep([]int{0, last}, results) // as the metric is known now
	}
	if err != nil || a.Kind != Undecided {
		return err
	}
	if a.Name != "" && s.chosen == nil { // which code it runs can be told now
		for _, v := range []int{0, last} {
			if err := s.build(ctx, v); err != nil {
				return err
			}
		}
	}
	return s.look(ctx, measure)
}

// ends says whether the ends differ, and in which metric the change is looked for.
func (s *Search) ends(t *compare.Table) {
	a := &s.Answer
	if s.chosen != nil {
		a.Ends = a.versus(t)
		differ := a.Ends.Verdict == stats.Worse || a.Ends.Verdict == stats.Better
		if differ && (s.wanted == "" || a.Ends.Verdict == s.wanted) { // else it explains nothing of the merge
			a.Kind = Undecided
		}
		return
	}
	y, v := choose(t, s.Metric)
	a.Ends = v
	switch {
	case v.Verdict == stats.Worse || s.Metric != "" && v.Verdict == stats.Better:
		a.Kind, a.Yardstick, a.Others = Undecided, y, others(t, y, s.Metric)
	case t.Kind == compare.OfBenchmarks && len(t.Rows) == 0 && len(t.SameCode) > 0:
		a.Kind = OneBuild
	case t.Kind == compare.OfBenchmarks:
		a.Ends = compare.Versus{} // of one of many
	}
}

// look measures versions between the ends until one gap is left, and then its two versions alone.
func (s *Search) look(ctx context.Context, measure Measure) error {
	a := &s.Answer
	looks := 3 + int(math.Ceil(2*math.Log(float64(len(s.Versions)))/math.Log(float64(s.Most-1)))) // twice as many as without noise, and some
	for stuck := 0; stuck < mostStuck && looks > 0; {
		lo, hi := s.narrow()
		a.Lo, a.Hi = lo, hi
		mids := Between(a.Posterior, lo, hi, s.Most-2, func(v int) bool { return a.Skipped[v] != nil })
		if len(mids) == 0 {
			same := s.sums[lo] != "" && s.sums[lo] == s.sums[hi]
			if same || slices.ContainsFunc(a.Failed, func(p Pair) bool { return p.Lo == lo && p.Hi == hi }) {
				return nil
			}
			done, err := s.pair(ctx, measure, lo, hi)
			if done || err != nil || len(a.Failed) == mostPairs {
				return err
			}
			continue
		}
		fresh, err := s.buildAll(ctx, lo, hi, mids)
		if err != nil {
			return err
		}
		if !fresh {
			continue // what was built narrows the search, or leaves a version out
		}
		s.tell("the change is after %s, and at %s at the latest: %d versions", s.Versions[lo].Value, s.Versions[hi].Value, hi-lo)
		alive := slices.Concat([]int{lo}, mids, []int{hi})
		from := len(s.obs)
		_, _, err = s.run(ctx, measure, "look", s.plan(alive...), func(_ *compare.Table, rs []*dyno.Result) bool {
			s.obs = append(s.obs[:from:from], s.observe(alive, rs)...)
			l, h := s.narrow()
			n := blocksOf(rs)
			open := slices.ContainsFunc(mids, func(v int) bool { return v > l && v < h && (n < leastLook || s.known(v)) }) // what fails in each block tells nothing
			return n >= leastLook && !open || n >= mostLook
		}, alive...)
		if err != nil {
			return err
		}
		looks--
		stuck++
		if l, h := s.narrow(); 5*(h-l) <= 4*(hi-lo) {
			stuck = 0
		}
	}
	a.Lo, a.Hi = s.narrow()
	return nil
}

// pair compares two versions alone. done says that the answer is found.
func (s *Search) pair(ctx context.Context, measure Measure, lo, hi int) (done bool, err error) {
	a := &s.Answer
	plan := s.judged(lo, hi)
	plan.Within = pairTime
	if len(plan.Profile) == 0 {
		plan.Profile = []string{"cpu", "allocs"}
	}
	s.tell("%s against %s, alone on fresh blocks", s.Versions[hi].Value, s.Versions[lo].Value)
	rule := stats.Rule{Alpha: s.Error / mostPairs, Negligible: -1}
	if a.Name != "" { // of a service the verdict allows for what is negligible
		rule.Negligible = negligible(s.Plan)
	}
	differs := func(t *compare.Table, rs []*dyno.Result) (p float64, ok bool) {
		ranks := s.ranks(t, s.observe([]int{lo, hi}, rs))
		ranks.Adjusted, rule.Better = ranks.Single(), s.better(t)
		sure := a.Name != "" || a.versus(t).Verdict == a.Ends.Verdict // of a benchmark the verdict is that of signed ranks, at few of the looks
		return ranks.Adjusted, sure && ranks.Verdict(rule) == a.Ends.Verdict
	}
	table, results, err := s.run(ctx, measure, "pair", plan, func(t *compare.Table, rs []*dyno.Result) bool {
		_, ok := differs(t, rs)
		return blocksOf(rs) >= leastPair && (ok || a.versus(t).Verdict == stats.Same)
	}, lo, hi)
	if table == nil {
		return false, err
	}
	v := a.versus(table)
	p, ok := differs(table, results)
	if !ok {
		a.Failed = append(a.Failed, Pair{lo, hi, v, s.name("pair")})
		return false, err
	}
	if a.Name != "" {
		v.Verdict, v.P = a.Ends.Verdict, p
	}
	a.Kind = Found
	if hi-lo > 1 {
		a.Kind = Range
	}
	a.Lo, a.Hi, a.Pair, a.PairRun, a.PairTable = lo, hi, v, s.name("pair"), table
	a.Partly = a.partly()
	return true, err
}

// narrow is where the change may be, by the model, and since equal programs have no change between them.
func (s *Search) narrow() (lo, hi int) {
	s.Answer.Posterior = Posterior(len(s.Versions)-1, s.obs)
	lo, hi = bracket(s.Answer.Posterior, doubt)
	for lo > 0 && !s.known(lo) { // what was not measured tells nothing
		lo--
	}
	for hi < len(s.Versions)-1 && !s.known(hi) {
		hi++
	}
	for v := hi - 1; v > lo; v-- {
		if sum := s.sums[v]; sum != "" && sum == s.sums[lo] {
			lo = v
		}
	}
	for v := lo + 1; v < hi; v++ {
		if sum := s.sums[v]; sum != "" && sum == s.sums[hi] {
			hi = v
		}
	}
	return lo, hi
}

// known reports whether a version was measured.
func (s *Search) known(version int) bool {
	return slices.ContainsFunc(s.obs, func(o Observation) bool { return o.Version == version })
}

// buildAll builds versions between two. fresh says that all can be measured, and none is the program of one of the two.
func (s *Search) buildAll(ctx context.Context, lo, hi int, versions []int) (fresh bool, err error) {
	fresh = true
	for _, v := range versions {
		if _, ok := s.sums[v]; !ok {
			if err := s.build(ctx, v); ctx.Err() != nil {
				return false, context.Cause(ctx)
			} else if err != nil {
				text, _, _ := strings.Cut(err.Error(), "\n")
				s.tell("%s is left out: %s", s.Versions[v].Value, text)
				s.Answer.Skipped[v], fresh = err, false
				continue
			}
		}
		if sum := s.sums[v]; sum != "" && (sum == s.sums[lo] || sum == s.sums[hi]) {
			fresh = false
		}
	}
	return fresh, nil
}

func (s *Search) build(ctx context.Context, v int) error {
	sum, err := s.Build(ctx, v)
	if err == nil {
		s.sums[v] = sum
		s.Answer.Built = len(s.sums)
	}
	return err
}

// run measures versions side by side. A version none of whose trials finished is left out from then on.
func (s *Search) run(ctx context.Context, measure Measure, what string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool, versions ...int) (*compare.Table, []*dyno.Result, error) {
	s.runs++
	from := len(s.obs)
	table, results, err := measure(ctx, s.name(what), plan, enough)
	s.obs = s.obs[:from]
	s.plain(results)
	s.keep(versions, results)
	for i, v := range versions[1 : len(versions)-1] { // the ends of a run were measured before
		why := failed(plan.Settings[i+1], results)
		if why == "" && err == nil && !s.known(v) { // as of a benchmark that it does not have
			why = s.Answer.key() + " was not measured there"
		}
		if why != "" {
			s.tell("%s is left out: %s", s.Versions[v].Value, why)
			s.Answer.Skipped[v] = errors.New(why)
		}
	}
	return table, results, err
}

// plain goes on by differences once a value is 0, which has no ratio.
func (s *Search) plain(rs []*dyno.Result) {
	a := &s.Answer
	if a.Plain || a.Metric == "" || !slices.ContainsFunc(rs, func(r *dyno.Result) bool { return r.Trial.For == "" && r.Err == "" && a.zero(r) }) {
		return
	}
	a.Plain = true
	for i := range s.obs {
		s.obs[i].Value = math.Exp(s.obs[i].Value)
	}
}

// failed says why a setting has no finished trial, though some were begun; else "".
func failed(of dyno.Setting, rs []*dyno.Result) (why string) {
	for _, r := range dyno.LastOfEach(rs) {
		if r.Trial.Setting.String() != of.String() || r.Trial.For != "" {
			continue
		}
		if r.Err == "" {
			return ""
		}
		why, _, _ = strings.Cut(r.Err, "\n")
	}
	return why
}

// name is that of the run under way.
func (s *Search) name(what string) string { return fmt.Sprintf("%d-%s", s.runs, what) }

func blocksOf(rs []*dyno.Result) (n int) {
	for _, r := range rs {
		if r.Trial.For == "" {
			n = max(n, r.Trial.Block)
		}
	}
	return n
}

// keep takes the results of a run that is over.
func (s *Search) keep(versions []int, rs []*dyno.Result) {
	s.obs = append(s.obs, s.observe(versions, rs)...)
	s.blocks += blocksOf(rs)
	s.Answer.Measured = s.measured()
}

// observe reads the values of versions.
func (s *Search) observe(versions []int, rs []*dyno.Result) (obs []Observation) {
	for _, r := range dyno.LastOfEach(rs) {
		value, ok := s.Answer.value(r)
		i := slices.IndexFunc(versions, func(v int) bool { return dyno.Setting{s.Versions[v]}.String() == r.Trial.Setting.String() })
		if i < 0 || !ok || r.Trial.For != "" || r.Err != "" {
			continue
		}
		obs = append(obs, Observation{Version: versions[i], Block: s.blocks + r.Trial.Block, Value: value})
	}
	return obs
}

// measured sums up what is known of each version.
func (s *Search) measured() (all []Measured) {
	byBlock := map[int][]Observation{}
	for _, o := range s.obs {
		byBlock[o.Block] = append(byBlock[o.Block], o)
	}
	level := map[int]float64{0: 0} // above the good end
	for v := range s.Versions {
		var changes []float64
		for _, obs := range byBlock {
			own := slices.IndexFunc(obs, func(o Observation) bool { return o.Version == v })
			if own < 0 {
				continue
			}
			ref := slices.MinFunc(obs, func(a, b Observation) int { return a.Version - b.Version })
			if base, ok := level[ref.Version]; ok {
				changes = append(changes, obs[own].Value-ref.Value+base)
			}
		}
		if len(changes) > 0 {
			level[v] = median(changes)
			m := Measured{Version: v, Blocks: len(changes), Change: level[v]}
			if !s.Answer.Plain {
				m.Change = math.Exp(m.Change)
			}
			all = append(all, m)
		}
	}
	return all
}
