package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/gomod"
	"github.com/dynolab/dyno/internal/subject/worktree"
)

// A source is a main package on disk, with the environment and flags to build it.
type source struct {
	dir   string // of the package; holds no symbolic link
	root  string // of the copy of a published module that it is in; "" if it is in none
	rev   string // for Built.Rev
	env   map[string]string
	flags []string
	tool  string        // the go command that compiles it; "" means that of PATH
	along dyno.Warnings // of dependencies in other versions
}

func planErrorf(format string, args ...any) error {
	return &dyno.PlanError{Msg: fmt.Sprintf(format, args...)}
}

// find brings the source to disk and checks that s.Go can build it.
func (b *Builder) find(ctx context.Context, s dyno.Subject) (*source, error) {
	var src source
	var err error
	switch {
	case s.Module != "":
		src, err = b.module(ctx, s.Module)
		src.env = buildVariables(s.Env)
		src.env["GOWORK"] = "off"
	case s.Package != "":
		src.env = buildVariables(s.Env)
		src.dir, src.rev, err = b.local(ctx, s)
	default:
		err = planErrorf("%s is not built from source", s.String())
	}
	if err == nil {
		err = src.choose(s.Go)
	}
	if err == nil {
		err = b.takeDeps(ctx, &src, &s, ".")
	}
	return &src, err
}

// local returns the directory of the user's package, or that of it in another revision's worktree.
func (b *Builder) local(ctx context.Context, s dyno.Subject) (dir, rev string, err error) {
	base, err := filepath.Abs(s.Dir)
	if err != nil {
		return "", "", err
	}
	dir = s.Package
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return "", "", planErrorf("package %s is a file (want the directory of a main package)", s.Package)
	case errors.Is(err, os.ErrNotExist) && !filepath.IsAbs(s.Package) && !strings.HasPrefix(s.Package, "."):
		// Perhaps the import path of a package in the module around.
		out, err := b.command(ctx, base, nil, "go", "list", "-find", "-f", "{{.Dir}}", s.Package)
		if err != nil {
			return "", "", planErrorf("package %s is neither a directory in %s nor a package there: %s", s.Package, base, firstMessage(err))
		}
		dir = strings.TrimSpace(out)
	case err != nil:
		return "", "", planErrorf("package %s: %v", s.Package, err)
	}
	// go build ignores an overlay of files in a folder reached through a link.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", err
	}
	if s.Rev != "" {
		return b.revision(ctx, s, dir)
	}
	return dir, b.current(ctx, dir), nil
}

// goVersion returns the version of the toolchain, which it fetches if need be, and checks that src
// is a main package.
func (b *Builder) goVersion(ctx context.Context, src *source, s dyno.Subject) (string, error) {
	vars, err := b.goEnv(ctx, src, "GOVERSION")
	if err != nil {
		return "", err
	}
	args := append([]string{"list", "-e", "-find"}, src.flags...)
	args = append(append(args, s.Build...), "-f", "{{.Name}}", ".")
	name, err := b.command(ctx, src.dir, src.env, "go", args...)
	if err != nil {
		return "", ofToolchain(src, flagMistake(err, s.Build))
	}
	switch name = strings.TrimSpace(name); name {
	case "main":
	case "":
		return "", planErrorf("%s has no Go files (want a main package)", src.dir)
	default:
		return "", planErrorf("%s has package %s (want a main package)", src.dir, name)
	}
	return vars[0], nil
}

// ofToolchain says which toolchain failed, if the plan names one: a go.mod that one takes another may not.
func ofToolchain(src *source, err error) error {
	if want := src.env["GOTOOLCHAIN"]; want != "" && err != nil {
		return fmt.Errorf("with %s: %w", want, err)
	}
	return err
}

// flagMistake is err, or a mistake of the plan if the go command does not take the flags of a build.
func flagMistake(err error, flags []string) error {
	text, _, usage := strings.Cut(err.Error(), "\nusage: go ")
	if !usage || len(flags) == 0 {
		return err
	}
	return planErrorf("build flags %s: %s", strings.Join(flags, " "), text[strings.LastIndexByte(text, '\n')+1:])
}

// goEnv returns variables of the go command, which it fetches if need be.
func (b *Builder) goEnv(ctx context.Context, src *source, names ...string) ([]string, error) {
	out, err := b.command(ctx, src.dir, src.env, "go", append([]string{"env"}, names...)...)
	if err != nil {
		if want := src.env["GOTOOLCHAIN"]; want != "" {
			return nil, fmt.Errorf("get Go toolchain %s: %w", want, err)
		}
		return nil, err
	}
	values := strings.Split(out, "\n")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	return values[:len(names)], nil
}

