// Package tracks reads a track: the lines of a ledger, put in the order of the repository's history.
//
// It measures nothing, and writes only to exchange lines with a remote. Package track thinks; what is said of it is package tracked's.
package tracks

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
	"github.com/dynolab/dyno/internal/git"
	"github.com/dynolab/dyno/internal/ledger"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tracked"
	"github.com/dynolab/dyno/internal/track"
)

// A Track is one track of a repository, as it was read.
type Track struct {
	Ledger *ledger.Ledger
	Log    *track.Log
	Top    string           // directory of the repository
	Plan   *dyno.Experiment // nil if the log has no start
	Broken ledger.Skipped

	name string // asked for
}

// Options say which track.
type Options struct {
	Dir  string // in the repository
	Name string // "" is the only track there is
	At   string // place of the ledger; "" is the repository
}

// Open reads a track.
func Open(ctx context.Context, o Options) (*Track, error) {
	t := &Track{name: o.Name}
	top, err := git.Run(ctx, o.Dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, flags.Mistakef("%s is not in a git repository", o.Dir)
	}
	t.Top = top
	if t.Ledger, err = ledger.Open(ctx, o.At, top, ""); err != nil {
		return nil, err
	}
	return t, t.Read(ctx)
}

// Read takes what the ledger has.
func (t *Track) Read(ctx context.Context) error {
	lines, broken, err := t.Ledger.Read(ctx)
	if err != nil {
		return err
	}
	var texts []json.RawMessage
	for _, l := range lines {
		texts = append(texts, l.JSON)
	}
	t.Log, t.Broken = track.Read(texts, t.name), broken
	if t.Log.Start.Name == "" {
		return nil
	}
	if t.Plan, err = plan.Parse(filepath.Join(t.Top, "track.json"), t.Log.Start.Plan); err != nil {
		return fmt.Errorf("read the plan of %s: %w", t.Log.Start.Name, err)
	}
	return nil
}

// Begun is a mistake if there is no track, or if it is not said which.
func (t *Track) Begun() error {
	switch names := t.Log.Names; {
	case t.Log.Start.Name != "":
		return nil
	case len(names) == 0:
		return flags.Mistakef("%s has no track (consider: dyno track init PACKAGE)", t.Ledger)
	case t.name != "":
		return flags.Mistakef("%s has no track %q (consider: --name %s)", t.Ledger, t.name, strings.Join(names, ", or --name "))
	default:
		return flags.Mistakef("%s has %d tracks (consider: --name %s)", t.Ledger, len(names), strings.Join(names, ", or --name "))
	}
}

// Metrics are those that the track follows, in the order of a table.
func (t *Track) Metrics() (names []string) {
	for _, p := range t.Log.Points {
		for name := range p.Logs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	order := track.Metrics()
	slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return names
}

// Lines are the metrics over the commits of the history up to a revision.
func (t *Track) Lines(ctx context.Context, rev string) ([]*track.Line, error) {
	history, err := t.History(ctx, rev)
	if err != nil {
		return nil, err
	}
	var lines []*track.Line
	for _, m := range t.Metrics() {
		lines = append(lines, t.Log.Line(m, history))
	}
	return lines, nil
}

// Report says what is known of the track up to a revision; version is that of dyno.
func (t *Track) Report(ctx context.Context, rev, version string) (*tracked.Report, error) {
	lines, err := t.Lines(ctx, rev)
	if err != nil {
		return nil, err
	}
	r := &tracked.Report{Log: t.Log, Lines: lines, Place: t.Ledger.String(), Dyno: version, Plan: t.Plan, Made: time.Now()}
	if t.Broken.Lines > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d lines of the ledger cannot be read, the first of them line %d of %s.", t.Broken.Lines, t.Broken.Number, t.Broken.File))
	}
	var lost, apart []string
	most := 0
	for _, line := range lines {
		lost = append(lost, line.Lost...)
		apart = append(apart, line.Apart...)
		most = max(most, len(line.At))
	}
	if n := len(distinct(lost)); n > 0 {
		var notes []string
		r.Lost, notes = t.lost(ctx, rev, distinct(lost))
		r.Notes = append(r.Notes, notes...)
	}
	r.Apart = slices.DeleteFunc(distinct(apart), func(id string) bool { // of one metric a note tells
		return slices.ContainsFunc(lines, func(line *track.Line) bool {
			return slices.ContainsFunc(line.At, func(p track.Place) bool { return p.ID == id })
		})
	})
	for _, line := range lines {
		if n := most - len(line.At); n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s of %s is not known, as where it is 0: such changes are not followed.", line.Metric, layout.Count(n, "measured commit")))
		}
	}
	return r, nil
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// lost counts the points that have no place in the history up to a revision, but for those that are newer, and says why they have none.
func (t *Track) lost(ctx context.Context, rev string, commits []string) (n int, notes []string) {
	newer := 0
	input := "^" + rev + "\n" + strings.Join(commits, "\n") + "\n"
	if text, err := git.Run(ctx, t.Top, []byte(input), "rev-list", "--ignore-missing", "--ancestry-path", "--stdin"); err == nil {
		after := map[string]bool{}
		for _, id := range strings.Fields(text) {
			after[id] = true
		}
		for _, id := range commits {
			if after[id] {
				newer++
			}
		}
	}
	if newer > 0 {
		notes = append(notes, layout.CountIs(newer, "measured commit")+" newer than this revision.")
	}
	if n = len(commits) - newer; n == 0 {
		return n, notes
	}
	which := layout.CountIs(n, "measured commit")
	if shallow, err := git.Run(ctx, t.Top, nil, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return n, append(notes, which+" not in this shallow clone (consider: git fetch --unshallow, or fetch-depth: 0 of actions/checkout).")
	}
	return n, append(notes, which+" left out: not among the first parents of this revision, as after a rebase, and no commit there has the same content.")
}

// History is the first parents of a revision, the oldest first.
func (t *Track) History(ctx context.Context, rev string) (all []track.Commit, err error) {
	if _, err := t.Commit(ctx, rev); err != nil {
		return nil, err
	}
	text, err := git.Run(ctx, t.Top, nil, "log", "--first-parent", "--reverse", "--format=%H%x00%T%x00%cs%x00%s", rev, "--")
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

// Commit is what a revision means.
func (t *Track) Commit(ctx context.Context, rev string) (c track.Commit, err error) {
	text, err := git.Run(ctx, t.Top, nil, "log", "-1", "--format=%H%x00%T%x00%cs%x00%s", "--end-of-options", rev, "--")
	f := strings.SplitN(text, "\x00", 4)
	if err != nil || len(f) != 4 {
		return c, flags.Mistakef("%s is no revision of %s", rev, t.Top)
	}
	return track.Commit{ID: f[0], Tree: f[1], Date: f[2], Title: f[3]}, nil
}

// Sync exchanges lines with the ledger of a remote, "" for none. The error is nil where there is nothing to exchange with.
func (t *Track) Sync(ctx context.Context, remote string) error {
	if remote == "" {
		return nil
	}
	_, err := t.Ledger.Sync(ctx, remote)
	return errors.Join(err, t.Read(ctx))
}
