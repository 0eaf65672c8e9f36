package tracking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/git"
	"github.com/dynolab/dyno/internal/report/tracked"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/track"
)

// far is the change against the anchor from which on a new one is taken, as a logarithm: what differs so much meets the machine differently.
const far = 0.4

// leastFar is how many blocks it takes to say so: the error of the next anchor is in all levels after it.
const leastFar = stats.RankBlocks

// A pointing measures one commit against others side by side. It implements campaign.Question.
type pointing struct {
	plan   *dyno.Experiment
	names  []string // commits: the anchor, perhaps the one before, and the one that is asked for
	blocks int
	build  func(ctx context.Context, plan *dyno.Experiment, s dyno.Setting) (string, error)
	same   string // the commit before it in names, if its program is the same: then nothing is measured
	dyno   string // version

	results []*dyno.Result
}

// Subjects implements campaign.Question. The others are built by Ask, as they need not be there any more.
func (p *pointing) Subjects() *dyno.Experiment { return p.of(p.names[len(p.names)-1]) }

func (p *pointing) of(names ...string) *dyno.Experiment {
	e := *p.plan
	e.Factors, e.Settings = nil, nil
	for _, name := range names {
		e.Settings = append(e.Settings, rev(name))
	}
	if e.Relink == nil {
		e.Relink = new(true) // where the linker puts functions is no change
	}
	return &e
}

func rev(name string) dyno.Setting { return dyno.Setting{{Factor: "rev", Value: short(name)}} }

func short(commit string) string { return commit[:min(12, len(commit))] }

// errAnchor is the error of an anchor that cannot be built any more.
var errAnchor = errors.New("the anchor cannot be built")

// Ask implements campaign.Question.
func (p *pointing) Ask(ctx context.Context, measure campaign.Measure) error {
	sums := map[string]string{}
	for i, name := range slices.Clone(p.names) {
		sum, err := p.build(ctx, p.plan, rev(name))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && i == 0:
			return fmt.Errorf("%w: %w", errAnchor, err)
		case err != nil && i < len(p.names)-1: // it is compared with the anchor alone
			p.names = slices.Delete(p.names, i, i+1)
			continue
		case err != nil:
			return err
		}
		sums[name] = sum
	}
	last := len(p.names) - 1
	if own := sums[p.names[last]]; own != "" && own == sums[p.names[last-1]] {
		p.same = p.names[last-1]
		return nil
	}
	_, results, err := measure(ctx, "blocks", p.of(p.names...), func(_ *compare.Table, rs []*dyno.Result) bool { return blocksOf(rs) >= p.blocks })
	p.results = results
	return err
}

func blocksOf(rs []*dyno.Result) (n int) {
	for _, r := range rs {
		if r.Trial.For == "" {
			n = max(n, r.Trial.Block)
		}
	}
	return n
}

// values are the logarithms of the metrics of a commit, by metric and block.
func (p *pointing) values(name string) map[string]map[int]float64 {
	all := map[string]map[int]float64{}
	for _, r := range dyno.LastOfEach(p.results) {
		if r.Trial.For != "" || r.Err != "" || r.Trial.Setting.String() != rev(name).String() {
			continue
		}
		for _, metric := range track.Metrics() {
			if x, ok := r.Values.Get(metric); ok && x > 0 && dyno.Counts(r, metric) {
				if all[metric] == nil {
					all[metric] = map[int]float64{}
				}
				all[metric][r.Trial.Block] = math.Log(x)
			}
		}
	}
	return all
}

// logs are the logarithms of the ratios of one commit to another, in the order of blocks.
func logs(of, to map[int]float64) (all []float64) {
	blocks := slices.Sorted(func(yield func(int) bool) {
		for b := range of {
			if _, ok := to[b]; ok && !yield(b) {
				return
			}
		}
	})
	for _, b := range blocks {
		all = append(all, math.Round((of[b]-to[b])*1e5)/1e5)
	}
	return all
}

// failed is why a trial of any commit failed, "" if none did.
func (p *pointing) failed() string {
	for _, r := range p.results {
		if r.Err != "" {
			why, _, _ := strings.Cut(r.Err, "\n")
			return strings.TrimPrefix(r.Trial.Setting.String(), "rev=") + ": " + why
		}
	}
	return ""
}

