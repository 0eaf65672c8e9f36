package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/certify"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/cmd/dyno/progress"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/lab/planted"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject"
	"github.com/dynolab/dyno/subject/guard"
)

type certifyFlags struct {
	runs   int
	plants []string
	total  time.Duration
	resume bool
	format
}

// The plan of a campaign's runs unless it says otherwise. They are shorter than those of dyno run, as a
// campaign is many.
const (
	certifiedWithin   = dyno.Duration(30 * time.Second)
	certifiedDuration = dyno.Duration(time.Second)
)

// plantedSizes are planted unless said.
var plantedSizes = []string{"cpu=1%,3%,10%", "memory=10%", "lock=10%", "burn=10%"}

func newCertify() *cobra.Command {
	var p flags.Set
	var c certifyFlags
	cmd := &cobra.Command{
		Use:   "certify [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Measure which changes of a service this machine can detect",
		Long: `Certify measures how often a run detects a real change, and how often it reports
a false one. It plants changes of known size in the path of each request, or a goroutine beside
them, and makes many runs. Each run compares the service with itself or with one planted change,
under names that reveal nothing until the run is judged. A run is what dyno run does
with the same flags and plan, but at most 30s long with a load of 1s, unless they say
otherwise.

    dyno certify ./cmd/server -- -addr '{{.Addr}}'
    dyno certify ./cmd/server --total 50m --path /search -- -addr '{{.Addr}}'
    dyno certify -f dyno.yaml --within 60s --plant cpu=3% --plant p99=10% --total 1h

In 10m (--total), about 28 such runs fit: 8 of equal settings and 3 or 4 of each of 6
changes. In 1h, 40 and 20 fit (--runs). Runs of equal settings also predict the
detection rate of a change from its size: within some 12 points from 40 runs, 30 from
8. The rate measured in 20 runs with the change, within some 17 to 23 points, checks
it. Ctrl-C ends a campaign and keeps the judged runs; --resume adds to them.

KIND of --plant is one of

    cpu       each request uses more CPU time, by this share
    memory    each request retains bytes; those of a window are this share of peak memory
    lock      each request holds a lock, for this share of its CPU time
    burn      a goroutine works for this share of one CPU, also without requests
    p99       2% of the requests wait

Planted changes need a service that is built from source and answers with net/http;
other services get runs of equal settings only. If a plan has several settings, dyno
certifies the first. The certificate is stored in the user's configuration. Reports of
dyno run cite it until the kernel, the CPU, the service (build, arguments, environment,
limits), the load, or the mode (side by side, or one after the other) changes.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := planned(cmd, &p, args, false)
			if err != nil {
				return err
			}
			return certifyService(cmd, e, &c)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.DurationVar(&c.total, "total", 10*time.Minute, "most `time` for all runs")
	fs.IntVar(&c.runs, "runs", 20, "most runs of each change, a `number`; twice as many of equal settings")
	fs.StringArrayVar(&c.plants, "plant", nil, "changes to plant, as `KIND=sizes`; may be repeated (default "+strings.Join(plantedSizes, " ")+")")
	fs.BoolVar(&c.resume, "resume", false, "add runs with the same changes to the stored certificate")
	c.format.flags(fs, "format of the result: text or json", "text", "json")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	fs.Lookup("within").Usage = "most `time` for the compared blocks of a run (default 30s without --repeat)"
	fs.Lookup("duration").Usage = "length of the measured load, a `time` (default 1s)"
	return cmd
}

// changes reads KIND=sizes.
func (o *certifyFlags) changes() (changes []certify.Change, err error) {
	plants := o.plants
	if len(plants) == 0 {
		plants = plantedSizes
	}
	for _, text := range plants {
		kind, sizes, _ := strings.Cut(text, "=")
		if !slices.Contains(certify.Kinds, certify.Kind(kind)) {
			return nil, flags.Mistakef("--plant %s: unknown kind %q (want cpu, p99, memory, lock or burn)", text, kind)
		}
		for size := range strings.SplitSeq(sizes, ",") {
			f, err := dyno.ParseFraction(size)
			if err != nil || f == 0 {
				return nil, flags.Mistakef("--plant %s: bad size %q (want for example 3%%)", text, size)
			}
			if x := (certify.Change{Kind: certify.Kind(kind), Size: float64(f)}); !slices.Contains(changes, x) {
				changes = append(changes, x)
			}
		}
	}
	return changes, nil
}

// runPlan is the plan of each run, without what only reports of a run need.
func (o *certifyFlags) runPlan(e *dyno.Experiment) (*dyno.Experiment, error) {
	switch {
	case o.runs < 1:
		return nil, flags.Mistakef("--runs %d: want 1 or more", o.runs)
	case o.resume && len(o.plants) > 0:
		return nil, flags.Mistakef("--resume plants the same changes as before (want no --plant)")
	case !e.Subject.Launched():
		return nil, flags.Mistakef("%s runs already, but certify launches the service (consider: the package of the service)", &e.Subject)
	case e.Bench != nil || e.Slice > 0:
		return nil, flags.Mistakef("certify launches a service; it takes no benchmarks or slices")
	case e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("certify needs dyno's own load")
	}
	run := *e
	run.Profile, run.Trace, run.Thresholds, run.Memory = nil, 0, nil, new(bool)
	run.Load.Idle, run.Load.KeepRequests = 0, "none"
	if l := &run.Load; l.Requests == 0 && l.RequestsPerClient == 0 && l.Duration == 0 && l.Length() == 0 {
		l.Duration = certifiedDuration
	}
	if run.Repeats == 0 {
		run.Within = cmp.Or(run.Within, certifiedWithin)
	}
	if o.total < time.Duration(run.Within) {
		return nil, flags.Mistakef("--total %v is too short for one run of up to %v (consider: --within)", dyno.Duration(o.total), run.Within)
	}
	run.Subject.Plantable = true
	return &run, nil
}

// A certifier makes the runs of a certificate.
type certifier struct {
	planted.Campaign
	cmd      *cobra.Command
	line     progress.Line
	hands    *lab.Lab
	scratch  string
	path     string // of the certificate
	began    time.Time
	judged   int
	sought   bool // that it is the same service, with --resume
	told     bool // that runs are alone
	earlier  int  // outcomes of before, with --resume
	c        *certify.Certificate
	settings *certifyFlags
}

func certifyService(cmd *cobra.Command, e *dyno.Experiment, o *certifyFlags) (err error) {
	changes, err := o.changes()
	if err != nil {
		return err
	}
	run, err := o.runPlan(e)
	if err != nil {
		return err
	}
	g := &certifier{cmd: cmd, settings: o, c: &certify.Certificate{Within: time.Duration(run.Within).Seconds(), Load: run.Load.String()}}
	if g.path, err = findings.CertificatePath(&e.Subject); err != nil {
		return fmt.Errorf("find a place for the certificate: %w", err)
	}
	if o.resume {
		if err := g.resume(); err != nil {
			return err
		}
	}
	// Its guard removes it also if dyno is killed.
	g.scratch = guard.TempName(os.TempDir())
	scratch, err := guard.Start(guard.Job{Scratch: []string{g.scratch}}, guard.IO{})
	if err != nil {
		return fmt.Errorf("make a directory for the runs: %w", err)
	}
	defer scratch.Stop(0)
	g.Campaign = planted.Campaign{
		Plan: run, Table: filepath.Join(g.scratch, "table"), Runs: o.runs, Most: time.Duration(run.Within),
		Hands: planted.Hands{Run: g.run, Judge: judge, Wrote: g.wrote, Keep: g.keep, Say: g.say},
	}
	release, err := g.open()
	if err != nil {
		return err
	}
	g.began = time.Now()
	g.Until = g.began.Add(o.total)
	g.line.Open(cmd.ErrOrStderr(), 0, g.progress)
	err = g.campaign(changes)
	g.line.Close()
	return g.conclude(errors.Join(err, release()))
}

// open builds the service, without room for changes if it has none.
func (g *certifier) open() (release func() error, err error) {
	g.hands, release, err = openLab(g.cmd, g.First())
	if cannot := (*subject.PlantError)(nil); errors.As(err, &cannot) {
		g.Plan.Subject.Plantable = false
		g.c.Unplanted = cannot.Why
		g.hands, release, err = openLab(g.cmd, g.First())
	}
	return release, err
}

// campaign plants changes and judges the runs.
func (g *certifier) campaign(changes []certify.Change) error {
	ctx := g.cmd.Context()
	if g.c.Unplanted == "" && g.c.Base == nil {
		base, err := g.Calibrate(ctx)
		if cannot := (*subject.PlantError)(nil); errors.As(err, &cannot) {
			g.c.Unplanted = cannot.Why
		} else if err != nil {
			return err
		}
		for _, c := range changes {
			if base == nil {
				break
			}
			if a, ok := base.Amount(c); ok {
				g.c.Amounts = append(g.c.Amounts, a)
			} else {
				g.say("%s is left out: dyno could not work out how to plant it", words.Planted(c))
			}
		}
		g.c.Base = base
	}
	if g.c.Unplanted != "" {
		g.say("all runs compare equal settings: %s", g.c.Unplanted)
	}
	return g.Rounds(ctx, g.c.Amounts)
}

// run does what dyno run does, and writes nothing that lasts.
func (g *certifier) run(ctx context.Context, e *dyno.Experiment) (rs []*dyno.Result, err error) {
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
func (g *certifier) identify(rs []*dyno.Result) error {
	if g.sought || slices.ContainsFunc(rs, func(r *dyno.Result) bool { return r.Err != "" }) {
		return nil
	}
	now := findings.Identities(g.Plan, thisHost(g.Plan), rs)[0]
	if g.earlier > 0 && now.Alone && !g.c.Of.Alone { // what is planted in this run may be why: another tells
		return nil
	}
	g.sought = true
	if why := g.c.Expired(now); g.earlier > 0 && why != nil {
		return fmt.Errorf("resume the certificate in %s: %s (consider: certify without --resume)", g.path, words.Expired(why))
	}
	g.c.Of = now
	g.c.How = dyno.OneAfterTheOther("as planned")
	if !now.Alone {
		g.c.How = g.Plan.Turns()
	}
	return nil
}

func judge(e *dyno.Experiment, rs []*dyno.Result, label string) certify.Judged {
	return certify.Judge(findings.Unwritten(e, rs).Table, label)
}

// wrote writes down a verdict, before anybody knows what was planted.
func (g *certifier) wrote(j certify.Judged) {
	g.judged++
	what := "no change found"
	if names := j.Changed(); len(names) > 0 {
		what = strings.Join(names, ", ") + " changed"
	}
	if j.Err != "" {
		first, _, _ := strings.Cut(j.Err, "\n")
		what = "failed: " + first
	}
	g.print("run %d (%s): %s in %s, %.0fs", g.earlier+g.judged, j.Label, what, layout.Count(j.Blocks, "block"), j.Elapsed)
}

func (g *certifier) say(format string, args ...any) { g.print("note: "+format, args...) }

func (g *certifier) print(format string, args ...any) {
	g.line.Say(format, args...)
}

func (g *certifier) progress(now time.Time) string {
	return fmt.Sprintf("%s judged · %v of at most %v", layout.Count(g.judged, "run"), now.Sub(g.began).Truncate(time.Second), g.settings.total)
}

// keep adds runs that were judged to the certificate. Until the campaign ends, it is one that was
// interrupted.
func (g *certifier) keep(outcomes []certify.Outcome) error {
	g.c.Schema, g.c.Dyno, g.c.Service, g.c.Made = certify.Schema, version(), g.Plan.Subject.String(), time.Now()
	g.c.Outcomes, g.c.Interrupted = append(g.c.Outcomes, outcomes...), true
	if good, _ := g.c.Runs(); good == 0 || g.better() > 0 {
		return nil
	}
	return findings.WriteCertificate(g.path, g.c)
}

// better is how many runs the certificate has that is kept, if it holds and has more than the new one.
func (g *certifier) better() int {
	old, err := findings.ReadCertificate(g.path)
	if err != nil || len(old.Outcomes) <= len(g.c.Outcomes) || old.Expired(g.c.Of) != nil {
		return 0
	}
	return len(old.Outcomes)
}

// resume takes over the certificate that is kept.
func (g *certifier) resume() error {
	old, err := findings.ReadCertificate(g.path)
	switch {
	case err != nil:
		return fmt.Errorf("resume a certificate: %w", err)
	case old.Within != g.c.Within || old.Load != g.c.Load:
		return flags.Mistakef("the certificate in %s has runs of another kind: %s, %s (consider: the same flags)", g.path, words.RunLength(old), old.Load)
	}
	old.Unplanted = ""
	g.c, g.earlier = old, len(old.Outcomes)
	return nil
}

// conclude keeps the certificate and prints it. failed is why the campaign did not come to its end.
func (g *certifier) conclude(failed error) error {
	if good, _ := g.c.Runs(); good == 0 || len(g.c.Outcomes) == g.earlier {
		return cmp.Or(failed, error(flags.Mistakef("no run fits in %v after the service itself is measured (consider: a longer --total)", g.settings.total)))
	}
	g.c.Interrupted = failed != nil
	old := 0
	if failed != nil {
		old = g.better()
	}
	if old > 0 {
		notef(g.cmd, "the stored certificate of %s is kept, as this one has fewer", layout.Count(old, "run"))
	} else if err := findings.WriteCertificate(g.path, g.c); err != nil {
		failed = errors.Join(failed, err)
	}
	w := g.cmd.OutOrStdout()
	if g.settings.form() == "json" {
		return errors.Join(failed, report.JSON(w, g.c))
	}
	shown := *g.c
	shown.Of.Subject = findings.ShortCommits([]string{g.c.Of.Subject})
	if _, err := io.WriteString(w, words.Certificate(&shown, lookOf(w).Columns())); err != nil {
		return errors.Join(failed, err)
	}
	if old == 0 {
		fmt.Fprintf(g.cmd.ErrOrStderr(), "stored in %s; reports of dyno run cite it\n", g.path)
	}
	return failed
}

// copyCertificate puts the certificate of the service, if there is one, into a new run directory.
func copyCertificate(e *dyno.Experiment, dir *store.Dir) error {
	if e.Bench != nil || !e.Subject.Launched() || len(e.Levels()) < 2 {
		return nil
	}
	path, err := findings.CertificatePath(&e.Subject)
	if err != nil {
		return nil // without a home there is none
	}
	c, err := findings.ReadCertificate(path)
	if err != nil {
		return nil // most services have none
	}
	return dir.WriteFile(findings.CertificateFile, func(w io.Writer) error { return report.JSON(w, c) })
}
