// Package tracking measures the commits of a repository one by one, keeps what came in a ledger, and looks at possible changes on fresh blocks.
//
// It owns what is read from git, and which runs there are. Package track thinks, and package ledger keeps the lines.
package tracking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/ledger"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tracked"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/track"
)

// A Tracking is one track of a repository.
type Tracking struct {
	New    func() *campaign.Campaign // for one question
	Ledger *ledger.Ledger
	Log    *track.Log
	Top    string // directory of the repository
	Broken ledger.Skipped
	Shown  []track.Alarm // by Check

	plan *dyno.Experiment
	ask  func(ctx context.Context, q question, out string) (dir string, err error) // asks in a directory of its own, "" for a new one; for tests
}

// Options say which track.
type Options struct {
	Dir  string // in the repository
	Name string // "" is the only track there is
	At   string // place of the ledger; "" is the repository
}

// Open reads a track.
func Open(ctx context.Context, o Options, fresh func() *campaign.Campaign) (*Tracking, error) {
	t := &Tracking{New: fresh}
	t.ask = t.asked
	top, err := git(ctx, o.Dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, flags.Mistakef("%s is not in a git repository", o.Dir)
	}
	t.Top = top
	if t.Ledger, err = ledger.Open(ctx, o.At, top, ""); err != nil {
		return nil, err
	}
	return t, t.read(ctx, o.Name)
}

// read takes what the ledger has.
func (t *Tracking) read(ctx context.Context, name string) error {
	lines, broken, err := t.Ledger.Read(ctx)
	if err != nil {
		return err
	}
	var texts []json.RawMessage
	for _, l := range lines {
		texts = append(texts, l.JSON)
	}
	t.Log, t.Broken = track.Read(texts, name), broken
	if t.Log.Start.Name == "" {
		return nil
	}
	if t.plan, err = plan.Parse(filepath.Join(t.Top, "track.json"), t.Log.Start.Plan); err != nil {
		return fmt.Errorf("read the plan of %s: %w", t.Log.Start.Name, err)
	}
	return nil
}

// Begun is a mistake if there is no track, or if it is not said which.
func (t *Tracking) Begun() error {
	switch names := t.Log.Names; {
	case t.Log.Start.Name != "":
		return nil
	case len(names) == 0:
		return flags.Mistakef("%s has no track (consider: dyno track init PACKAGE)", t.Ledger)
	default:
		return flags.Mistakef("%s has %d tracks (consider: --name %s)", t.Ledger, len(names), strings.Join(names, ", or --name "))
	}
}

// Init begins a track: the plan of one setting, and the commit that all others are measured against.
func (t *Tracking) Init(ctx context.Context, e *dyno.Experiment, anchor string) error {
	s := &e.Subject
	switch {
	case s.Package == "":
		return flags.Mistakef("track builds commits of a service, but %s is no package of this repository", s)
	case len(e.Levels()) > 1:
		return flags.Mistakef("track varies the commit alone, but the plan has %d settings (consider: a plan without vary)", len(e.Levels()))
	case e.Slice > 0 || e.On.Kubernetes != nil || len(e.On.Agents) > 0 || e.Load.Command != "" || e.Load.None:
		return flags.Mistakef("track launches commits on this machine, with dyno's own load (consider: a plan without slice, on and load.command)")
	}
	own := *e
	own.Thresholds, own.Repeats, own.Within, own.Seed = nil, 0, 0, nil // each run draws its own order
	text, err := json.Marshal(&own)
	if err != nil {
		return err
	}
	if kept, err := json.Marshal(store.Redacted(&own)); err != nil || string(kept) != string(text) {
		return flags.Mistakef("the plan has credentials, which everyone who has the repository could read (consider: %s)", "a service that needs none")
	}
	if err := inside(t.Top, &own.Subject); err != nil {
		return err
	}
	if text, err = json.Marshal(&own); err != nil {
		return err
	}
	c, err := t.commit(ctx, anchor)
	if err != nil {
		return err
	}
	return t.begin(ctx, track.Start{Name: e.Name, Plan: text, Anchor: c.ID})
}

// begin keeps a start, and its anchor.
func (t *Tracking) begin(ctx context.Context, s track.Start) error {
	s.At, s.Dyno = now(), t.New().Version
	line, err := s.Line()
	if err != nil {
		return err
	}
	if err := t.Ledger.Add(ctx, []json.RawMessage{line}, s.Anchor); err != nil {
		return err
	}
	return t.read(ctx, s.Name)
}

