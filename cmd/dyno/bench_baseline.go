package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
)

// fromCache finds the results of --baseline rev:NAME. A revision without any is measured
// beside the working tree, and kept for the next time.
func (o *benchFlags) fromCache(cmd *cobra.Command, e *dyno.Experiment) error {
	rev, ok := strings.CutPrefix(o.baseline, "rev:")
	switch {
	case !ok:
		return nil
	case o.cache == "":
		return flags.Mistakef("--baseline %s needs a cache (want --cache DIR)", o.baseline)
	case len(e.Levels()) > 1:
		return flags.Mistakef("--baseline is compared with one setting, not %d (consider: --vary rev=%s,. without --baseline)", len(e.Levels()), rev)
	}
	commit, err := campaign.Tool(cmd.Context(), e.Subject.Dir, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return flags.Mistakef("--baseline: no revision %s in %s", rev, e.Subject.Dir)
	}
	file := campaign.CacheFile(o.cache, e, campaign.GoVersion(cmd.Context(), e.Subject.Dir), commit)
	if exists(file) {
		o.baseline = file
		return nil
	}
	notef(cmd, "%s does not exist yet: dyno measures %s and the working tree side by side", file, rev)
	o.baseline = ""
	e.Settings, e.Factors = nil, dyno.Factors{{Name: "rev", Levels: []string{rev, "."}}}
	return nil
}
