package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/upgraded"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/toolchain"
	"github.com/dynolab/dyno/internal/upgrade"
)

// UpgradeFlags are the flags of an upgrade, as given.
type UpgradeFlags struct {
	To      []string
	Allow   []string
	Total   time.Duration
	NoCause bool
}

// An Upgrade asks whether a later version of Go or of dependencies is safe for a service.
type Upgrade struct {
	*Campaign
	upgrade.Upgrade
	Record *store.Record
	Dir    string // "" for a new one below dyno-runs

	to    string // the new version, in words
	notes []string
}

// NewUpgrade checks what is asked for, and surveys both versions. e is the plan, with its secrets.
func NewUpgrade(ctx context.Context, c *Campaign, r *store.Record, e *dyno.Experiment, dir string, o UpgradeFlags) (*Upgrade, error) {
	s := &e.Subject
	switch {
	case !s.Source():
		return nil, flags.Mistakef("upgrade builds versions of a service, but %s is already built (consider: its package)", s)
	case e.Bench != nil:
		return nil, flags.Mistakef("upgrade measures a service, not benchmarks (consider: dyno bench --vary go=OLD,NEW)")
	case len(e.Levels()) > 1:
		return nil, flags.Mistakef("upgrade varies the version alone, but the plan has %d settings (consider: a plan without vary)", len(e.Levels()))
	case e.Slice > 0 || e.On.Kubernetes != nil || len(e.On.Agents) > 0 || e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("upgrade launches both versions on this machine, with dyno's own load (consider: a plan without slice, on and load.command)")
	case len(o.To) == 0:
		return nil, flags.Mistakef("upgrade needs the new version (want for example --to go1.27, --to example.org/module@v1.2.0 or --to all)")
	case o.Total <= 0:
		return nil, flags.Mistakef("--total %v: want a time, for example 5m", o.Total)
	}
	u := &Upgrade{Campaign: c, Record: r, Dir: dir}
	var err error
	if u.Allow, err = upgrade.Allowed(e, o.Allow); err != nil {
		return nil, flags.Mistakef("--allow: %w", err)
	}
	u.Total, u.NoCause = dyno.Duration(o.Total), o.NoCause
	own := *e
	own.Factors, own.Settings, own.Thresholds, own.Repeats, own.Within = nil, nil, nil, 0, 0 // of one run; here each takes what it needs
	u.Plan = &own
	if err := u.survey(ctx, e, o.To); err != nil {
		return nil, err
	}
	u.Build = func(ctx context.Context, s dyno.Setting) (string, error) { return c.Program(ctx, u.Plan, s) }
	u.Tell = func(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) }
	return u, nil
}

// survey says which versions are compared, and what may have changed the service.
func (u *Upgrade) survey(ctx context.Context, e *dyno.Experiment, to []string) error {
	b, err := subject.NewBuilder("")
	if err != nil {
		return err
	}
	defer b.Close()
	base := e.Levels()[0]
	v, err := toolchain.Runner(b.Go).Survey(ctx, e.Trial(base).Subject, to)
	if mistake := (*dyno.PlanError)(nil); errors.As(err, &mistake) && mistake.File == "" {
		return flags.Mistakef("%s", mistake.Msg)
	}
	if err != nil {
		return err
	}
	u.to = v.To[0]
	if len(v.To) > 1 {
		u.to = layout.Count(len(v.To), "module")
	}
	add := func(factor, was, is string) {
		u.Old = append(u.Old, dyno.Level{Factor: factor, Value: was})
		u.New = append(u.New, dyno.Level{Factor: factor, Value: is})
	}
	u.Old, u.New, u.Refused = slices.Clone(base), slices.Clone(base), len(v.Refused) > 0
	switch was, is := strings.TrimPrefix(v.Old.Go, "go"), strings.TrimPrefix(v.New.Go, "go"); {
	case !v.OfGo:
		for _, m := range v.Modules {
			if m.Was != "" && m.Is != "" {
				add(dyno.DepFactor+m.Path, ".", m.Is)
			}
		}
	case v.Kept != nil:
		add("go", was, is)
	default:
		add("go", was, is)
		add(dyno.DepFactor+"go", ".", is)
	}
	u.notes, u.Candidates = v.Notes(), candidates(v)
	if u.Record.Dir() == "" { // so that a later session means the same, whatever was released meanwhile
		u.Record.Flags["to"] = v.To
	}
	return nil
}

// candidates are what can be turned back, the likeliest first: experiments, the go line with the settings that depend on it, modules.
func candidates(v *toolchain.Survey) (all []upgrade.Candidate) {
	for _, name := range v.Experiments {
		all = append(all, upgrade.Candidate{Source: upgrade.Experiment, Name: name})
	}
	var settings []upgrade.Candidate
	for _, s := range v.Changed {
		settings = append(settings, upgrade.Candidate{Source: upgrade.Debug, Name: s.Name, Was: s.Old})
	}
	if v.OfGo && v.Old.GoLine != v.New.GoLine {
		return append(all, upgrade.Candidate{Source: upgrade.GoLine, Name: "go line", Was: v.Old.GoLine, Is: v.New.GoLine, Within: settings})
	}
	all = append(all, settings...)
	if !v.OfGo {
		for _, m := range v.Modules {
			if m.Was != "" && m.Is != "" {
				all = append(all, upgrade.Candidate{Source: upgrade.Module, Name: m.Path, Was: m.Was, Is: m.Is})
			}
		}
	}
	return all
}

// Print says what would be measured.
func (u *Upgrade) Print(w io.Writer) error {
	text, err := findings.PlanText(u.Subjects())
	if err != nil {
		return err
	}
	for _, note := range u.notes {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintf(w, "\n%s\n\nthe plan of the first run:\n\n%s", u.forecast(), text)
	return nil
}

// forecast says how long it takes.
func (u *Upgrade) forecast() string {
	text := fmt.Sprintf("old and new side by side, at most %v", u.Total)
	if n := len(u.Candidates); n > 0 && !u.NoCause {
		text += fmt.Sprintf("; if a metric surely changed, which of %s did it, in runs of one to six minutes each, and their builds", layout.Count(n, "candidate"))
	}
	return text
}

// Run asks, and writes the answer, as bisecting does.
func (u *Upgrade) Run(ctx context.Context) (*upgraded.Report, string, error) {
	for _, note := range u.notes {
		u.Note("%s", note)
	}
	if !u.Refused {
		u.Note("%s", u.forecast())
	}
	var r *upgraded.Report
	a, dir, err := u.Campaign.Ask(ctx, &u.Upgrade, u.Record, u.Dir, func(dir string, cut bool) Answer {
		r = &upgraded.Report{
			Answer: u.Answer, To: u.to, Old: u.Old, New: u.New, Survey: u.notes, Asked: u.Allow[0].Asked,
			Remedy: predict.RemedyOf(dir+"/"+u.Answer.Run, u.New, u.Answer.Traded(), u.Answer.Changed),
			Name:   u.Plan.Name, Dyno: u.Version, Plan: store.Redacted(u.Record.Plan), Made: time.Now(), Dir: dir, Interrupted: cut}
		return r
	})
	if a == nil {
		r = nil
	}
	return r, dir, err
}
