// Package tracking measures the commits of a repository one by one, keeps what came in a ledger, and looks at possible changes on fresh blocks.
//
// It owns what is read from git, and which runs there are. Package track thinks, and package ledger keeps the lines.
package tracking

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

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

	// Replaced by tests:
	ask    func(ctx context.Context, q question, out string) (dir string, err error) // asks in a directory of its own, "" for a new one
	search func(ctx context.Context, a *track.Alarm) error
}

// Open reads a track.
func Open(ctx context.Context, o tracks.Options, fresh func() *campaign.Campaign) (*Tracking, error) {
	read, err := tracks.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	t := &Tracking{Track: read, New: fresh}
	t.ask, t.search = t.asked, t.bisected
	return t, nil
}

// briefly is how long a load without an end lasts in each block: launches differ more than longer windows do, and commits are many.
const briefly = dyno.Duration(time.Second)

// Init begins a track: the plan of one setting, and the commit that all others are measured against. fresh is false if there is one already with the
// same name and plan; it gets another anchor if that is chosen.
func (t *Tracking) Init(ctx context.Context, e *dyno.Experiment, anchor string, chosen bool) (fresh bool, err error) {
	s := &e.Subject
	switch {
	case strings.ContainsFunc(e.Name, unicode.IsControl):
		return false, flags.Mistakef("--name %q: want a name without control characters", e.Name)
	case s.Package == "":
		return false, flags.Mistakef("track builds commits of a service, but %s is no package of this repository", s)
	case len(e.Levels()) > 1:
		return false, flags.Mistakef("track varies the commit alone, but the plan has %d settings (consider: a plan without vary)", len(e.Levels()))
	case e.Slice > 0 || e.On.Kubernetes != nil || len(e.On.Agents) > 0 || e.Load.Command != "" || e.Load.None:
		return false, flags.Mistakef("track launches commits on this machine, with dyno's own load (consider: a plan without slice, on and load.command)")
	}
	own := *e
	own.Thresholds, own.Repeats, own.Within, own.Seed = nil, 0, 0, nil // each run draws its own order
	if l := &own.Load; l.Requests == 0 && l.RequestsPerClient == 0 && l.Duration == 0 && l.Length() == 0 {
		l.Duration = briefly
	}
	text, err := json.Marshal(&own)
	if err != nil {
		return false, err
	}
	if kept, err := json.Marshal(store.Redacted(&own)); err != nil || string(kept) != string(text) {
		return false, flags.Mistakef("the plan has credentials, which everyone who has the repository could read (consider: a service that needs none)")
	}
	if text, err = inside(t.Top, &own); err != nil {
		return false, err
	}
	c, err := t.Commit(ctx, anchor)
	if err != nil {
		return false, err
	}
	if t.Log.Start.Name == "" {
		return true, t.begin(ctx, track.Start{Name: e.Name, Plan: text, Anchor: c.ID})
	}
	if !bytes.Equal(compact(t.Log.Start.Plan), compact(text)) {
		return false, flags.Mistakef("%s has a track %q already, of another plan (consider: --name, for a new one)", t.Ledger, e.Name)
	}
	if !chosen || c.ID == t.Log.Start.Anchor {
		return false, nil
	}
	return false, t.reanchor(ctx, c)
}

// reanchor takes another anchor: any commit as long as nothing was measured, and then one whose level is known, so that levels go on.
func (t *Tracking) reanchor(ctx context.Context, c track.Commit) error {
	if slices.ContainsFunc(t.Log.Points, func(p track.Point) bool { return len(p.Logs) > 0 }) {
		known, err := t.leveled(ctx, c.ID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(known, func(k track.Commit) bool { return k.ID == c.ID }) {
			return flags.Mistakef("%s was not measured against an anchor in each metric, so what comes could not be compared with what was (consider: dyno track add %[1]s; or --name, for a new track)", short(c.ID))
		}
	}
	s := t.Log.Start
	s.Anchor = c.ID
	return t.begin(ctx, s)
}

// leveled are the commits up to one whose level is known in the metrics that most commits have.
func (t *Tracking) leveled(ctx context.Context, rev string) (known []track.Commit, err error) {
	lines, err := t.Lines(ctx, rev)
	longest := 0
	for _, line := range lines {
		longest = max(longest, len(line.At))
	}
	lines = slices.DeleteFunc(lines, func(line *track.Line) bool { return 2*len(line.At) < longest })
	count := map[string]int{}
	for _, line := range lines {
		for _, p := range line.At {
			if count[p.ID]++; count[p.ID] == len(lines) {
				known = append(known, p.Commit)
			}
		}
	}
	return known, err
}

func compact(text []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return text
	}
	return b.Bytes()
}

// begin keeps a start, and its anchor.
func (t *Tracking) begin(ctx context.Context, s track.Start) error {
	s.At, s.Dyno, s.Tree = now(), t.New().Version, ""
	if c, err := t.Commit(ctx, s.Anchor); err == nil {
		s.Tree = c.Tree
	}
	if last := t.Log.Start.At; !s.At.After(last) { // of a machine whose clock is ahead
		s.At = last.Add(time.Millisecond)
	}
	line, err := s.Line()
	if err != nil {
		return err
	}
	if err := t.Ledger.Add(ctx, []json.RawMessage{line}, s.Anchor); err != nil {
		return err
	}
	return t.Read(ctx)
}

// inside is a plan whose paths are relative to the top of the repository, as another machine has it elsewhere. A path outside of it is a mistake.
func inside(top string, e *dyno.Experiment) ([]byte, error) {
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	s := &e.Subject
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
			return nil, err
		}
		*path = abs
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	var plan map[string]any
	if err := json.Unmarshal(text, &plan); err != nil {
		return nil, err
	}
	if err := relative(top, plan, false); err != nil {
		return nil, err
	}
	if subject, ok := plan["subject"].(map[string]any); ok && subject["dir"] == "./." {
		delete(subject, "dir")
	}
	return json.Marshal(plan)
}

// ofPaths are the keys of a plan whose values are paths.
var ofPaths = []string{"package", "dir", "body_file", "targets", "replay", "data", "data_file", "descriptors", "seed", "program", "binary"}

// relative makes paths in x relative to top. paths says that x is the value of such a key.
func relative(top string, x any, paths bool) error {
	change := func(v any, paths bool) (any, error) {
		text, is := v.(string)
		if !is || !paths || !filepath.IsAbs(text) {
			return v, relative(top, v, paths)
		}
		rel, err := filepath.Rel(top, text)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return nil, flags.Mistakef("%s is not in the repository %s, so other machines do not have it", text, top)
		}
		return "./" + filepath.ToSlash(rel), nil
	}
	var err error
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			if err == nil {
				x[k], err = change(v, paths || slices.Contains(ofPaths, k))
			}
		}
	case []any:
		for i, v := range x {
			if err == nil {
				x[i], err = change(v, paths)
			}
		}
	}
	return err
}

// now is the time of a new line.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
