package tracking

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/campaign/bisecting"
	"github.com/dynolab/dyno/internal/report/bisected"
	"github.com/dynolab/dyno/internal/report/tracked"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/track"
)

// A looking compares the commits on either side of a possible change on fresh blocks, in one metric or several. It implements campaign.Question.
type looking struct {
	pointing
	at       []track.Candidate // of one metric each; the first says where
	verdicts []track.Verdict
}

// Subjects implements campaign.Question.
func (l *looking) Subjects() *dyno.Experiment { return l.of(l.names...) }

// Ask implements campaign.Question.
func (l *looking) Ask(ctx context.Context, measure campaign.Measure) error {
	all := l.plan.Resolved()
	_, results, err := measure(ctx, "look", l.Subjects(), func(_ *compare.Table, rs []*dyno.Result) bool {
		l.judge(rs, &all)
		return track.Enough(l.verdicts)
	})
	l.judge(results, &all)
	return err
}

func (l *looking) judge(rs []*dyno.Result, all *dyno.Experiment) {
	l.results, l.verdicts = rs, nil
	from, to := l.values(l.names[0]), l.values(l.names[1])
	for _, c := range l.at {
		l.verdicts = append(l.verdicts, track.Judge(logs(to[c.Metric], from[c.Metric]), float64(*all.Negligible)))
	}
}

func (l *looking) said() campaign.Answer {
	var shown, not []string
	for i, v := range l.verdicts {
		if v.Shown {
			shown = append(shown, l.at[i].Metric)
		} else {
			not = append(not, l.at[i].Metric)
		}
	}
	text := fmt.Sprintf("From %s to %s: ", short(l.names[0]), short(l.names[1]))
	if len(shown) > 0 {
		text += strings.Join(shown, " and ") + " changed. "
	}
	if len(not) > 0 {
		text += strings.Join(not, " and ") + " not shown to differ."
	}
	return &tracked.Point{Dyno: l.dyno, Sentence: strings.TrimSpace(text)}
}

// Checking says how possible changes are looked at.
type Checking struct {
	Rev    string
	Most   int           // looks
	Within time.Duration // of a look
	NoName bool          // do not search for the commit
	Remote string        // with which lines are exchanged before each look, so that two machines do not look at one place; "" for none
}

// Check looks at possible changes on fresh blocks, one after the other, keeps what came, and adds those that are shown to Shown. waiting is how
// many are left, because of Most or because no more error may be spent.
func (t *Tracking) Check(ctx context.Context, o Checking) (waiting int, err error) {
	if o.Most > 0 && !o.NoName {
		if err := t.unnamed(ctx, o.Rev); err != nil {
			return 0, err
		}
	}
	for looks := 0; ; looks++ {
		if looks < o.Most {
			if err := t.Sync(ctx, o.Remote); err != nil {
				return 0, err
			}
		}
		lines, err := t.Lines(ctx, o.Rev)
		if err != nil {
			return 0, err
		}
		var all []track.Candidate
		for _, line := range lines {
			all = append(all, t.Log.Candidates(line)...)
		}
		if len(all) == 0 || looks >= o.Most || t.Log.Left() == 0 {
			return len(all), nil
		}
		if err := t.look(ctx, track.Together(all, t.Log.Left()), o); err != nil {
			return len(all), err
		}
	}
}

// look looks at one place, in one metric or several, and keeps what came. Where it cannot be measured, that is kept, too, so that others have their
// turn.
func (t *Tracking) look(ctx context.Context, at []track.Candidate, o Checking) error {
	from, to := at[0].From, at[0].To
	var metrics []string
	for _, c := range at {
		metrics = append(metrics, c.Metric)
	}
	t.New().Note("%s may have changed from %s to %s: both on fresh blocks", strings.Join(metrics, ", "), short(from.ID), short(to.ID))
	l := &looking{pointing: pointing{plan: t.onePlan(o.Within), names: []string{from.ID, to.ID}}, at: at}
	l.plan.Primary = metrics
	dir, failed := t.ask(ctx, l, "")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var alarms []track.Alarm
	blocks := 0
	for i, c := range at {
		a := track.Alarm{Metric: c.Metric, Shape: c.Shape, P: 1}
		if failed == nil {
			v := l.verdicts[i]
			if blocks = max(blocks, v.N); !v.Done && v.N < track.Fewest() { // nothing could be shown
				continue
			}
			a = alarmOf(c, v)
		} else {
			a.Why, _, _ = strings.Cut(failed.Error(), "\n")
			t.New().Note("this place is left out: %s", a.Why)
		}
		a.At, a.Name, a.From, a.To, a.Run = now(), t.Log.Start.Name, from.ID, to.ID, dir
		a.FromTree, a.ToTree = from.Tree, to.Tree
		if a.Shown && a.Shape == track.Step && to.Index == from.Index+1 { // no other commit is between
			a.Commit, a.Tree, a.Title = to.ID, to.Tree, to.Title
		}
		alarms = append(alarms, a)
	}
	if len(alarms) == 0 {
		return fmt.Errorf("a look took %d blocks, and it takes %d to show a change (consider: --look-within 20m, or a shorter load in dyno track init)", blocks, track.Fewest())
	}
	if err := t.add(ctx, alarms); err != nil {
		return err
	}
	shown := slices.DeleteFunc(alarms, func(a track.Alarm) bool { return !a.Shown })
	if o.NoName || len(shown) == 0 {
		t.Shown = append(t.Shown, shown...)
		return nil
	}
	return t.named(ctx, shown[0], shown)
}

