// Package tracking measures the commits of a repository one by one, keeps what came in a ledger, and looks at possible changes on fresh blocks.
//
// It owns what is read from git, and which runs there are. Package track thinks, and package ledger keeps the lines.
package tracking

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/findings/tracks"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/track"
)

// A Tracking is one track of a repository.
type Tracking struct {
	*tracks.Track
	New   func() *campaign.Campaign // for one question
	Shown []track.Alarm             // by Check

	ask func(ctx context.Context, q question, out string) (dir string, err error) // asks in a directory of its own, "" for a new one; for tests
}

// Open reads a track.
func Open(ctx context.Context, o tracks.Options, fresh func() *campaign.Campaign) (*Tracking, error) {
	read, err := tracks.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	t := &Tracking{Track: read, New: fresh}
	t.ask = t.asked
	return t, nil
}

// briefly is how long a load without an end lasts in each block: launches differ more than longer windows do, and commits are many.
const briefly = dyno.Duration(time.Second)

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
	if l := &own.Load; l.Requests == 0 && l.RequestsPerClient == 0 && l.Duration == 0 && l.Length() == 0 {
		l.Duration = briefly
	}
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
	c, err := t.Commit(ctx, anchor)
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
	return t.Read(ctx, s.Name)
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

// now is the time of a new line.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