// Adding says how a commit is measured.
type Adding struct {
	Rev    string
	Blocks int
	Within time.Duration
	Out    string // run directory; "" is a new one below dyno-runs
}

// ErrAnchor is the error of adding the anchor itself.
var ErrAnchor = errors.New("it is the anchor, to which the others are compared")

// Add measures a commit against the anchor and against the last commit before it that was measured, and keeps its point. If the anchor does not
// build any more, another commit takes its place.
func (t *Tracking) Add(ctx context.Context, o Adding) (*track.Point, error) {
	c, err := t.Commit(ctx, o.Rev)
	if err != nil {
		return nil, err
	}
	if o.Rev == "HEAD" {
		if changes, err := git.Run(ctx, t.Top, nil, "status", "--porcelain", "--untracked-files=no"); err == nil && changes != "" {
			t.New().Note("your uncommitted changes are in no commit, and are not measured")
		}
	}
	if c.ID == t.Log.Start.Anchor {
		return nil, fmt.Errorf("%s: %w", short(c.ID), ErrAnchor)
	}
	if err := t.present(ctx, t.Log.Start.Anchor); err != nil {
		return nil, err
	}
	before, err := t.before(ctx, c)
	if err != nil {
		return nil, err
	}
	p, err := t.measure(ctx, c, before, t.Log.Start.Anchor, o)
	if errors.Is(err, errAnchor) && ctx.Err() == nil {
		p, err = t.anew(ctx, c, before, o, err)
	}
	if err != nil {
		return nil, err
	}
	return p, t.keep(ctx, p)
}

// mostAnchors is how many commits are tried in place of an anchor that cannot be built.
const mostAnchors = 5

// anew measures against another anchor, as the one that there is cannot be built: the last commit before whose level is known, so that levels go
// on, and that can be built. It is the anchor from then on.
func (t *Tracking) anew(ctx context.Context, c track.Commit, before string, o Adding, broken error) (*track.Point, error) {
	tries, err := t.leveled(ctx, cmp.Or(before, c.ID))
	if err != nil {
		return nil, err
	}
	out, n := o.Out, 1
	for _, other := range slices.Backward(tries) {
		if other.ID == t.Log.Start.Anchor || other.ID == c.ID {
			continue
		}
		if n++; n > 1+mostAnchors {
			break
		}
		if out != "" {
			o.Out = fmt.Sprintf("%s-%d", out, n)
		}
		p, err := t.measure(ctx, c, before, other.ID, o)
		if errors.Is(err, errAnchor) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		t.New().Note("%v; %s is the anchor from now on", broken, short(other.ID))
		s := t.Log.Start
		s.Anchor = other.ID
		return p, t.begin(ctx, s)
	}
	return nil, fmt.Errorf("%w (consider: dyno track init with the same plan and --anchor REVISION; or with --name, for a new track)", broken)
}

// present is an error if a commit is not in this clone: then it is not the commit that is broken.
func (t *Tracking) present(ctx context.Context, commit string) error {
	if _, err := git.Run(ctx, t.Top, nil, "cat-file", "-e", commit+"^{tree}"); err != nil {
		cure := "git fetch its branch; or dyno track init with the same plan and --anchor REVISION"
		if shallow, err := git.Run(ctx, t.Top, nil, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
			cure = "git fetch --unshallow, or fetch-depth: 0 of actions/checkout"
		}
		return fmt.Errorf("the anchor %s is not in this clone (consider: %s)", short(commit), cure)
	}
	return nil
}

func (t *Tracking) measure(ctx context.Context, c track.Commit, before, anchor string, o Adding) (*track.Point, error) {
	p := &track.Point{Name: t.Log.Start.Name, Commit: c.ID, Tree: c.Tree, Title: c.Title, Anchor: anchor, Host: host()}
	q := &pointing{plan: t.onePlan(o.Within), blocks: o.Blocks, names: slices.Compact([]string{anchor, cmp.Or(before, anchor), c.ID})}
	began := time.Now()
	dir, err := t.ask(ctx, q, o.Out)
	if err != nil {
		return nil, err
	}
	p.At, p.Took, p.Dyno = now(), math.Round(10*time.Since(began).Seconds())/10, t.New().Version
	if p.Before = cmp.Or(q.same, before); p.Before != "" {
		b, err := t.Commit(ctx, p.Before)
		if err != nil {
			return nil, err
		}
		p.BeforeTree = b.Tree
	}
	if p.Same = q.same != ""; p.Same {
		return p, nil
	}
	if p.Blocks, p.Logs = blocksOf(q.results), q.ratios(anchor, p.Before, c.ID); len(p.Logs) == 0 {
		return nil, fmt.Errorf("measure %s: %s (see dyno report %s/blocks)", short(c.ID), cmp.Or(q.failed(), "no block has values of both commits"), dir)
	}
	return p, nil
}

