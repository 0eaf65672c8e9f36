package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/bisected"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/commits"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// BisectFlags are the flags of a bisection, as given.
type BisectFlags struct {
	Good, Bad string
	Metric    string
	Error     string
	Alive     int
}

// A Bisection looks for the version that changed a metric.
type Bisection struct {
	*Campaign
	bisect.Search
	Record *store.Record
	Dir    string // "" for a new one below dyno-runs

	versions []bisected.Version
	passed   int // commits between that cannot have changed the program
	notes    []string
}

// NewBisection checks what is asked for, and lists the versions. e is the plan, with its secrets.
func NewBisection(ctx context.Context, c *Campaign, r *store.Record, e *dyno.Experiment, dir string, o BisectFlags) (*Bisection, error) {
	s := &e.Subject
	chance, err := dyno.ParseFraction(o.Error)
	switch {
	case !s.Source():
		return nil, flags.Mistakef("bisect builds versions of a service, but %s is already built (consider: its package, or MODULE@v1.0.0..v1.2.0)", s)
	case e.Bench != nil:
		return nil, flags.Mistakef("bisect measures a service, not benchmarks (consider: dyno bench --vary rev=OLD,NEW for two commits)")
	case len(e.Levels()) > 1:
		return nil, flags.Mistakef("bisect varies the version alone, but the plan has %d settings (consider: a plan without vary)", len(e.Levels()))
	case e.Slice > 0 || e.On.Kubernetes != nil || e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("bisect launches each version on this machine, with dyno's own load (consider: a plan without slice, on and load.command)")
	case err != nil || chance <= 0 || chance >= 0.5:
		return nil, flags.Mistakef("--error %s: want a share, for example 5%%", o.Error)
	case o.Alive < 3 || o.Alive > 6:
		return nil, flags.Mistakef("--alive %d: want 3 to 6", o.Alive)
	}
	metric := ""
	if o.Metric != "" {
		m, err := dyno.MetricOf(dyno.ThresholdName(o.Metric), e.MetricNames())
		if err != nil || m.Better == 0 {
			return nil, flags.Mistakef("--metric %s: want a metric with a direction, such as cpu_per_req (consider: dyno help metrics)", o.Metric)
		}
		metric = m.Name
	}
	b := &Bisection{Campaign: c, Record: r, Dir: dir}
	b.Metric, b.Most, b.Error = metric, o.Alive, float64(chance)
	if s.Module != "" {
		err = b.published(ctx, e, o)
	} else {
		err = b.commits(ctx, e, o)
	}
	if err != nil {
		return nil, err
	}
	own := *e
	own.Factors, own.Settings, own.Thresholds, own.Repeats, own.Within = nil, nil, nil, 0, 0 // of one run; here each takes what it needs
	b.Plan = &own
	b.Build = b.build
	b.Tell = func(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) }
	return b, nil
}

// commits lists those of the repository around the package.
func (b *Bisection) commits(ctx context.Context, e *dyno.Experiment, o BisectFlags) error {
	if o.Good == "" {
		return flags.Mistakef("bisect needs a revision without the change (want for example --good v1.8.0)")
	}
	dir := e.Subject.Package
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.Subject.Dir, dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return flags.Mistakef("package %s: %v (want the directory of a main package)", e.Subject.Package, err)
	}
	h, err := commits.List(ctx, git, dir, o.Good, cmp.Or(o.Bad, "HEAD"))
	if mistake := (*dyno.PlanError)(nil); errors.As(err, &mistake) {
		return flags.Mistakef("%s", mistake.Msg)
	}
	if err != nil {
		return err
	}
	all := append([]commits.Commit{h.Good}, h.Commits...)
	untold := roundabout(e)
	for i := range all {
		c := &all[i]
		if i > 0 && i < len(all)-1 && !c.Matters && !untold { // the ends stay: whether they are one program shows
			b.passed++
			continue
		}
		b.add(dyno.Level{Factor: "rev", Value: c.Short()}, c.Title, c.Date, c.Files)
	}
	if b.Record.Dir() == "" { // so that a later session means the same, whatever was committed meanwhile
		b.Record.Flags["good"], b.Record.Flags["bad"] = []string{h.Good.ID}, []string{all[len(all)-1].ID}
	}
	if changes, _ := Tool(ctx, dir, "git", "status", "--porcelain", "--untracked-files=no"); changes != "" && o.Bad == "" {
		b.notes = append(b.notes, "Your uncommitted changes are in no version.")
	}
	return nil
}

// roundabout reports whether what is built may depend on files that no compiler reads: by a command, or by flags that name some.
func roundabout(e *dyno.Experiment) bool {
	given := strings.Join(append(slices.Clone(e.Subject.Build), e.Subject.Env["GOFLAGS"], os.Getenv("GOFLAGS")), " ")
	return e.Subject.Prepare != "" || strings.Contains(given, "-overlay") || strings.Contains(given, "-modfile") ||
		strings.Contains(strings.NewReplacer("-pgo=off", "", "-pgo=auto", "").Replace(given), "-pgo")
}

