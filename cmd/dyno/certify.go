package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
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
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject"
)

type certifyFlags struct {
	runs   int
	plants []string
	total  time.Duration
	out    string
	format
}

// planted are the sizes of each kind that are planted unless said.
var planted = []string{"cpu=1%,3%,10%", "p99=6%,12%,25%", "memory=3%,10%,30%", "lock=3%,10%,30%"}

func newCertify() *cobra.Command {
	var p flags.Set
	var c certifyFlags
	cmd := &cobra.Command{
		Use:   "certify [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say what this machine can see of a service",
		Long: `Certify measures how often a run finds a change that is there, and how often
one that is not. It builds the service once, with changes of known size that it
plants itself in the path of each request, and makes many runs: each compares the
service with itself or with one change, under names that say nothing until the
run is judged. A run is what dyno run would do with the same flags.

    dyno certify ./cmd/server -d 2s --within 60s -- -addr '{{.Addr}}'
    dyno certify ./cmd/server --plant cpu=3% --plant p99=10% --runs 20
    dyno certify -f dyno.yaml --total 1h

KIND of --plant is cpu (of the CPU time of a request), p99 (waits in 2% of the
requests), memory (bytes that stay, of what is resident) or lock (held by each
request, of the median latency). Changes need a service that is built from source
and answers by net/http; others get runs of equal settings. The certificate is kept,
and later reports of the service cite it, until kernel, CPU, service or load change.`,
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
	fs.IntVar(&c.runs, "runs", 10, "`number` of runs of each change, and twice as many of equal settings")
	fs.StringArrayVar(&c.plants, "plant", nil, "`KIND=sizes` of changes, such as cpu=1%,3%; may be repeated (default "+strings.Join(planted, " ")+")")
	fs.DurationVar(&c.total, "total", 0, "`time` after which no run begins (default: until all are done)")
	fs.StringVar(&c.out, "out", "", "a further `file` for the certificate")
	c.format.flags(fs, "of the result: text or json", "text", "json")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	return cmd
}

// changes reads KIND=sizes.
func (c *certifyFlags) changes() (changes []certify.Change, err error) {
	plants := c.plants
	if len(plants) == 0 {
		plants = planted
	}
	for _, text := range plants {
		kind, sizes, _ := strings.Cut(text, "=")
		if !slices.Contains(certify.Kinds, certify.Kind(kind)) {
			return nil, flags.Mistakef("--plant %s: unknown kind %q (want cpu, p99, memory or lock)", text, kind)
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

// A campaign is the runs of a certificate.
type campaign struct {
	cmd     *cobra.Command
	hands   *lab.Lab
	e       dyno.Experiment // of one run, but for its settings
	base    dyno.Setting    // of the service
	scratch string
	table   map[string]subject.Plant // what the tokens of the run mean
	c       *certify.Certificate
}

func certifyService(cmd *cobra.Command, e *dyno.Experiment, o *certifyFlags) (err error) {
	changes, err := o.changes()
	if err != nil {
		return err
	}
	switch {
	case o.runs < 1:
		return flags.Mistakef("--runs %d: want 1 or more", o.runs)
	case !e.Subject.Launched():
		return flags.Mistakef("%s runs already, and a certificate takes launches (consider: the package of the service)", &e.Subject)
	case e.Bench != nil || e.Slice > 0:
		return flags.Mistakef("a certificate is of launches of a service, not of benchmarks or slices")
	case e.Load.Command != "" || e.Load.None:
		return flags.Mistakef("a certificate takes dyno's own load")
	}
	g := &campaign{cmd: cmd, base: e.Levels()[0], e: *e, c: &certify.Certificate{
		Schema: certify.Schema, Dyno: version(), Service: e.Subject.String(),
	}}
	g.e.Factors, g.e.Profile, g.e.Trace, g.e.Thresholds, g.e.Memory = nil, nil, 0, nil, new(bool)
	g.e.Subject.Plantable = true
	if g.scratch, err = os.MkdirTemp("", "dyno-certify-"); err != nil {
		return err
	}
	defer os.RemoveAll(g.scratch)
	release, err := g.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if g.c.Unplanted == "" {
		if err := g.calibrate(); err != nil {
			return err
		}
	}
	if g.c.Unplanted != "" {
		notef(cmd, "all runs are of equal settings: %s", g.c.Unplanted)
		changes = nil
	}
	err = g.measureAll(changes, o)
	if len(g.c.Outcomes) == 0 {
		return errors.Join(err, errors.New("no run finished"))
	}
	return errors.Join(err, g.conclude(e, o))
}

// open builds the service, without room for changes if it has none.
func (g *campaign) open() (release func() error, err error) {
	e := g.run(subject.Plant{}, subject.Plant{})
	g.hands, release, err = openLab(g.cmd, e)
	if cannot := (*subject.PlantError)(nil); errors.As(err, &cannot) {
		g.c.Unplanted, g.e.Subject.Plantable, e.Subject.Plantable = cannot.Why, false, false
		g.hands, release, err = openLab(g.cmd, e)
	}
	return release, err
}

// run is the plan of one run, of a service with two changes. Its levels are tokens that say nothing,
// whose meaning only the service reads.
func (g *campaign) run(base, other subject.Plant) *dyno.Experiment {
	e := g.e
	e.Settings = nil
	e.Seed = rand.Uint64()
	table := map[string]subject.Plant{}
	for _, p := range []subject.Plant{base, other} {
		token := subject.NewPlantToken()
		table[token] = p
		e.Settings = append(e.Settings, append(slices.Clip(g.base), dyno.Level{Factor: subject.PlantEnv, Value: token}))
	}
	g.table = table
	e.Subject.Env = maps.Clone(e.Subject.Env)
	if e.Subject.Env == nil {
		e.Subject.Env = map[string]string{}
	}
	e.Subject.Env[subject.PlantTableEnv] = filepath.Join(g.scratch, "table")
	return &e
}

var errDecided = errors.New("the run is decided")

// measure does what dyno run would do with a plan that run made, and writes nothing that lasts.
func (g *campaign) measure(e *dyno.Experiment) (t *compare.Table, results []*dyno.Result, err error) {
	if err := subject.WritePlants(filepath.Join(g.scratch, "table"), g.table); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(g.scratch, "run")
	defer os.RemoveAll(dir)
	g.hands.Dir = func(n int) (string, error) {
		d := filepath.Join(dir, strconv.Itoa(n))
		return d, os.MkdirAll(d, 0o700)
	}
	began, within := time.Now(), time.Duration(cmp.Or(e.Within, dyno.DefaultWithin))
	err = g.hands.Run(g.cmd.Context(), e, func(r *dyno.Result) error {
		results = append(results, r)
		if len(results)%len(e.Settings) != 0 || !e.Sequential() {
			return nil
		}
		t = findings.Unwritten(e, results).Table
		if t.Decided(compare.Demands{}) || time.Since(began) >= within {
			return errDecided
		}
		return nil
	})
	if errors.Is(err, errDecided) {
		err = nil
	}
	return findings.Unwritten(e, results).Table, results, err
}

const (
	firstSpins = 20_000  // rounds of the loop, some 40 µs
	mostSpins  = 1 << 30 // some 2 s
	briefly    = dyno.Duration(2 * time.Second)
	exactly    = 3 // blocks
)

// calibrate measures what the service costs, and what a round of the planted loop does. If the loop is
// not seen, the service answers its requests elsewhere, and the certificate says so.
func (g *campaign) calibrate() error {
	cost := func(e *dyno.Experiment) (base, more float64, rs []*dyno.Result, err error) {
		t, rs, err := g.measure(e)
		if err != nil {
			return 0, 0, nil, err
		}
		for _, r := range rs {
			if r.Err != "" {
				return 0, 0, nil, fmt.Errorf("measure the service before anything is planted: %s", r.Err)
			}
		}
		of := func(i int) float64 { return findings.Median(t, e.Settings[i].String(), "cpu-sec/req") }
		return of(0), of(1) - of(0), rs, nil
	}
	for spins := uint64(firstSpins); spins <= mostSpins; spins *= 8 {
		fmt.Fprintf(g.cmd.ErrOrStderr(), "measuring what a request costs, with a loop of %d rounds in it\n", spins)
		e := g.run(subject.Plant{}, subject.Plant{Spins: spins})
		e.Repeats = 1
		if l := &e.Load; l.Requests == 0 && l.RequestsPerClient == 0 && l.Rate.Length() == 0 {
			l.Duration = min(cmp.Or(l.Duration, dyno.DefaultDuration), briefly)
		}
		base, more, _, err := cost(e)
		switch {
		case err != nil:
			return err
		case math.IsNaN(more):
			g.c.Unplanted = "the CPU time of a request is not measured here"
			return nil
		case more < base:
			continue
		}
		e = g.run(subject.Plant{}, subject.Plant{Spins: spins})
		e.Repeats = exactly
		base, more, rs, err := cost(e)
		if err != nil || !(more > 0) {
			return cmp.Or(err, errors.New("the cost of the planted loop could not be measured (consider: a longer --duration)"))
		}
		g.c.Base = g.costs(e, rs, base, more/float64(spins))
		return nil
	}
	g.c.Unplanted = "a loop that is planted in net/http's server costs its requests nothing, so another server answers them"
	return nil
}

// costs is what the service costs without a change, by the results of the first setting of e. It makes
// one of their histograms.
func (g *campaign) costs(e *dyno.Experiment, rs []*dyno.Result, cpu, spin float64) *certify.Base {
	t, name := findings.Unwritten(e, rs).Table, e.Settings[0].String()
	rs = slices.DeleteFunc(rs, func(r *dyno.Result) bool { return r.Trial.Setting.String() != name })
	all, requests := rs[0].Latency, rs[0].Sent.Requests
	for _, r := range rs[1:] {
		all.Merge(r.Latency)
		requests += r.Sent.Requests
	}
	of := func(metric string) float64 { return findings.Median(t, name, metric) }
	return &certify.Base{
		CPU: cpu, Spin: spin, P50: of("p50-sec"), P99: of("p99-sec"), RSS: of("rss-peak-B"),
		Requests: float64(requests) / float64(len(rs)),
		Quantile: func(q float64) float64 { return all.Quantile(q).Seconds() },
	}
}

// measureAll does the runs, in rounds of each change once and equal settings twice, in random order.
// So a campaign that ends early has as many of each.
func (g *campaign) measureAll(changes []certify.Change, o *certifyFlags) error {
	plants := map[certify.Change]subject.Plant{}
	for _, c := range changes {
		a := g.c.Base.Amount(c)
		g.c.Amounts = append(g.c.Amounts, a)
		plants[c] = subject.Plant{Spins: a.Spins, Retain: a.Retain, Hold: nanoseconds(a.Hold), Delay: nanoseconds(a.Delay), Share: a.Share}
	}
	round := append(slices.Clone(changes), certify.Change{Kind: certify.Equal}, certify.Change{Kind: certify.Equal})
	most := time.Duration(cmp.Or(g.e.Within, dyno.DefaultWithin))
	g.c.Within = most.Seconds()
	all, stderr := o.runs*len(round), g.cmd.ErrOrStderr()
	length := most * time.Duration(all)
	if o.total > 0 {
		length = min(length, o.total+most)
	}
	fmt.Fprintf(stderr, "%s of at most %v each, beside launching: at most %v in all\n", layout.Count(all, "run"), dyno.Duration(most), dyno.Duration(length))
	began := time.Now()
	for range o.runs {
		rand.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		for _, c := range round {
			if o.total > 0 && time.Since(began) >= o.total {
				return nil
			}
			outcome, err := g.outcome(c, plants[c])
			if err != nil {
				return err
			}
			g.c.Outcomes = append(g.c.Outcomes, outcome)
			what := "nothing found"
			switch {
			case outcome.Err != "":
				what = "failed: " + outcome.Err
			case len(outcome.Changed) > 0:
				what = "found changed: " + strings.Join(outcome.Changed, ", ")
			}
			fmt.Fprintf(stderr, "run %d of %d: %s in %s, %.0fs: %s\n", len(g.c.Outcomes), all, what, layout.Count(outcome.Blocks, "block"), outcome.Elapsed, words.Planted(c))
		}
	}
	return nil
}

func nanoseconds(sec float64) time.Duration { return time.Duration(sec * 1e9) }

// outcome measures one run and has it judged before it says what was planted.
func (g *campaign) outcome(c certify.Change, p subject.Plant) (certify.Outcome, error) {
	began := time.Now()
	e := g.run(subject.Plant{}, p)
	t, rs, err := g.measure(e)
	if err != nil {
		return certify.Outcome{}, err
	}
	if g.c.Of == (certify.Identity{}) {
		g.c.Of = findings.Identities(e, thisHost(e), rs)[0]
	}
	judged := certify.Judge(t)
	o := judged.Open(c)
	o.Elapsed = time.Since(began).Seconds()
	if !judged.Whole {
		o.Err = "not all primary metrics could be compared"
		for _, r := range t.Failed {
			o.Err = r.Err
		}
	}
	return o, nil
}

// conclude keeps the certificate and prints it.
func (g *campaign) conclude(e *dyno.Experiment, o *certifyFlags) error {
	g.c.Made = time.Now()
	var errs []error
	path, err := certificatePath(&e.Subject)
	if err == nil {
		err = writeCertificate(path, g.c)
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("keep the certificate for later reports: %w", err))
	}
	if o.out != "" {
		errs = append(errs, writeCertificate(o.out, g.c))
	}
	w := g.cmd.OutOrStdout()
	if o.form() == "json" {
		return errors.Join(append(errs, report.JSON(w, g.c))...)
	}
	look := lookOf(w)
	var b strings.Builder
	fmt.Fprintf(&b, "Certificate of %s (%s) on %s, %s, kernel %s; %s\n\n",
		g.c.Service, g.c.Of.Subject, cmp.Or(g.c.Of.CPU, "an unknown CPU"), layout.Count(g.c.Of.CPUs, "CPU"), cmp.Or(g.c.Of.Kernel, "unknown"), g.c.Of.Load)
	for _, line := range words.Certified(g.c) {
		b.WriteString(layout.Fold(line, "", "", look.Columns()))
	}
	table := words.CertifyTable(g.c)
	table.Text(&b, look.Columns(), look.Color)
	_, err = io.WriteString(w, b.String())
	return errors.Join(append(errs, err)...)
}

// certificatePath is where the certificate of a service is kept.
func certificatePath(s *dyno.Subject) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	key, _, _ := strings.Cut(s.Module, "@")
	if path := cmp.Or(s.Package, s.Binary); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir, path)
		}
		if key, err = filepath.Abs(path); err != nil {
			return "", err
		}
		if real, err := filepath.EvalSymlinks(key); err == nil {
			key = real
		}
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, "dyno", "certificates", hex.EncodeToString(sum[:8])+".json"), nil
}

// writeCertificate replaces a file as a whole.
func writeCertificate(path string, c *certify.Certificate) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// copyCertificate puts the certificate of the service, if there is one, into a new run directory.
func copyCertificate(e *dyno.Experiment, dir *store.Dir) error {
	path, err := certificatePath(&e.Subject)
	if err != nil || e.Bench != nil || !e.Subject.Launched() || len(e.Levels()) < 2 {
		return nil
	}
	c, err := findings.ReadCertificate(path)
	if err != nil {
		return nil // most services have none
	}
	return dir.WriteFile(findings.CertificateFile, func(w io.Writer) error { return report.JSON(w, c) })
}
