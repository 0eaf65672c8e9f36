package upgrade

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Cause is what is known of who changed a metric.
type Cause struct {
	Metric dyno.Metric
	Change compare.Versus // new against old, where it was found

	Found []Candidate // the last is the answer, those before it contain it; none if nothing explains the change
	Alone Alone       // of Found: alone on fresh blocks
	Cut   bool        // the search did not come to its end

	Halves  []Halves  // what was looked at, in order
	Unsure  []Alone   // that were measured alone, and did not surely turn the change back
	Skipped []Skipped // that could not be turned back
}

// Halves are suspects of one run, each half turned back together.
type Halves struct {
	Run   string
	Parts []Part
}

// A Part is a half.
type Part struct {
	Back   []Candidate
	Versus compare.Versus // against the new version
	Moves  Moves
}

// Moves says whether turning back moves a metric back.
type Moves string

// The answers of a half.
const (
	Yes   Moves = "yes"   // surely
	No    Moves = "no"    // surely less than half of the change
	Maybe Moves = "maybe" // neither is sure
)

// An Alone is one candidate turned back, on blocks of its own.
type Alone struct {
	Candidate
	Run    string
	Back   compare.Versus // with it turned back, against the new version
	Left   compare.Versus // with it turned back, against the old version
	Change compare.Versus // the new version against the old one, on the same blocks
	Moves  Moves
	Judged []compare.Judgement // what is allowed, with it turned back
	Table  *compare.Table      // against the old version: of the new one, and of that with it turned back
}

// A Skipped candidate could not be turned back.
type Skipped struct {
	Candidate
	Why error
}

// Limits of a search.
const (
	halfTime  = dyno.Duration(3 * 60e9)  // most, of a run of halves
	aloneTime = dyno.Duration(6 * 60e9)  // most, of a candidate alone
	mostTime  = dyno.Duration(15 * 60e9) // of either where blocks take long
	mostAlone = 3                        // candidates that are measured alone; these share the error
	mostRuns  = 12                       // of a search
	someError = 0.05                     // chance that a candidate which changed nothing is called the cause
)

// A search is for the cause of one change.
type search struct {
	*Upgrade
	*Cause
	measure Measure
	alone   int
	left    int              // runs
	seen    map[string]Moves // what halves said of single candidates
}

// explain searches for the candidate that changed a metric.
func (u *Upgrade) explain(ctx context.Context, measure Measure, metric dyno.Metric, change compare.Versus) error {
	u.Answer.Cause = &Cause{Metric: metric, Change: change, Cut: true}
	s := &search{Upgrade: u, Cause: u.Answer.Cause, measure: measure, left: mostRuns, seen: map[string]Moves{}}
	_, err := s.among(ctx, u.Candidates, nil)
	s.Cut = err != nil
	return err
}

// among searches in a list, by halves. path are the candidates that contain those of the list.
func (s *search) among(ctx context.Context, list, path []Candidate) (found bool, err error) {
	queue := [][]Candidate{list}
	for len(queue) > 0 && s.left > 0 {
		set := queue[0]
		queue = queue[1:]
		var next [][]Candidate
		if len(set) == 1 {
			found, err = s.single(ctx, set[0], path)
		} else if len(set) > 1 {
			next, err = s.split(ctx, set)
		}
		if found || err != nil {
			return found, err
		}
		queue = slices.Concat(next, queue)
	}
	return false, nil
}

// single is among for one candidate: what it is made of first, and then itself.
func (s *search) single(ctx context.Context, c Candidate, path []Candidate) (found bool, err error) {
	if len(c.Within) > 0 && s.seen[c.Name] == Yes {
		if found, err = s.among(ctx, c.Within, append(slices.Clone(path), c)); found || err != nil {
			return found, err
		}
	}
	if s.alone == mostAlone || s.left == 0 {
		return false, nil
	}
	if kept, _, err := s.buildable(ctx, []Candidate{c}); len(kept) == 0 {
		return false, err
	}
	one, err := s.turn(ctx, c)
	if one == nil {
		return false, err
	}
	if one.Moves != Yes {
		s.Unsure = append(s.Unsure, *one)
		return false, err
	}
	s.Found, s.Alone = append(slices.Clone(path), c), *one
	if len(c.Within) > 0 && s.seen[c.Name] != Yes && err == nil {
		s.seen[c.Name] = Yes
		_, err = s.among(ctx, c.Within, append(slices.Clone(path), c)) // replaces the answer by a part of it
	}
	return true, err
}

// split turns back each half of a set, side by side, and returns what is to be searched, the likeliest first.
func (s *search) split(ctx context.Context, set []Candidate) (next [][]Candidate, err error) {
	mid := (len(set) + 1) / 2
	halves := [][]Candidate{set[:mid], set[mid:]}
	for i, half := range halves {
		kept, together, err := s.buildable(ctx, half)
		if err != nil {
			return nil, err
		}
		if together && len(kept) == len(half) {
			continue
		}
		next = [][]Candidate{slices.Concat(kept, halves[1-i])}
		if !together {
			next = append(slices.Collect(slices.Chunk(kept, 1)), halves[1-i])
		}
		return next, nil
	}
	plan := s.plan(s.New, s.With(halves[0]...), s.With(halves[1]...), s.Old)
	plan.Primary, plan.Within, plan.Thresholds = []string{s.Metric.Name}, s.within(halfTime, 12*4), nil
	s.tell("which of %d changed %s: in one %s turned back, in another %s", len(set), s.Metric.Name, names(halves[0]), names(halves[1]))
	s.left--
	run := s.name("halves")
	table, _, err := s.measure(ctx, run, plan, func(t *compare.Table, rs []*dyno.Result) bool {
		return blocksOf(rs) >= compare.FewestBlocks && s.moves(t, 1, someError) != Maybe && s.moves(t, 2, someError) != Maybe
	})
	if table == nil || len(table.Settings) != 4 {
		return nil, err
	}
	h := Halves{Run: run}
	for i, half := range halves {
		p := Part{half, table.Settings[i+1].Versus[s.Metric.Name], s.moves(table, i+1, someError)}
		h.Parts = append(h.Parts, p)
		if len(half) == 1 {
			s.seen[half[0].Name] = p.Moves
		}
	}
	s.Halves = append(s.Halves, h)
	return s.followed(h.Parts), err
}

