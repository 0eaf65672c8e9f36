package gomod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Taken is how a module is built with other versions of dependencies.
type Taken struct {
	Flags    []string      // of the go command
	Warnings dyno.Warnings // of what changes along
}

// Take writes the go.mod around dir into the folder into, with the versions of deps. A version is any query of the
// go command, or "." for that of go.mod. "go" is a module, too: its version is the go line. env and flags are the build's; patterns mean the packages to build, by
// which Take tells what else changes in them, and may begin with -test. A mistake of the plan is a [*dyno.PlanError].
func (m *Maker) Take(ctx context.Context, dir string, env map[string]string, flags []string, deps map[string]string, into string, patterns ...string) (t Taken, err error) {
	names := slices.Sorted(maps.Keys(deps))
	names = slices.DeleteFunc(names, func(name string) bool { return deps[name] == "." })
	if len(names) == 0 {
		return t, nil // the program as it is
	}
	gomod, err := m.checkBuild(ctx, dir, env, flags, names[0])
	if err != nil {
		return t, err
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return t, err
	}
	file := filepath.Join(into, "go.mod")
	for _, suffix := range []string{"mod", "sum"} {
		text, err := os.ReadFile(strings.TrimSuffix(gomod, "mod") + suffix)
		if err != nil && (suffix == "mod" || !errors.Is(err, fs.ErrNotExist)) {
			return t, err
		}
		if err := os.WriteFile(filepath.Join(into, "go."+suffix), text, 0o600); err != nil {
			return t, err
		}
	}
	t.Flags = []string{"-modfile=" + file, "-mod=mod"}
	before, err := m.read(ctx, dir, file)
	if err != nil {
		return t, err
	}
	had, err := m.modulesOf(ctx, dir, env, slices.Concat(flags, t.Flags), patterns)
	if err != nil {
		return t, err
	}
	root := filepath.Dir(gomod)
	get := []string{"get", t.Flags[0]}
	for _, name := range names {
		if _, err := m.version(ctx, root, env, t.Flags, name); err != nil {
			return t, err
		}
		get = append(get, name+"@"+deps[name])
	}
	if _, err := m.Go(ctx, root, env, get...); err != nil {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		return t, mistakef("%s: %s", say(names, deps), m.First(err))
	}
	for _, name := range names {
		got, err := m.version(ctx, root, env, t.Flags, name)
		if err != nil {
			return t, err
		}
		if got != deps[name] {
			t.Warnings.AddOf(dyno.WarnAlong, name+" is", "dep:%s=%s is %s", name, deps[name], got)
		}
	}
	has, err := m.modulesOf(ctx, dir, env, slices.Concat(flags, t.Flags), patterns)
	if err != nil {
		return t, err
	}
	after, err := m.read(ctx, dir, file)
	if err != nil {
		return t, err
	}
	changes := changed(had, has, names)
	if before.Go != after.Go && !slices.Contains(names, "go") {
		changes = append([]string{fmt.Sprintf("go %s → %s", before.Go, after.Go)}, changes...)
	}
	if len(changes) > 0 {
		t.Warnings.AddOf(dyno.WarnAlong, say(names, deps), "with %s, this changes along: %s", say(names, deps), strings.Join(changes, ", "))
	}
	return t, nil
}

// say names versions as a level of a plan does.
func say(names []string, deps map[string]string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("dep:%s=%s", name, deps[name]))
	}
	return strings.Join(all, " ")
}

// checkBuild returns the go.mod of a build, if another one can be in its place.
func (m *Maker) checkBuild(ctx context.Context, dir string, env map[string]string, flags []string, name string) (gomod string, err error) {
	out, err := m.Go(ctx, dir, env, "env", "GOMOD", "GOWORK", "GOFLAGS")
	if err != nil {
		return "", err
	}
	vars := strings.Split(out, "\n")
	switch gomod = vars[0]; {
	case gomod == "" || gomod == os.DevNull:
		return "", mistakef("dep:%s: %s is not in a module", name, dir)
	case vars[1] != "" && vars[1] != "off":
		return "", mistakef("dep:%s: %s is in force, in which go takes no other go.mod (consider: env: {GOWORK: off})", name, vars[1])
	case strings.Contains(vars[2]+" "+strings.Join(flags, " "), "-modfile"):
		return "", mistakef("dep:%s: the build has its own -modfile (want one of the two)", name)
	}
	return gomod, nil
}

// version returns the version in force of a module that a build knows.
func (m *Maker) version(ctx context.Context, dir string, env map[string]string, flags []string, name string) (string, error) {
	out, err := m.Go(ctx, dir, env, slices.Concat([]string{"list", "-m", "-json"}, flags, []string{name})...)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", mistakef("dep:%s: it is no dependency of the module in %s: %s", name, dir, m.First(err))
	}
	var mod struct {
		Version string
		Main    bool
		Replace *struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return "", err
	}
	switch {
	case mod.Main:
		return "", mistakef("dep:%s: it is the module in %s itself (consider: --vary rev, for its revisions)", name, dir)
	case mod.Replace != nil:
		return "", mistakef("dep:%s: go.mod replaces it by %s, so its version changes nothing (consider: a go.mod without this line)",
			name, strings.TrimSpace(mod.Replace.Path+" "+mod.Replace.Version))
	}
	return mod.Version, nil
}

// modulesOf returns the versions of the modules that packages are made of.
func (m *Maker) modulesOf(ctx context.Context, dir string, env map[string]string, flags, patterns []string) (map[string]string, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}	{{.Version}}{{end}}{{end}}`
	out, err := m.Go(ctx, dir, env, slices.Concat([]string{"list", "-e", "-deps", "-f", format}, flags, patterns)...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			found[path] = version
		}
	}
	return found, nil
}

// mostChanges bounds a list in a warning.
const mostChanges = 8

// changed lists what differs between two programs' modules, but for those that are meant to.
func changed(had, has map[string]string, meant []string) (changes []string) {
	all := maps.Clone(had)
	maps.Copy(all, has)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if was, is := had[path], has[path]; was != is && !slices.Contains(meant, path) {
			changes = append(changes, fmt.Sprintf("%s %s → %s", path, cmp.Or(was, "none"), cmp.Or(is, "none")))
		}
	}
	if n := len(changes) - mostChanges; n > 1 {
		changes = append(changes[:mostChanges], fmt.Sprintf("and %d more", n))
	}
	return changes
}
