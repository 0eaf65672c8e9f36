package bisect

import (
	"context"
	"slices"
)

// rest looks for further changes before and after the one that was found, of the same metric. Each part is a search of its own, which begins
// with its ends. The answers have the indexes of s.
func (s *Search) rest(ctx context.Context, measure Measure) error {
	last := len(s.Versions) - 1
	for _, part := range [][2]int{{0, s.Answer.Lo}, {s.Answer.Hi, last}} {
		from, to := part[0], part[1]
		if from == to {
			continue
		}
		s.tell("further changes from %s to %s", s.Versions[from].Value, s.Versions[to].Value)
		chosen := s.Answer.Yardstick
		sub := &Search{Problem: s.Problem, Tell: s.Tell, runs: s.runs, chosen: &chosen}
		sub.Versions = s.Versions[from : to+1]
		sub.Build = func(ctx context.Context, v int) (string, error) { return s.Build(ctx, from+v) }
		if s.Branch != nil {
			sub.Branch = func(ctx context.Context, v int) (*Search, error) { return s.Branch(ctx, from+v) }
		}
		err := sub.ask(ctx, measure)
		s.runs = sub.runs
		for v, sum := range sub.sums {
			s.sums[from+v] = sum
		}
		if sub.Answer.Begun() {
			s.take(from, &sub.Answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inside looks for the change among the commits that the answer merges. The search that Branch returned has what is found. If it fails, the answer
// of s stays.
func (s *Search) inside(ctx context.Context, measure Measure) error {
	sub, err := s.Branch(ctx, s.Answer.Hi)
	if sub == nil || err != nil {
		return err
	}
	s.tell("the commits that %s merges", s.Versions[s.Answer.Hi].Value)
	chosen := s.Answer.Yardstick
	sub.Tell, sub.runs, sub.chosen, sub.wanted = s.Tell, s.runs, &chosen, s.Answer.Pair.Verdict
	err = sub.ask(ctx, measure)
	s.runs = sub.runs
	if ctx.Err() != nil {
		return err
	}
	sub.Answer.Why = err
	return nil
}

// Begun reports whether the ends were compared; else the search was cut off before its first block.
func (a *Answer) Begun() bool { return a.Ends.Verdict != "" || a.Kind == OneBuild }

// take keeps the answer about the versions from one on, and those about parts of these.
func (s *Search) take(from int, part *Answer) {
	a := &s.Answer
	for _, one := range append([]Answer{*part}, part.More...) {
		one.Lo, one.Hi, one.More = one.Lo+from, one.Hi+from, nil
		a.More = append(a.More, one)
	}
	for v, why := range part.Skipped {
		a.Skipped[from+v] = why
	}
	for _, p := range part.Failed {
		a.Failed = append(a.Failed, Pair{p.Lo + from, p.Hi + from, p.Versus, p.Run})
	}
	at := func(v int) int { return slices.IndexFunc(a.Measured, func(m Measured) bool { return m.Version == v }) }
	for _, m := range part.Measured {
		base := at(from)
		m.Version += from
		if have := at(m.Version); have >= 0 {
			a.Measured[have].Blocks += m.Blocks
			continue
		}
		if base < 0 || a.Plain != part.Plain { // no change against the good end can be told
			continue
		}
		if a.Plain {
			m.Change += a.Measured[base].Change
		} else {
			m.Change *= a.Measured[base].Change
		}
		a.Measured = append(a.Measured, m)
	}
	slices.SortFunc(a.Measured, func(m, n Measured) int { return m.Version - n.Version })
	a.Built = len(s.sums)
}
