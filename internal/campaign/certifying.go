package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/planted"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/report/certified"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Certifying makes the runs of a certificate.
type Certifying struct {
	*Campaign
	Plan    *dyno.Experiment // of each run
	Changes []certify.Change // that are planted
	Runs    int              // of each change at most, and twice as many of equal settings
	Total   time.Duration    // most time for all runs
	Resume  bool             // runs are added to the certificate that is stored

	planted planted.Campaign
	line    progress.Line
	scratch string
	path    string // of the certificate
	began   time.Time
	judged  int
	sought  bool // that it is the same service, with Resume
	told    bool // that runs are alone
	earlier int  // outcomes of before, with Resume
	cert    *certify.Certificate
}

// Run certifies, and stores the certificate where reports look for it. With an error, which may be the context's, the certificate has
// the runs so far; it is nil if there are none. Stored is its path, "" if the one that is stored is kept, as it has more runs.
func (g *Certifying) Run(ctx context.Context) (cert *certify.Certificate, stored string, err error) {
	g.cert = &certify.Certificate{Within: time.Duration(g.Plan.Within).Seconds(), Load: g.Plan.Load.String()}
	if g.path, err = findings.CertificatePath(&g.Plan.Subject); err != nil {
		return nil, "", fmt.Errorf("find a place for the certificate: %w", err)
	}
	if g.Resume {
		if err := g.resume(); err != nil {
			return nil, "", err
		}
	}
	// Its guard removes it also if dyno is killed.
	g.scratch = guard.TempName(os.TempDir())
	scratch, err := guard.Start(guard.Job{Scratch: []string{g.scratch}}, guard.IO{})
	if err != nil {
		return nil, "", fmt.Errorf("make a directory for the runs: %w", err)
	}
	defer scratch.Stop(0)
	g.planted = planted.Campaign{
		Plan: g.Plan, Table: filepath.Join(g.scratch, "table"), Runs: g.Runs, Most: time.Duration(g.Plan.Within),
		Hands: planted.Hands{Run: g.run, Judge: judge, Wrote: g.wrote, Keep: g.keep, Say: g.say},
	}
	if err := g.build(ctx); err != nil {
		return nil, "", err
	}
	g.began = time.Now()
	g.planted.Until = g.began.Add(g.Total)
	g.line.Open(g.Stderr, 0, g.progress)
	err = g.plant(ctx)
	g.line.Close()
	return g.conclude(errors.Join(err, g.Close()))
}

// build builds the service, without room for changes if it has none.
func (g *Certifying) build(ctx context.Context) error {
	err := g.Open(ctx, g.planted.First())
	if cannot := (*subject.PlantError)(nil); errors.As(err, &cannot) {
		g.planted.Plan.Subject.Plantable = false
		g.cert.Unplanted = cannot.Why
		err = g.Open(ctx, g.planted.First())
	}
	return err
}

// plant plants changes and judges the runs.
func (g *Certifying) plant(ctx context.Context) error {
	if g.cert.Unplanted == "" && g.cert.Base == nil {
		base, err := g.planted.Calibrate(ctx)
		if cannot := (*subject.PlantError)(nil); errors.As(err, &cannot) {
			g.cert.Unplanted = cannot.Why
		} else if err != nil {
			return err
		}
		for _, c := range g.Changes {
			if base == nil {
				break
			}
			if a, ok := base.Amount(c); ok {
				g.cert.Amounts = append(g.cert.Amounts, a)
			} else {
				g.say("%s is left out: dyno could not work out how to plant it", words.Planted(c))
			}
		}
		g.cert.Base = base
	}
	if g.cert.Unplanted != "" {
		g.say("all runs compare equal settings: %s", g.cert.Unplanted)
	}
	return g.planted.Rounds(ctx, g.cert.Amounts)
}

// run does what dyno run does, and writes nothing that lasts.
func (g *Certifying) run(ctx context.Context, e *dyno.Experiment) (rs []*dyno.Result, err error) {
	dir := filepath.Join(g.scratch, "run")
	defer os.RemoveAll(dir)
	g.hands.Dir = func(n int) (string, error) {
		d := filepath.Join(dir, strconv.Itoa(n))
		return d, os.MkdirAll(d, 0o700)
	}
	g.hands.Alone = func(string) {
		if rs = slices.DeleteFunc(rs, (*dyno.Result).Beside); !g.told {
			g.told = true
			g.say("in some runs settings run one after the other, as one works without any request")
		}
	}
	endDecided(g.hands, e, compare.Demands{}, func() []*dyno.Result { return rs })
	err = g.hands.Run(ctx, e, func(r *dyno.Result) error {
		rs = append(rs, r)
		return nil
	})
	if alike := (*lab.AlikeError)(nil); err != nil && (g.judged == 0 || !errors.As(err, &alike)) {
		return nil, err
	}
	return rs, g.identify(rs)
}

