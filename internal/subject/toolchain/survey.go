package toolchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// A Runner runs the go command as a build of a subject would: with its toolchain and environment, in the folder of its package,
// and go list with its flags.
type Runner func(ctx context.Context, s dyno.Subject, args ...string) (stdout string, err error)

// A Program is what one version of a subject is made of.
type Program struct {
	Go       string // of its toolchain, such as "go1.27.4"
	GoLine   string // of the go.mod that it is built with
	Defaults Defaults
	Build    []string          // settings of the build: the values of buildSettings
	Packages map[string]bool   // by import path
	Modules  map[string]string // versions, by path
}

// buildSettings are variables of the go command that make a difference to an executable, and that debug/buildinfo would show.
var buildSettings = []string{"CGO_ENABLED", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140"}

// A Survey is what differs between two versions of a program, before anything is built.
type Survey struct {
	To          []string // what is new, with versions resolved: "go1.27.4", or MODULE@VERSION
	OfGo        bool     // the toolchain is another
	Old, New    Program
	Toolchain   string    // the toolchain line of go.mod, "" of none
	Refused     []Refusal // lines for which the new version does not build; if any, nothing below is known
	Kept        error     // why the go line stays as it is; nil if it is raised
	Experiments []string  // on in the new toolchain, and not in the old one
	Changed     []Setting // of GODEBUG, whose default is another, and that a package of the program reads
	Modules     []Module  // whose version is another, by path
}

// A Refusal is a line that the new go command does not take.
type Refusal struct {
	Line
	Why string
}

// A Module is one in two versions; "" if it is in one of the programs only.
type Module struct{ Path, Was, Is string }

func mistakef(format string, args ...any) error {
	return &dyno.PlanError{Msg: fmt.Sprintf(format, args...)}
}

// Survey surveys a subject before and after what is asked for: "go1.27" (its latest release) or "go1.27.4", MODULE@VERSION, or "all", which are
// later versions of the direct requirements. A mistake of the user is a [*dyno.PlanError].
func (run Runner) Survey(ctx context.Context, s dyno.Subject, to []string) (*Survey, error) {
	name := goVersion(to[0])
	if name == "" {
		deps, err := run.depsOf(ctx, s, to)
		if err != nil {
			return nil, err
		}
		return run.deps(ctx, s, deps)
	}
	if len(to) > 1 {
		return nil, mistakef("--to %s takes no other --to (consider: one upgrade after the other)", to[0])
	}
	if v := "go" + name; name == "latest" || version.Lang(v) == v && version.Compare(v, "go1.21") >= 0 {
		out, err := run(ctx, s, "list", "-m", "-f", "{{.Version}}", "go@"+name)
		if err != nil {
			return nil, fmt.Errorf("find the latest release of Go %s: %w", name, err)
		}
		name = strings.TrimSpace(out)
	}
	return run.toolchain(ctx, s, name)
}

// goVersion is 1.27 of "go1.27", "1.27" and "go@1.27"; "" of what is no version of Go.
func goVersion(to string) string {
	v := strings.TrimPrefix(strings.TrimPrefix(to, "go"), "@")
	if dyno.IsGoVersion(v) || to == "go@latest" {
		return v
	}
	return ""
}

// depsOf are the versions that are asked for, by module.
func (run Runner) depsOf(ctx context.Context, s dyno.Subject, to []string) (map[string]string, error) {
	if len(to) == 1 && to[0] == "all" {
		return run.updates(ctx, s)
	}
	deps := map[string]string{}
	for _, one := range to {
		path, query, ok := strings.Cut(one, "@")
		if !ok || path == "" || query == "" || path == "go" || path == "toolchain" {
			return nil, mistakef("--to %s: want a version of Go such as go1.27, MODULE@VERSION, or all", one)
		}
		deps[path] = query
	}
	return deps, nil
}

// toolchain surveys a subject before and after a toolchain, such as "1.27.4", and the go line that goes with it.
func (run Runner) toolchain(ctx context.Context, s dyno.Subject, to string) (*Survey, error) {
	after := s
	after.Go = to
	was, err := run.env(ctx, s)
	if err != nil {
		return nil, err
	}
	is, err := run.env(ctx, after)
	if err != nil {
		return nil, err
	}
	if !dyno.IsGoVersion(strings.TrimPrefix(was.version, "go")) || !dyno.IsGoVersion(strings.TrimPrefix(is.version, "go")) {
		return nil, mistakef("upgrade compares releases of Go, but %s or %s is not a release", was.version, is.version)
	}
	v := &Survey{To: []string{is.version}, OfGo: true, Old: Program{Go: was.version}, New: Program{Go: is.version}}
	src, err := os.ReadFile(filepath.Join(is.root, "src", "internal", "godebugs", "table.go"))
	if err != nil {
		return nil, fmt.Errorf("read the GODEBUG settings of %s: %w", is.version, err)
	}
	table, err := ReadTable(src)
	if err == nil {
		v.Experiments, err = newExperiments(was.root, is.root)
	}
	if err == nil {
		err = v.refusals(ctx, run, s, was, table)
	}
	if err != nil || len(v.Refused) > 0 {
		return v, err
	}
	if v.Old, err = run.program(ctx, s, was); err != nil {
		return nil, err
	}
	raised := after
	raised.Deps = maps.Clone(s.Deps)
	if raised.Deps == nil {
		raised.Deps = map[string]string{}
	}
	raised.Deps["go"] = to
	v.New, err = run.program(ctx, raised, is)
	if mistake := (*dyno.PlanError)(nil); errors.As(err, &mistake) {
		v.Kept = err
		v.New, err = run.program(ctx, after, is)
	}
	if err != nil {
		return nil, err
	}
	v.Modules = modules(v.Old.Modules, v.New.Modules)
	v.Experiments = slices.DeleteFunc(v.Experiments, func(name string) bool { return name == "jsonv2" && !v.New.Packages["encoding/json"] })
	v.Changed = slices.DeleteFunc(table.Changed(v.Old.Defaults, v.New.Defaults), func(s Setting) bool { return !v.New.Packages[s.Package] })
	return v, nil
}

// deps surveys a subject before and after other versions of dependencies.
func (run Runner) deps(ctx context.Context, s dyno.Subject, to map[string]string) (*Survey, error) {
	env, err := run.env(ctx, s)
	if err != nil {
		return nil, err
	}
	v := &Survey{}
	if v.Old, err = run.program(ctx, s, env); err != nil {
		return nil, err
	}
	after := s
	after.Deps = maps.Clone(to)
	if v.New, err = run.program(ctx, after, env); err != nil {
		return nil, err
	}
	v.Modules = modules(v.Old.Modules, v.New.Modules)
	for _, path := range slices.Sorted(maps.Keys(to)) {
		v.To = append(v.To, path+"@"+cmp.Or(v.New.Modules[path], to[path]))
	}
	if len(to) == 0 {
		v.To = []string{"all"}
	}
	return v, nil
}

// updates lists the later versions that the direct requirements of a subject's module have.
func (run Runner) updates(ctx context.Context, s dyno.Subject) (map[string]string, error) {
	const format = `{{if not (or .Main .Indirect .Replace)}}{{with .Update}}{{.Path}}	{{.Version}}{{end}}{{end}}`
	out, err := run(ctx, s, "list", "-m", "-u", "-mod=mod", "-f", format, "all")
	if err != nil {
		return nil, err
	}
	return pairs(out), nil
}

func pairs(out string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(out) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			m[k] = v
		}
	}
	return m
}