// git runs it without what the user's configuration makes of its output.
func git(ctx context.Context, dir, input string, args ...string) (string, error) {
	argv := append([]string{"git", "--no-replace-objects", "-c", "core.hooksPath=" + os.DevNull, "-c", "diff.relative=false", "-c", "diff.ignoreSubmodules=none", "-c", "log.showSignature=false"}, args...)
	if input != "" {
		file, err := os.CreateTemp("", "dyno-")
		if err != nil {
			return "", err
		}
		defer os.Remove(file.Name())
		_, err = file.WriteString(input)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
		argv = append([]string{"sh", "-c", `file=$1; shift; exec "$@" <"$file"`, "sh", file.Name()}, argv...)
	}
	var stdout, stderr strings.Builder
	status, err := subject.RunTool(ctx, argv, nil, dir, &stdout, &stderr)
	if err == nil && status != guard.StatusOK {
		err = errors.New(status)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// published lists the released versions of a module, MODULE@GOOD..BAD.
func (b *Bisection) published(ctx context.Context, e *dyno.Experiment, o BisectFlags) error {
	pkg, query, _ := strings.Cut(e.Subject.Module, "@")
	good, bad, ranged := strings.Cut(query, "..")
	if !ranged {
		good, bad = o.Good, cmp.Or(o.Bad, query)
	} else if o.Good != "" || o.Bad != "" {
		return flags.Mistakef("%s says the ends of the search already (want no --good and --bad)", e.Subject.Module)
	}
	if good == "" || bad == "" {
		return flags.Mistakef("bisect needs two versions of %s (want for example %[1]s@v1.20.0..v1.30.0)", pkg)
	}
	var list []string
	var first error
	for module := pkg; len(list) == 0 && strings.Contains(module, "."); module = path.Dir(module) {
		text, err := Tool(ctx, e.Subject.Dir, "go", "list", "-m", "-versions", "-f", "{{range .Versions}}{{.}} {{end}}", module)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			list = strings.Fields(text)
		}
		first = cmp.Or(first, err)
	}
	for _, v := range []*string{&good, &bad} {
		if *v != "latest" && !strings.HasPrefix(*v, "v") {
			*v = "v" + *v
		}
	}
	releases := slices.DeleteFunc(slices.Clone(list), func(v string) bool { return strings.Contains(v, "-") })
	if bad == "latest" && len(releases) > 0 {
		bad = releases[len(releases)-1]
	}
	from, to := slices.Index(list, good), slices.Index(list, bad)
	switch {
	case len(list) == 0:
		return fmt.Errorf("the go command knows no versions of %s (consider: go list -m -versions MODULE): %w", pkg, first)
	case from < 0 || to < 0:
		missing := good
		if from >= 0 {
			missing = bad
		}
		return flags.Mistakef("%s has no version %s (want one of go list -m -versions, from %s to %s)", pkg, missing, list[0], list[len(list)-1])
	case from >= to:
		return flags.Mistakef("%s is not before %s", good, bad)
	}
	early := 0 // before a release
	for i := from; i <= to; i++ {
		if strings.Contains(list[i], "-") && i > from && i < to {
			early++
			continue
		}
		b.add(dyno.Level{Factor: "version", Value: list[i]}, "", "", nil)
	}
	if early > 0 {
		b.notes = append(b.notes, layout.Count(early, "pre-release")+" between the ends: left out.")
	}
	e.Subject.Module = pkg + "@" + good
	return nil
}

func (b *Bisection) add(level dyno.Level, title, date string, files []string) {
	b.Versions = append(b.Versions, level)
	b.versions = append(b.versions, bisected.Version{Name: level.Value, Title: title, Date: date, Files: files})
}

// build makes a version, and says which program it is.
func (b *Bisection) build(ctx context.Context, v int) (string, error) {
	e := *b.Plan
	e.Settings = []dyno.Setting{{b.Versions[v]}}
	t, err := e.Written(e.Settings[0])
	if err != nil {
		return "", err
	}
	if err := b.prepare(ctx, b.hands, &e); err != nil || b.hands.Sum == nil {
		return "", err
	}
	return b.hands.Sum(ctx, t.Subject)
}

// Print says what would be measured.
func (b *Bisection) Print(w io.Writer) error {
	text, err := findings.PlanText(b.Subjects())
	if err != nil {
		return err
	}
	passed := ""
	if b.passed > 0 {
		passed = fmt.Sprintf(", of which %d changed nothing that the program is made of", b.passed)
	}
	fmt.Fprintf(w, "%s%s:\n\n", layout.Count(len(b.versions)-1+b.passed, b.unit()), passed)
	for i, v := range b.versions {
		end := map[int]string{0: "good", len(b.versions) - 1: "bad"}[i]
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-4s  %s  %s", end, v.Name, v.Title), " "))
	}
	fmt.Fprintf(w, "\n%s\n\nthe plan of the first run:\n\n%s", b.forecast(), text)
	return nil
}

// forecast says how long it takes.
func (b *Bisection) forecast() string {
	n, looks := len(b.Versions)-1, 0
	if n == 1 {
		return "one " + b.unit() + " can have changed it: a run of the ends, and one of them alone, of two to six minutes each, and their builds"
	}
	for gap := float64(len(b.Versions) - 1); gap > 1; gap /= float64(b.Most - 1) {
		looks++
	}
	return fmt.Sprintf("%s can have changed it: a run of the ends, %d to %s between them, and one or two of a pair alone, of one to six minutes each, and their builds", layout.Count(n, b.unit()), looks, layout.Count(2*looks+3, "run"))
}

// Run asks, and writes the answer. With an error, which may be the context's, the report has what is known so far; it is nil if there is
// nothing, or less than in an earlier session.
func (b *Bisection) Run(ctx context.Context) (Answer, string, error) {
	b.Note("%s", b.forecast())
	return b.Campaign.Ask(ctx, &b.Search, b.Record, b.Dir, func(dir string, cut bool) Answer {
		return &bisected.Report{
			Answer: b.Answer, Versions: b.versions, Passed: b.passed, Unit: b.unit(), Notes: b.notes, Error: b.Error,
			Name: b.Plan.Name, Dyno: b.Version, Plan: store.Redacted(b.Record.Plan), Made: time.Now(), Dir: dir, Interrupted: cut}
	})
}

// unit is what versions are called.
func (b *Bisection) unit() string {
	if b.Versions[0].Factor == "rev" {
		return "commit"
	}
	return "version"
}