// identify says what the certificate is of, by the first run.
func (g *Certifying) identify(rs []*dyno.Result) error {
	if g.sought || slices.ContainsFunc(rs, func(r *dyno.Result) bool { return r.Err != "" }) {
		return nil
	}
	e := g.planted.Plan
	now := findings.Identities(e, ThisHost(e), rs)[0]
	if g.earlier > 0 && now.Alone && !g.cert.Of.Alone { // what is planted in this run may be why: another tells
		return nil
	}
	g.sought = true
	if why := g.cert.Expired(now); g.earlier > 0 && why != nil {
		return fmt.Errorf("resume the certificate in %s: %s (consider: certify without --resume)", g.path, words.Expired(why))
	}
	g.cert.Of = now
	g.cert.How = how.OneAfterTheOther("as planned")
	if !now.Alone {
		g.cert.How = how.Turns(e)
	}
	return nil
}

func judge(e *dyno.Experiment, rs []*dyno.Result, label string) certify.Judged {
	return certify.Judge(findings.Unwritten(e, rs).Table, label)
}

// wrote writes down a verdict, before anybody knows what was planted.
func (g *Certifying) wrote(j certify.Judged) {
	g.judged++
	what := "no change found"
	if names := j.Changed(); len(names) > 0 {
		what = strings.Join(names, ", ") + " changed"
	}
	if j.Err != "" {
		first, _, _ := strings.Cut(j.Err, "\n")
		what = "failed: " + first
	}
	g.line.Say("run %d (%s): %s in %s, %.0fs", g.earlier+g.judged, j.Label, what, layout.Count(j.Blocks, "block"), j.Elapsed)
}

func (g *Certifying) say(format string, args ...any) { g.line.Note(format, args...) }

func (g *Certifying) progress(now time.Time) string {
	return fmt.Sprintf("%s judged · %v of at most %v", layout.Count(g.judged, "run"), now.Sub(g.began).Truncate(time.Second), g.Total)
}

// keep adds runs that were judged to the certificate. Until the campaign ends, it is one that was
// interrupted.
func (g *Certifying) keep(outcomes []certify.Outcome) error {
	c := g.cert
	h := answer.Head{Dyno: g.Version, Plan: store.Redacted(g.Plan), Made: time.Now(), Interrupted: true}
	c.Envelope = answer.New(certify.AnswerKind, certify.Schema, h, []answer.Setting{answer.SettingOf(h.Plan.Levels()[0])}, c.Notes)
	c.Service, c.Outcomes = g.planted.Plan.Subject.String(), append(c.Outcomes, outcomes...)
	if good, _ := c.Runs(); good == 0 || g.better() > 0 {
		return nil
	}
	return storeCertificate(g.path, c)
}

// storeCertificate writes a certificate, and its page beside it.
func storeCertificate(path string, c *certify.Certificate) error {
	return errors.Join(findings.WriteCertificate(path, c), store.Replace(CertificatePage(path), (&certified.Report{Certificate: c}).HTML))
}

// CertificatePage is the page beside the file of a certificate.
func CertificatePage(path string) string { return strings.TrimSuffix(path, ".json") + ".html" }

// better is how many runs the certificate has that is kept, if it holds and has more than the new one.
func (g *Certifying) better() int {
	old, err := findings.ReadCertificate(g.path)
	if err != nil || len(old.Outcomes) <= len(g.cert.Outcomes) || old.Expired(g.cert.Of) != nil {
		return 0
	}
	return len(old.Outcomes)
}

// resume takes over the certificate that is kept.
func (g *Certifying) resume() error {
	old, err := findings.ReadCertificate(g.path)
	switch {
	case err != nil:
		return fmt.Errorf("resume a certificate: %w", err)
	case old.Within != g.cert.Within || old.Load != g.cert.Load:
		return flags.Mistakef("the certificate in %s has runs of another kind: %s, %s (consider: the same flags)", g.path, words.RunLength(old), old.Load)
	}
	old.Unplanted = ""
	g.cert, g.earlier = old, len(old.Outcomes)
	return nil
}

// conclude keeps the certificate. failed is why the campaign did not come to its end.
func (g *Certifying) conclude(failed error) (*certify.Certificate, string, error) {
	c := g.cert
	if good, _ := c.Runs(); good == 0 || len(c.Outcomes) == g.earlier {
		if failed == nil {
			failed = flags.Mistakef("no run fits in %v after the service itself is measured (consider: a longer --total)", g.Total)
		}
		return nil, "", failed
	}
	c.Interrupted = failed != nil
	if old := g.better(); failed != nil && old > 0 {
		g.Note("the stored certificate of %s is kept, as this one has fewer", layout.Count(old, "run"))
		return c, "", failed
	}
	if err := storeCertificate(g.path, c); err != nil {
		return c, "", errors.Join(failed, err)
	}
	if err := g.list(); err != nil {
		g.Note("dyno view has no row for the certificate: %v", err)
	}
	return c, g.path, failed
}

// list makes a directory for the certificate among those of runs, in which dyno view finds it.
func (g *Certifying) list() error {
	path, err := store.NewPath(g.Plan.Name+"-certify", time.Now())
	if err != nil {
		return err
	}
	said := &certified.Report{Certificate: g.cert}
	r := store.Record{Question: "certify", Dyno: g.Version, Started: g.began, Command: os.Args, Plan: g.Plan}
	if err := r.Create(path); err != nil {
		return err
	}
	return errors.Join(store.Replace(filepath.Join(path, store.AnswerFile), said.HTML), r.Conclude(said.First(), true))
}