// inside makes the paths of a subject relative to the top of the repository, as another machine has it elsewhere.
func inside(top string, s *dyno.Subject) error {
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	for _, path := range []*string{&s.Package, &s.Dir} {
		if *path == "" {
			continue
		}
		abs := *path
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(s.Dir, abs)
		}
		abs, err := filepath.Abs(abs)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return flags.Mistakef("%s is not in the repository %s", *path, top)
		}
		*path = "./" + filepath.ToSlash(rel)
	}
	if s.Dir == "./." {
		s.Dir = ""
	}
	return nil
}

// Metrics are those that the track follows, in the order of a table.
func (t *Tracking) Metrics() (names []string) {
	for _, p := range t.Log.Points {
		for name := range p.Logs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	order := tracked.Order()
	slices.SortFunc(names, func(a, b string) int {
		i, j := slices.Index(order, a), slices.Index(order, b)
		if i < 0 || j < 0 {
			return j - i
		}
		return i - j
	})
	return names
}

// Lines are the metrics over the commits of the history up to a revision.
func (t *Tracking) Lines(ctx context.Context, rev string) ([]*track.Line, error) {
	history, err := t.history(ctx, rev)
	if err != nil {
		return nil, err
	}
	var lines []*track.Line
	for _, m := range t.Metrics() {
		lines = append(lines, t.Log.Line(m, history))
	}
	return lines, nil
}

// Report says what is known of the track.
func (t *Tracking) Report(ctx context.Context, rev string) (*tracked.Report, error) {
	lines, err := t.Lines(ctx, rev)
	if err != nil {
		return nil, err
	}
	r := &tracked.Report{Log: t.Log, Lines: lines, Place: t.Ledger.String(), Dyno: t.New().Version, Plan: t.plan, Made: time.Now()}
	if t.Broken.Lines > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d lines of the ledger cannot be read, the first of them line %d of %s.", t.Broken.Lines, t.Broken.Number, t.Broken.File))
	}
	if lost := lines; len(lost) > 0 && lost[0].Lost > 0 {
		r.Notes = append(r.Notes, t.lost(ctx, lost[0].Lost))
	}
	return r, nil
}

// lost says why points have no place in the history.
func (t *Tracking) lost(ctx context.Context, n int) string {
	which := layout.Count(n, "measured commit") + map[bool]string{true: " is", false: " are"}[n == 1]
	if shallow, err := git(ctx, t.Top, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return which + " not in this shallow clone (consider: git fetch --unshallow, or fetch-depth: 0 of actions/checkout)."
	}
	return which + " left out: not among the first parents of this revision, as after a rebase, and no commit there has the same content."
}

// history is the first parents of a revision, the oldest first.
func (t *Tracking) history(ctx context.Context, rev string) (all []track.Commit, err error) {
	text, err := git(ctx, t.Top, "log", "--first-parent", "--reverse", "--format=%H%x00%T%x00%cs%x00%s", rev, "--")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 4); len(f) == 4 {
			all = append(all, track.Commit{ID: f[0], Tree: f[1], Date: f[2], Title: f[3]})
		}
	}
	return all, nil
}

// commit is what a revision means.
func (t *Tracking) commit(ctx context.Context, rev string) (c track.Commit, err error) {
	text, err := git(ctx, t.Top, "log", "-1", "--format=%H%x00%T%x00%cs%x00%s", "--end-of-options", rev, "--")
	f := strings.SplitN(text, "\x00", 4)
	if err != nil || len(f) != 4 {
		return c, flags.Mistakef("%s is no revision of %s", rev, t.Top)
	}
	return track.Commit{ID: f[0], Tree: f[1], Date: f[2], Title: f[3]}, nil
}

// now is the time of a new line.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Sync exchanges lines with the ledger of a remote, "" for none. The error is nil where there is nothing to exchange with.
func (t *Tracking) Sync(ctx context.Context, remote string) error {
	if remote == "" {
		return nil
	}
	name := t.Log.Start.Name
	_, err := t.Ledger.Sync(ctx, remote)
	return errors.Join(err, t.read(ctx, name))
}