// toolchain returns GOTOOLCHAIN for a Go version. From Go 1.21 a series begins with 1.N.0.
func toolchain(v string) string {
	v = "go" + strings.TrimPrefix(v, "go")
	if version.Lang(v) == v && version.Compare(v, "go1.21") >= 0 {
		v += ".0"
	}
	return v
}

var goLine = regexp.MustCompile(`(?m)^[ \t]*go[ \t]+(\d[^\s]*).*$`)

// choose selects a Go version; "" leaves the choice to the go command. The error is that go.mod needs
// a newer one.
func (src *source) choose(v string) error {
	if v == "" {
		return nil
	}
	chosen := toolchain(v)
	src.env["GOTOOLCHAIN"] = chosen
	file := worktree.FindUp(src.dir, "go.mod")
	text, _ := os.ReadFile(file)
	m := goLine.FindSubmatchIndex(text)
	if m == nil {
		return nil
	}
	want := string(text[m[2]:m[3]])
	if version.Compare(chosen, "go"+want) >= 0 {
		return nil
	}
	return &dyno.PlanError{
		File: file, Line: 1 + strings.Count(string(text[:m[0]]), "\n"), Column: 1 + m[2] - m[0],
		Source: strings.TrimRight(string(text[m[0]:m[1]]), "\r"),
		Msg:    fmt.Sprintf("Go %s is too old: %s needs go %s", strings.TrimPrefix(chosen, "go"), filepath.Base(file), want),
	}
}

// module returns a copy of a published module.
func (b *Builder) module(ctx context.Context, spec string) (src source, err error) {
	if src, ok := b.copies[spec]; ok {
		return src, nil
	}
	c, err := b.modules().Copy(ctx, spec, b.name("module"))
	if err != nil {
		return src, err
	}
	// -mod=mod: the copy may lack go.sum lines, or a vendor folder that the zip left out.
	src = source{dir: c.Dir, root: c.Root, rev: c.Version, flags: []string{"-mod=mod"}}
	b.copies[spec] = src
	return src, nil
}

func (b *Builder) modules() *gomod.Maker {
	return &gomod.Maker{First: firstMessage, Go: func(ctx context.Context, dir string, env map[string]string, args ...string) (string, error) {
		return b.command(ctx, dir, env, "go", args...)
	}}
}

// takeDeps gives a source the versions of dependencies that s names.
func (b *Builder) takeDeps(ctx context.Context, src *source, s *dyno.Subject, patterns ...string) error {
	if len(s.Deps) == 0 {
		return nil
	}
	key := fmt.Sprintf("%q %q %q %q %q", src.dir, src.flags, pairs(src.env), pairs(s.Deps), patterns)
	made, ok := b.deps[key]
	if !ok {
		own := slices.Concat(src.flags, s.Build)
		var err error
		if made, err = b.modules().Take(ctx, src.dir, src.env, own, s.Deps, b.name("deps"), patterns...); err != nil {
			return err
		}
		b.deps[key] = made
	}
	src.flags = slices.Concat(src.flags, made.Flags)
	src.along = made.Warnings
	return nil
}

func (b *Builder) inTree(path string) bool {
	for _, tree := range b.trees {
		if within(path, tree) {
			return true
		}
	}
	return false
}

// within reports whether a path is a directory, or in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// current returns the commit of the working tree around dir, with "+dirty" if the module has
// changes; "" if there is no commit.
func (b *Builder) current(ctx context.Context, dir string) string {
	commit, err := b.git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	if mod := worktree.FindUp(dir, "go.mod"); mod != "" {
		dir = filepath.Dir(mod)
	}
	// dyno's own run directories are no change of the program.
	changes, err := b.git(ctx, dir, "status", "--porcelain", "--", ".", ":(exclude)dyno-runs")
	if err != nil || changes != "" {
		return commit + "+dirty"
	}
	return commit
}

// Place writes the source of a program that dyno makes into the builder's private folder, equal sources
// once. files are by name, with slashes.
func (b *Builder) Place(files map[string][]byte) (dir string, err error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %d\n", name, len(files[name]))
		sum.Write(files[name])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	dir = filepath.Join(b.dir, "made-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if exists(dir) {
		return dir, nil
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}