// keep adds a point to the ledger. If its CPU time is far from the anchor's, it becomes the next one, so that both meet the machine alike.
func (t *Tracking) keep(ctx context.Context, p *track.Point) error {
	line, err := p.Line()
	if err != nil {
		return err
	}
	if err := t.Ledger.Add(ctx, []json.RawMessage{line}); err != nil {
		return err
	}
	if r := p.Logs[track.Metrics()[0]]; p.Before != "" && len(r.Anchor) >= leastFar && math.Abs(stats.Median(r.Anchor)) > far && len(p.Logs) == len(track.Metrics()) {
		s := t.Log.Start
		s.Anchor = p.Commit
		t.New().Note("%s is the anchor from now on: its CPU time per request is far from that of %s", short(p.Commit), short(p.Anchor))
		return t.begin(ctx, s)
	}
	return t.Read(ctx)
}

// ratios are those of a commit to the anchor and to the one before, by metric.
func (p *pointing) ratios(anchor, before, commit string) map[string]track.Ratios {
	all := map[string]track.Ratios{}
	own, base, last := p.values(commit), p.values(anchor), p.values(before)
	for metric, values := range own {
		r := track.Ratios{Anchor: logs(values, base[metric])}
		if r.Before = logs(values, last[metric]); before == anchor {
			r.Before = r.Anchor
		}
		if len(r.Anchor) > 0 {
			all[metric] = r
		}
	}
	return all
}

// onePlan is the plan of a run.
func (t *Tracking) onePlan(within time.Duration) *dyno.Experiment {
	e := *t.Plan
	e.Within, e.Profile = dyno.Duration(within), nil
	e.Draw()
	return &e
}

// before is the last commit before c that was measured, or the anchor, or "" if neither is before it.
func (t *Tracking) before(ctx context.Context, c track.Commit) (string, error) {
	history, err := t.History(ctx, c.ID)
	if err != nil {
		return "", err
	}
	measured := map[string]bool{}
	for _, s := range t.Log.Starts {
		used := slices.ContainsFunc(t.Log.Points, func(p track.Point) bool { return p.Anchor == s.Anchor && len(p.Logs) > 0 })
		if s.Anchor != t.Log.Start.Anchor && !used {
			continue
		}
		measured[s.Anchor] = true
		if s.Tree != "" {
			measured[s.Tree] = true
		}
	}
	for _, p := range t.Log.Points {
		measured[p.Commit], measured[p.Tree] = true, true
	}
	for _, h := range slices.Backward(history[:max(0, len(history)-1)]) {
		if measured[h.ID] || measured[h.Tree] { // after a rebase it has another hash
			return h.ID, nil
		}
	}
	return "", nil
}

// A question is one run.
type question interface {
	campaign.Question
	uses(*campaign.Campaign) // which builds
	said() campaign.Answer
}

// asked asks a question.
func (t *Tracking) asked(ctx context.Context, q question, out string) (dir string, err error) {
	c := t.New()
	q.uses(c)
	r := &store.Record{Question: "track", Plan: t.Plan, Flags: map[string][]string{}}
	_, dir, err = c.Ask(ctx, q, r, out, func(string, bool) campaign.Answer { return q.said() })
	return dir, err
}

func (p *pointing) uses(c *campaign.Campaign) { p.build, p.dyno = c.Program, c.Version }

func (p *pointing) said() campaign.Answer {
	commit := short(p.names[len(p.names)-1])
	if p.same != "" {
		return &tracked.Point{Dyno: p.dyno, Sentence: fmt.Sprintf("The program of %s is that of %s.", commit, short(p.same))}
	}
	return &tracked.Point{Dyno: p.dyno, Sentence: fmt.Sprintf("%s was measured in %d blocks, against %s.", commit, blocksOf(p.results), short(p.names[0]))}
}

// host is this machine, in words.
func host() string {
	return fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