// leastShare is the part of a change that a half has to turn back, by the estimate, to be followed where nothing is sure.
const leastShare = 0.25

// followed are the halves that are searched further, the likelier first.
func (s *search) followed(parts []Part) (next [][]Candidate) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool {
		return p.Moves == No || p.Moves == Maybe && !(s.share(p.Versus) >= leastShare)
	})
	slices.SortStableFunc(parts, func(a, b Part) int {
		if a.Moves != b.Moves && a.Moves == Yes {
			return -1
		} else if a.Moves != b.Moves {
			return 1
		}
		return cmp.Compare(s.share(b.Versus), s.share(a.Versus))
	})
	for _, p := range parts {
		next = append(next, p.Back)
	}
	return next
}

// within is the most time of a run: some, or what so many trials take by the first run.
func (s *search) within(some dyno.Duration, trials int) dyno.Duration {
	all := s.Answer.PerBlock * time.Duration(trials) / 2
	return min(max(some, dyno.Duration(all.Round(time.Second))), mostTime)
}

func names(set []Candidate) string {
	var all []string
	for _, c := range set {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// share is how much of the change is turned back, 1 if all.
func (s *search) share(v compare.Versus) float64 {
	return -math.Log(v.Ratio) / math.Log(s.Change.Ratio)
}

// moves reports whether a setting differs from the new version, its baseline, as the old one does: by the verdict, and by signed ranks,
// which suppose nothing of the noise, and may be looked at after any block.
func (s *search) moves(t *compare.Table, setting int, alpha float64) Moves {
	v := t.Settings[setting].Versus[s.Metric.Name]
	back := stats.Better
	if s.Change.Verdict == stats.Better {
		back = stats.Worse
	}
	ranks := v.Gate
	ranks.Adjusted = ranks.Single()
	if v.Verdict == back && ranks.Verdict(stats.Rule{Alpha: alpha, Negligible: -1, Better: s.Metric.Better}) == back {
		return Yes
	}
	if math.IsNaN(v.Lo) {
		return Maybe
	}
	half := math.Log(s.Change.Ratio) / 2
	if half > 0 && math.Log(v.Lo) > -half || half < 0 && math.Log(v.Hi) < -half {
		return No
	}
	return Maybe
}

// turn measures a candidate turned back, alone on fresh blocks. It is nil if nothing was measured.
func (s *search) turn(ctx context.Context, c Candidate) (*Alone, error) {
	plan := s.judged(s.New, s.With(c), s.Old)
	plan.Primary, plan.Within, plan.Thresholds = []string{s.Metric.Name}, s.within(aloneTime, 16*3), nil
	s.tell("%s turned back alone, on fresh blocks", c.Name)
	s.left--
	s.alone++
	const alpha = someError / mostAlone
	run := s.name("alone")
	table, results, err := s.measure(ctx, run, plan, func(t *compare.Table, rs []*dyno.Result) bool {
		return blocksOf(rs) >= compare.FewestBlocks && s.moves(t, 1, alpha) != Maybe
	})
	if table == nil || len(table.Settings) != 3 {
		return nil, err
	}
	own := compare.Tabulate(results, compare.Options{Settings: []dyno.Setting{s.Old, s.New, s.With(c)}, Sequential: true, Thresholds: s.versions().Thresholds})
	return &Alone{
		Candidate: c, Run: run, Moves: s.moves(table, 1, alpha), Table: own,
		Back:   table.Settings[1].Versus[s.Metric.Name],
		Change: own.Settings[1].Versus[s.Metric.Name],
		Left:   own.Settings[2].Versus[s.Metric.Name],
		Judged: slices.DeleteFunc(s.judgements(own), func(j compare.Judgement) bool { return j.Setting != 2 }),
	}, err
}

// buildable leaves out the candidates that cannot be turned back. together says that the others can be in one program.
func (s *search) buildable(ctx context.Context, set []Candidate) (kept []Candidate, together bool, err error) {
	try := func(set ...Candidate) error {
		sum, err := s.Build(ctx, s.With(set...))
		if err == nil && sum != "" && sum == s.sum && !slices.ContainsFunc(set, func(c Candidate) bool { return c.Source == Debug }) {
			err = errNothing
		}
		return err
	}
	why := try(set...)
	switch {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case why == nil:
		return set, true, nil
	}
	for _, c := range set {
		own := why
		if why != errNothing && len(set) > 1 {
			own = try(c)
		}
		switch {
		case ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case own == nil:
			kept = append(kept, c)
		default:
			s.skip(c, own)
		}
	}
	return kept, len(kept) < len(set), nil // all, and not together: only one by one
}

func (s *search) skip(c Candidate, why error) {
	text, _, _ := strings.Cut(why.Error(), "\n")
	s.tell("%s is left out: %s", c.Name, text)
	s.Skipped = append(s.Skipped, Skipped{c, why})
}
