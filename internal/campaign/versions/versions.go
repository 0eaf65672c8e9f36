// Package versions lists the versions of a program among which a change is looked for: the commits of its repository, or the releases
// of its module.
package versions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/commits"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Version is a commit or a release.
type Version struct {
	Level       dyno.Level
	ID          string   // a commit's whole hash; "" of a release
	Title, Date string   // of a commit
	Files       []string // that a commit changed
	Parents     []string // of a commit; a merge has several
}

// A List is the versions from a good end to a bad one, in their order.
type List struct {
	All    []Version
	Passed int      // commits between that cannot have changed the program
	Notes  []string // what is left out, in sentences
	dir    string   // in the repository
}

// Commits lists those of the repository around the package of a plan, from good to bad; "" means HEAD. A mistake of the user's is a
// [*flags.Mistake].
func Commits(ctx context.Context, e *dyno.Experiment, good, bad string) (*List, error) {
	if good == "" {
		return nil, flags.Mistakef("bisect needs a revision without the change (want for example --good v1.8.0)")
	}
	dir := e.Subject.Package // "" of benchmarks
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.Subject.Dir, dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, flags.Mistakef("package %s: %v (want the directory of a main package)", e.Subject.Package, err)
	}
	h, err := commits.List(ctx, git, dir, good, cmp.Or(bad, "HEAD"))
	if mistake := (*dyno.PlanError)(nil); errors.As(err, &mistake) {
		return nil, flags.Mistakef("%s", mistake.Msg)
	}
	if err != nil {
		return nil, err
	}
	l := &List{dir: dir}
	all := append([]commits.Commit{h.Good}, h.Commits...)
	untold := roundabout(e) || e.Bench != nil // benchmarks may read any file; what they are compiled to tells more
	for i := range all {
		c := &all[i]
		if i > 0 && i < len(all)-1 && !c.Matters && !untold { // the ends stay: whether they are one program shows
			l.Passed++
			continue
		}
		l.All = append(l.All, Version{dyno.Level{Factor: "rev", Value: c.Short()}, c.ID, c.Title, c.Date, c.Files, c.Parents})
	}
	if changes, _ := git(ctx, dir, "", "status", "--porcelain", "--untracked-files=no"); changes != "" && bad == "" {
		l.Notes = append(l.Notes, "Your uncommitted changes are in no version.")
	}
	return l, nil
}

// Touched returns the functions whose source the version at the index to touches, against the one at from; with tests, those of test files, too.
// known is false of releases.
func (l *List) Touched(ctx context.Context, from, to int, tests bool) (all []commits.Func, known bool, err error) {
	if l.dir == "" {
		return nil, false, nil
	}
	top, err := git(ctx, l.dir, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, false, err
	}
	all, err = commits.Touched(ctx, git, strings.TrimSuffix(top, "\n"), l.All[from].ID, l.All[to].ID, tests)
	return all, err == nil, err
}

// Merged returns the ends of a search among the commits that the version at an index merges; "" if it is no merge. The error says why a merge
// cannot be searched.
func (l *List) Merged(ctx context.Context, at int) (good, bad string, err error) {
	parents := l.All[at].Parents
	switch {
	case len(parents) < 2:
		return "", "", nil
	case len(parents) > 2:
		return "", "", fmt.Errorf("it has %d parents", len(parents))
	}
	base, err := git(ctx, l.dir, "", "merge-base", parents[0], parents[1])
	base = strings.TrimSpace(base)
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case err != nil || base == "":
		return "", "", errors.New("no commit is known that both of its parents have" + commits.Shallow(ctx, git, l.dir))
	}
	branch, err1 := git(ctx, l.dir, "", "rev-list", "--first-parent", "--parents", "--reverse", base+".."+parents[1])
	all, err2 := git(ctx, l.dir, "", "rev-list", "--count", base+".."+parents[1])
	fresh, err3 := git(ctx, l.dir, "", "rev-list", "--count", parents[0]+".."+parents[1])
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", "", err
	}
	// The oldest commit has to be a child of the base, and none between may be in the first parent: else commits would count that the merge did not bring.
	if oldest := strings.Fields(branch); len(oldest) < 2 || oldest[1] != base || all != fresh {
		return "", "", errors.New("some of its commits were merged before, on another way")
	}
	return base, parents[1], nil
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
	return tool(ctx, dir, argv, "git "+strings.Join(args, " "))
}

func goList(ctx context.Context, dir string, args ...string) (string, error) {
	argv := append([]string{"go"}, args...)
	return tool(ctx, dir, argv, strings.Join(argv, " "))
}

func tool(ctx context.Context, dir string, argv []string, name string) (string, error) {
	var stdout, stderr strings.Builder
	status, err := subject.RunTool(ctx, argv, nil, dir, &stdout, &stderr)
	if err == nil && status != guard.StatusOK {
		err = errors.New(status)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Published lists the released versions of the module of a plan, MODULE@GOOD..BAD, whose version becomes the good one. Other ends may be
// given beside it. A mistake of the user's is a [*flags.Mistake].
func Published(ctx context.Context, e *dyno.Experiment, otherGood, otherBad string) (*List, error) {
	pkg, query, _ := strings.Cut(e.Subject.Module, "@")
	good, bad, ranged := strings.Cut(query, "..")
	if !ranged {
		good, bad = otherGood, cmp.Or(otherBad, query)
	} else if otherGood != "" || otherBad != "" {
		return nil, flags.Mistakef("%s says the ends of the search already (want no --good and --bad)", e.Subject.Module)
	}
	if good == "" || bad == "" {
		return nil, flags.Mistakef("bisect needs two versions of %s (want for example %[1]s@v1.20.0..v1.30.0)", pkg)
	}
	var list []string
	var first error
	for module := pkg; len(list) == 0 && strings.Contains(module, "."); module = path.Dir(module) {
		text, err := goList(ctx, e.Subject.Dir, "list", "-m", "-versions", "-f", "{{range .Versions}}{{.}} {{end}}", module)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
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
		return nil, fmt.Errorf("the go command knows no versions of %s (consider: go list -m -versions MODULE): %w", pkg, first)
	case from < 0 || to < 0:
		missing := good
		if from >= 0 {
			missing = bad
		}
		return nil, flags.Mistakef("%s has no version %s (want one of go list -m -versions, from %s to %s)", pkg, missing, list[0], list[len(list)-1])
	case from >= to:
		return nil, flags.Mistakef("%s is not before %s", good, bad)
	}
	l := &List{}
	early := 0 // before a release
	for i := from; i <= to; i++ {
		if strings.Contains(list[i], "-") && i > from && i < to {
			early++
			continue
		}
		l.All = append(l.All, Version{Level: dyno.Level{Factor: "version", Value: list[i]}})
	}
	if early > 0 {
		l.Notes = append(l.Notes, layout.Count(early, "pre-release")+" between the ends: left out.")
	}
	e.Subject.Module = pkg + "@" + good
	return l, nil
}