// unnamed does the searches that were cut off, so that a change is told though the job that showed it was killed. What is not in the history waits.
func (t *Tracking) unnamed(ctx context.Context, rev string) error {
	lines, err := t.Lines(ctx, rev)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(t.Log.Alarms), func(a track.Alarm) bool { return !a.Shown || a.Searched })
	for len(left) > 0 {
		first := left[0]
		one := func(a track.Alarm) bool { return a.From == first.From && a.To == first.To && a.Run == first.Run }
		at := slices.DeleteFunc(slices.Clone(left), func(a track.Alarm) bool { return !one(a) })
		left = slices.DeleteFunc(slices.Clone(left), one)
		for _, line := range lines {
			if c, ok := line.Change(&first); ok {
				if err := t.named(ctx, c.Alarm, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add keeps alarms.
func (t *Tracking) add(ctx context.Context, alarms []track.Alarm) error {
	var lines []json.RawMessage
	for _, a := range alarms {
		line, err := a.Line()
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if err := t.Ledger.Add(ctx, lines); err != nil {
		return err
	}
	return t.Read(ctx)
}

// named searches for the commit of a change that was shown in some metrics, keeps what it found, and adds them to Shown. found is one of them, with
// the hashes that commits have in the history now.
func (t *Tracking) named(ctx context.Context, found track.Alarm, shown []track.Alarm) error {
	if err := t.search(ctx, &found); err != nil {
		return err
	}
	for i := range shown {
		a := &shown[i]
		if a.Searched = true; found.Commit != "" {
			a.Shape, a.Commit, a.Tree, a.Title, a.Function = track.Step, found.Commit, found.Tree, found.Title, found.Function
		}
	}
	t.Shown = append(t.Shown, shown...)
	return t.add(ctx, shown)
}

// alarmOf is what fresh blocks say of a candidate.
func alarmOf(c track.Candidate, v track.Verdict) track.Alarm {
	a := track.Alarm{Metric: c.Metric, Shape: c.Shape, Shown: v.Shown, Blocks: v.N, Alpha: track.Alpha, P: 1, Worse: v.Shown && v.Ratio > 1}
	for x, y := range map[*float64]float64{&a.Ratio: v.Ratio, &a.Lo: v.Lo, &a.Hi: v.Hi, &a.P: v.Adjusted} {
		if !math.IsNaN(y) && !math.IsInf(y, 0) {
			*x = y
		}
	}
	return a
}

// bisected searches for the commit, and the function, of a change that was shown. If the search fails, the change is shown all the same. The error
// is the context's.
func (t *Tracking) bisected(ctx context.Context, a *track.Alarm) error {
	e := *t.Plan
	r := &store.Record{Question: "bisect", Plan: &e, Flags: map[string][]string{}}
	b, err := bisecting.New(ctx, t.New(), r, &e, "", bisecting.Flags{Good: a.From, Bad: a.To, Metric: dyno.ThresholdName(a.Metric), Error: "5%", Alive: 4})
	var found campaign.Answer
	if err == nil {
		found, _, err = b.Run(ctx)
	}
	var c track.Commit
	report, ok := found.(*bisected.Report)
	if ok = ok && err == nil && report.Kind == bisect.Found; ok {
		c, err = t.Commit(ctx, report.Versions[report.Hi].Name)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		t.New().Note("the commit is not known: %v", err)
	case ok:
		a.Commit, a.Tree, a.Title = c.ID, c.Tree, c.Title
		if f := report.Function; f != nil {
			if a.Function = f.Name; f.File != "" {
				a.Function += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
			}
		}
	}
	return nil
}
