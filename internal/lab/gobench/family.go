package gobench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// A unit is one benchmark or one family: a launch measures it in one go.
type unit []*pairing

func (u unit) least() (d time.Duration) {
	for _, p := range u {
		d += p.pace.least()
	}
	return d
}

// units are in the order of the first benchmark of each.
func units(open []*pairing) (us []unit) {
	at := map[string]int{}
	for _, p := range open {
		key := p.pkg + " " + p.family
		if i, ok := at[key]; ok && p.family != "" {
			us[i] = append(us[i], p)
			continue
		}
		at[key] = len(us)
		us = append(us, unit{p})
	}
	return us
}

// familyTimes is how many times its own survey has to take what runs around a benchmark, to be worth a family.
const familyTimes = 0.25

// families finds benchmarks that are parts of one whose own work, such as loading data, takes so long that it cannot run anew for each of
// them. They are measured in one run of it, with the same number of iterations, and without a survey.
func (w *Run) families() {
	room := w.surveyRoom()
	members := map[string][]*pairing{}
	for _, p := range w.open() {
		around := 0.0
		for _, l := range p.in {
			around += l.around / float64(len(p.in))
		}
		outer, _, _ := strings.Cut(p.in[0].Printed, "/")
		same := !slices.ContainsFunc(p.in, func(l *benchmark) bool { return l.Printed != p.in[0].Printed })
		if same && around > familyTimes*room {
			members[p.pkg+" "+outer] = append(members[p.pkg+" "+outer], p)
		}
	}
	for key, ps := range members {
		if len(ps) < 2 {
			continue
		}
		for _, p := range ps {
			_, p.family, _ = strings.Cut(key, " ")
			for _, l := range p.in {
				l.sharers = len(ps)
			}
			w.repace(p)
			p.surveyed = true
		}
	}
}

// repace finds the pace by what is known now.
func (w *Run) repace(p *pairing) {
	p.pace, p.stale = paceOf(p.in, time.Duration(w.e.Bench.Sample), cmp.Or(w.longest, longestSec), turnsRuntime(w.e)), false
}

// leave takes a benchmark out of its family: from the next block on it runs by itself.
func (p *pairing) leave() {
	p.family, p.stale = "", true
	for _, l := range p.in {
		l.sharers = 1
	}
}

// parts are the elements of a family's names after the first.
func (u unit) parts() (elems []string) {
	for _, p := range u {
		_, rest, _ := strings.Cut(p.in[0].Printed, "/")
		first, _, _ := strings.Cut(rest, "/")
		if !slices.Contains(elems, first) {
			elems = append(elems, first)
		}
	}
	return elems
}

// iterations is the number that suits most of a family, and takes none too long.
func (u unit) iterations() int64 {
	var ns []float64
	most := float64(mostN)
	for _, p := range u {
		ns = append(ns, float64(p.pace.n))
		for _, l := range p.in {
			most = min(most, longestSec/(l.sec()+l.grows))
		}
	}
	return max(1, int64(min(middle(ns), most)))
}

// A relay is a family while it runs: in each setting one of its benchmarks after the other.
type relay struct {
	*blockRun
	u     unit
	team  []*surveyor
	n     int64
	pairs int
	now   []string // the benchmark that runs in each setting; "" after the last
}

// together measures a family, one benchmark after the other as it runs them. After an error it says in which setting, and who of the family
// is to blame. Who else has no samples leaves the family, and shows by itself what is wrong.
func (b *blockRun) together(ctx context.Context, u unit, team []*surveyor) (samples map[*pairing][][]dyno.Values, blamed unit, failed int, err error) {
	r := &relay{b, u, team, u.iterations(), mostPairs, make([]string, len(team))}
	limit := time.Duration(0)
	for _, p := range u {
		p.n = r.n
		r.pairs = min(r.pairs, p.pace.pairsIn(b.room(p)))
		limit += hangLimit(p.pace.launch)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s was stopped after %v", u[0].family, limit.Round(time.Second)))
	defer cancel()
	for _, i := range b.rng.Perm(len(team)) {
		batch, err := team[i].t.Begin(ctx, u[0].family, u.parts(), fmt.Sprintf("%dx", r.n), endlessCount, 1)
		if r.took(i, batch); err != nil {
			return nil, nil, i, err
		}
	}
	samples = map[*pairing][][]dyno.Values{}
	for {
		name := r.now[0]
		alike := !slices.ContainsFunc(r.now, func(other string) bool { return other != name })
		at := slices.IndexFunc(u, func(p *pairing) bool { return p.in[0].Printed == name })
		switch {
		case alike && name == "":
			return samples, nil, 0, nil
		case alike && at >= 0:
			p := u[at]
			got, failed, err := b.pairs(ctx, p, team, r.pairs)
			if err != nil {
				return samples, unit{p}, failed, err
			}
			samples[p] = got
			p.learn(samples[p])
		}
		moved := false
		for _, i := range b.rng.Perm(len(team)) {
			name := r.now[i]
			wanted := slices.ContainsFunc(u, func(p *pairing) bool { return p.in[0].Printed == name })
			if name == "" || !alike && wanted { // it waits for the others
				continue
			}
			moved = true
			if err := r.advance(ctx, i); err != nil {
				return samples, nil, i, err
			}
		}
		if !moved { // they have lost one another, as where a benchmark fails by chance
			for i, v := range team {
				if r.now[i] == "" {
					continue
				}
				if v.base, err = v.t.End(ctx); err != nil {
					return samples, nil, i, err
				}
			}
			return samples, nil, 0, nil
		}
	}
}

// advance goes on to the next benchmark of a setting.
func (r *relay) advance(ctx context.Context, i int) error {
	before := r.now[i]
	batch, err := r.team[i].t.Next(ctx)
	for r.took(i, batch); err == nil && r.now[i] == before; r.took(i, batch) {
		batch, err = r.team[i].t.Turn(ctx, 1)
	}
	return err
}

// took notes what runs in a setting after a turn.
func (r *relay) took(i int, batch Batch) {
	r.now[i] = ""
	switch {
	case batch.Ended:
		r.team[i].base = batch.Totals
	case len(batch.Results) > 0:
		r.now[i] = nameOf(batch.Results[len(batch.Results)-1].Name, r.u[0].in[i].procs)
	}
}