// environment is what the go command says of itself.
type environment struct {
	version, root, mod string
	build              []string
}

func (run Runner) env(ctx context.Context, s dyno.Subject) (e environment, err error) {
	s.Deps = nil // which go env does not need
	out, err := run(ctx, s, append([]string{"env", "GOVERSION", "GOROOT", "GOMOD"}, buildSettings...)...)
	if err != nil {
		return e, err
	}
	lines := strings.Split(out, "\n")
	for len(lines) < 3+len(buildSettings) {
		lines = append(lines, "")
	}
	e.version, _, _ = strings.Cut(lines[0], " ") // what follows are experiments
	e.root, e.mod = lines[1], lines[2]
	for i, name := range buildSettings {
		if value := strings.TrimSpace(lines[3+i]); value != "" {
			e.build = append(e.build, name+"="+value)
		}
	}
	return e, nil
}

// Minor is 27 of go1.27.4; 0 if that cannot be said, as of a development version.
func Minor(v string) int {
	_, minor, _ := strings.Cut(version.Lang(v), ".")
	n, _ := strconv.Atoi(minor)
	return n
}

func newExperiments(old, new string) ([]string, error) {
	read := func(root string) ([]string, error) {
		src, err := os.ReadFile(filepath.Join(root, "src", "internal", "buildcfg", "exp.go"))
		if err != nil {
			return nil, fmt.Errorf("read the experiments that are on: %w", err)
		}
		return Baseline(src)
	}
	on, err := read(new)
	if err != nil {
		return nil, err
	}
	had, err := read(old)
	return slices.DeleteFunc(on, func(name string) bool { return slices.Contains(had, name) }), err
}

