package campaign

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/lab/look"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// CheckRepeats says what so few blocks cannot tell. A limit of a change that could not be judged is a mistake, as a gate
// that cannot fail is none.
func (c *Campaign) CheckRepeats(e *dyno.Experiment) error {
	if e.Sequential() {
		return nil
	}
	repeats := e.Resolved().Repeats
	settings := len(e.Levels())
	least := compare.FewestBlocks // which is as many as the interval of a median takes
	change := slices.IndexFunc(e.Thresholds, func(t dyno.Threshold) bool { return t.Change })
	switch {
	case repeats < least && change >= 0:
		return flags.Mistakef("threshold %q cannot be judged in %s: a change takes %d (consider: --repeat %d, or no --repeat)",
			e.Thresholds[change], layout.Count(repeats, "block"), least, least)
	case settings > 1 && repeats < least:
		c.Note("%s of %d settings are too few for any verdict, which takes %d (consider: --repeat %d)",
			layout.Count(repeats, "repeat"), settings, least, least)
	case repeats > 1 && repeats < least:
		c.Note("an interval for the median of each setting needs %d repeats, not %d", least, repeats)
	}
	return nil
}

// NoteDirty says that what is not committed is in no revision that is compared.
func (c *Campaign) NoteDirty(ctx context.Context, e *dyno.Experiment) {
	revised, working := false, false
	for _, l := range slices.Concat(e.Levels()...) {
		revised = revised || l.Factor == "rev"
		working = working || l.Factor == "rev" && l.Value == "."
	}
	dir := e.Subject.Dir
	if filepath.IsAbs(e.Subject.Package) {
		dir = e.Subject.Package
	}
	if !revised || working {
		return
	}
	if changes, _ := Tool(ctx, dir, "git", "status", "--porcelain", "--untracked-files=no"); changes != "" {
		c.Note("no revision has your uncommitted changes (consider: --vary rev=HEAD,.)")
	}
}

// Robust makes those metrics primary that a busy machine shows, too, and says which.
func (c *Campaign) Robust(e *dyno.Experiment) {
	if look.Open(e) { // a certificate that lets response times in is of the default load
		e.Load.Duration = e.Trial(e.Levels()[0]).Load.Duration
	}
	primary, seen := findings.Robust(e, ThisHost(e))
	e.Primary = primary
	c.Note("%s", words.Robust(seen))
}

// NoteLook says that a run of e would choose its load itself, as Run.Look lets it.
func (c *Campaign) NoteLook(e *dyno.Experiment) {
	if look.Open(e) {
		c.Note("the run looks at the service first, and chooses its own clients, warm-up and length where the plan below has the defaults")
	}
}
