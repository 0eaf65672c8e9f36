package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/certified"
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
certifies the first. The certificate is stored in the user's configuration, and its
page below dyno-runs, for dyno view. Reports of dyno run cite it until the kernel, the CPU, the service (build, arguments, environment,
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
	run.Profile, run.Trace, run.WhySlow, run.Thresholds, run.Memory = nil, 0, false, nil, new(bool)
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

func certifyService(cmd *cobra.Command, e *dyno.Experiment, o *certifyFlags) error {
	changes, err := o.changes()
	if err != nil {
		return err
	}
	run, err := o.runPlan(e)
	if err != nil {
		return err
	}
	g := campaign.Certifying{Campaign: campaignOf(cmd), Plan: run, Changes: changes, Runs: o.runs, Total: o.total, Resume: o.resume}
	c, stored, failed := g.Run(cmd.Context())
	if c == nil {
		return failed
	}
	w := cmd.OutOrStdout()
	if o.form() == "json" {
		return errors.Join(failed, report.JSON(w, c))
	}
	if _, err := io.WriteString(w, (&certified.Report{Certificate: c}).Text(lookOf(w))); err != nil {
		return errors.Join(failed, err)
	}
	if stored != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "stored in %s, as a page in %s; reports of dyno run cite it\n", stored, campaign.CertificatePage(stored))
	}
	return failed
}