// refusals finds the lines of the user's source with which the new version does not build.
func (v *Survey) refusals(ctx context.Context, run Runner, s dyno.Subject, env environment, t *Table) error {
	var all []Line
	if src, err := os.ReadFile(env.mod); err == nil {
		_, v.Toolchain, all = ModLines(env.mod, src)
	}
	s.Deps = nil
	out, err := run(ctx, s, "list", "-e", "-find", "-f", `{{.Dir}}{{range .GoFiles}}	{{.}}{{end}}`, ".")
	if err != nil {
		return err
	}
	names := strings.Split(strings.TrimSpace(out), "\t")
	for _, name := range names[1:] {
		file := filepath.Join(names[0], name)
		if src, err := os.ReadFile(file); err == nil {
			all = append(all, SourceLines(file, src)...)
		}
	}
	for _, line := range all {
		if why := t.Refuses(line.Name, line.Value); why != "" {
			v.Refused = append(v.Refused, Refusal{line, why})
		}
	}
	return nil
}

// program asks what a subject would be built of.
func (run Runner) program(ctx context.Context, s dyno.Subject, e environment) (p Program, err error) {
	p = Program{Go: e.version, Build: e.build, Packages: map[string]bool{}, Modules: map[string]string{}}
	const main = `{{.DefaultGODEBUG}}	{{with .Module}}{{.GoVersion}}{{end}}`
	out, err := run(ctx, s, "list", "-f", main, ".")
	if err != nil {
		return p, err
	}
	list, line, _ := strings.Cut(strings.TrimRight(out, "\n"), "\t")
	p.GoLine, p.Defaults = strings.TrimSpace(line), ReadDefaults(Minor(e.version), list)
	out, err = run(ctx, s, "list", "-e", "-deps", "-f", `{{.ImportPath}}	{{with .Module}}{{if not .Main}}{{.Path}}	{{.Version}}{{end}}{{end}}`, ".")
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		p.Packages[f[0]] = true
		if len(f) == 3 {
			p.Modules[f[1]] = f[2]
		}
	}
	return p, nil
}

func modules(had, has map[string]string) (changed []Module) {
	all := maps.Clone(had)
	maps.Copy(all, has)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if had[path] != has[path] {
			changed = append(changed, Module{path, had[path], has[path]})
		}
	}
	return changed
}

// Notes say in words what differs.
func (v *Survey) Notes() (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, r := range v.Refused {
		add("%s:%d: %s: %s, %s", r.File, r.N, v.New.Go, r.Text, r.Why)
	}
	if len(v.Refused) > 0 {
		return notes
	}
	if v.Old.Go != v.New.Go {
		add("toolchain %s → %s", v.Old.Go, v.New.Go)
	}
	if v.Toolchain != "" {
		add("go.mod has a toolchain line, %s", v.Toolchain)
	}
	switch {
	case v.Kept != nil:
		add("the go line stays at %s, so the toolchain alone is compared: %v", v.Old.GoLine, v.Kept)
	case v.Old.GoLine != v.New.GoLine:
		add("go line %s → %s", cmp.Or(v.Old.GoLine, "none"), v.New.GoLine)
	}
	if len(v.Experiments) > 0 {
		add("on by default now, and can be turned off (GOEXPERIMENT=noNAME): %s", strings.Join(v.Experiments, ", "))
	}
	if len(v.Changed) > 0 {
		var names []string
		for _, s := range v.Changed {
			names = append(names, s.Name+"="+s.Old)
		}
		add("GODEBUG settings whose default changes, with the value as before: %s", strings.Join(names, ", "))
	}
	if !slices.Equal(v.Old.Build, v.New.Build) {
		add("settings of the build: %s → %s", strings.Join(v.Old.Build, " "), strings.Join(v.New.Build, " "))
	}
	if len(v.Modules) == 0 && !v.OfGo {
		add("no module of the program changes its version")
	}
	for _, m := range v.Modules {
		add("%s %s → %s", m.Path, cmp.Or(m.Was, "none"), cmp.Or(m.Is, "none"))
	}
	return notes
}
