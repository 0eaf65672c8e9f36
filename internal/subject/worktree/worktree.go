// Package worktree checks out commits so that they build as the working tree does: with submodules and large files as far as they are here,
// with what is around the repository, and with what git does not know but the build needs.
//
// It owns what is in a worktree. What removes it, and which programs may run, are its caller's.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// A Maker makes worktrees by programs.
type Maker struct {
	Run   func(ctx context.Context, dir, name string, args ...string) (stdout string, err error) // runs a program to its end
	First func(error) string                                                                     // returns the first message of a program that failed
	Tell  func(step string)                                                                      // is told of steps that take long; may be nil
}

// A Commit is what is to be checked out.
type Commit struct {
	Repo, Common string   // the working tree, and the directory of git
	ID, Rev      string   // hash, and as the user named it
	Package      string   // directory of the package, in the working tree
	Base         string   // the plan's directory, to which paths are relative
	Prepare      string   // command of the shell; "" for none
	Copy         []string // paths of the working tree

	tree string // where it is checked out
	made Made
}

// Made is the outcome of checking out a commit.
type Made struct {
	Tree     string            // the working tree's counterpart
	Outside  []string          // directories of modules outside of the repository that it builds with, which no revision has
	Missing  map[string]string // submodules that are not here, by path, each with its cure
	Pointers []string          // files of Git LFS whose content is not here; relative to the tree
	Left     []string          // files of the working tree that would be compiled, and that git does not have; relative to it
}

func mistakef(format string, args ...any) error {
	return &dyno.PlanError{Msg: fmt.Sprintf(format, args...)}
}

// git runs git without the hooks of the user's repository.
func (m *Maker) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := m.Run(ctx, dir, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	return strings.TrimSpace(out), err
}

// Make checks out a commit in place, an empty directory of a name that is no entry of git's yet. A mistake of the plan is a [*dyno.PlanError].
func (m *Maker) Make(ctx context.Context, w Commit, place string) (Made, error) {
	around, err := m.outside(ctx, &w)
	if err != nil {
		return Made{}, err
	}
	if err := m.checkOut(ctx, &w, place, around); err != nil {
		return Made{}, fmt.Errorf("check out %s: %w", w.Rev, err)
	}
	for _, step := range []func(context.Context, *Commit) error{m.submodules, m.largeFiles, m.workspace, m.carry, m.prepare, m.left} {
		if err := step(ctx, &w); err != nil {
			return Made{}, err
		}
	}
	w.made.Tree = w.tree
	w.made.Outside = slices.DeleteFunc(around, func(path string) bool { return !exists(filepath.Join(path, "go.mod")) })
	return w.made, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// FindUp returns the path of the nearest regular file called name, in dir or in a directory above it; "" without one.
func FindUp(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// checkOut makes the worktree, in a place of the same surroundings if its modules need any. Git names its entry by the folder in which it is made:
// one of dyno's, as an entry of another name may be the user's.
func (m *Maker) checkOut(ctx context.Context, w *Commit, place string, outside []string) (err error) {
	w.tree = place
	made := place
	if len(outside) > 0 {
		if w.tree, err = surroundings(place, w.Repo, outside); err != nil {
			return err
		}
		made = filepath.Join(place, filepath.Base(place))
	}
	// --force: git may have an entry without a folder after a crash.
	if _, err = m.git(ctx, w.Repo, "worktree", "add", "--force", "--detach", made, w.ID); err != nil || made == w.tree {
		return err
	}
	_, err = m.git(ctx, w.Repo, "worktree", "move", made, w.tree)
	return err
}

// replaced matches the directories in go.mod's replace and in go.work's use and replace.
var (
	replaced = regexp.MustCompile(`(?m)=>[ \t]*"?(\.\.?/[^\s"]*)`)
	used     = regexp.MustCompile(`(?m)^[ \t]*(?:use[ \t]+)?"?(\.\.?(?:/[^\s"]*)?)"?[ \t\r]*(?://.*)?$`)
)

// outside are the directories and files outside of the repository that its modules build with: those of go.work above it, or beside it, and
// modules that are replaced by a directory elsewhere.
func (m *Maker) outside(ctx context.Context, w *Commit) (paths []string, err error) {
	add := func(path string) {
		if rel, err := filepath.Rel(w.Repo, path); err == nil && (rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))) && exists(path) {
			paths = append(paths, filepath.Clean(path))
		}
	}
	for dir := w.Package; ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(w.Repo, dir)
		if err != nil || strings.HasPrefix(rel, "..") {
			break
		}
		text, err := m.Run(ctx, w.Repo, "git", "cat-file", "blob", w.ID+":"+filepath.ToSlash(filepath.Join(rel, "go.mod")))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, m := range replaced.FindAllStringSubmatch(text, -1) {
			add(filepath.Join(dir, m[1]))
		}
		if err == nil || rel == "." {
			break
		}
	}
	if file := workFile(w.Package); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range slices.Concat(used.FindAllSubmatch(text, -1), replaced.FindAllSubmatch(text, -1)) {
			add(filepath.Join(filepath.Dir(file), string(m[1])))
		}
		add(file)
	}
	return paths, nil
}

// workFile is the go.work that the go command finds from a directory on (https://go.dev/ref/mod#workspaces), "" if none, or if the environment decides.
func workFile(dir string) string {
	if os.Getenv("GOWORK") != "" {
		return ""
	}
	return FindUp(dir, "go.work")
}

// surroundings makes place look like what is around the repository, with links to all that is beside it and above it, as far as paths are. It
// returns where the repository's own place is in it.
func surroundings(place, repo string, paths []string) (tree string, err error) {
	top := filepath.Dir(repo)
	for _, p := range paths {
		for !strings.HasPrefix(p, strings.TrimSuffix(top, "/")+"/") && top != filepath.Dir(top) {
			top = filepath.Dir(top)
		}
	}
	rel, err := filepath.Rel(top, repo)
	if err != nil {
		return "", err
	}
	whole := place
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		entries, err := os.ReadDir(top)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if e.Name() == name || filepath.Join(top, e.Name()) == whole {
				continue
			}
			if err := os.Symlink(filepath.Join(top, e.Name()), filepath.Join(place, e.Name())); err != nil {
				return "", err
			}
		}
		top, place = filepath.Join(top, name), filepath.Join(place, name)
		if top != repo {
			if err := os.Mkdir(place, 0o700); err != nil {
				return "", err
			}
		}
	}
	return place, nil
}

// workspace copies a go.work of the working tree that git does not know.
func (m *Maker) workspace(ctx context.Context, w *Commit) error {
	file := workFile(w.Package)
	if file == "" {
		return nil
	}
	for _, name := range []string{file, file + ".sum"} {
		rel, err := filepath.Rel(w.Repo, name)
		if err != nil || strings.HasPrefix(rel, "..") || exists(filepath.Join(w.tree, rel)) {
			continue
		}
		if _, err := m.git(ctx, w.Repo, "ls-files", "--error-unmatch", "--", ":(literal)"+rel); err == nil {
			continue // later revisions have it
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(w.tree, rel), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// submodules fills the submodules of a worktree from what is here of them, at the commits that the revision names. The build may do without the
// others.
func (m *Maker) submodules(ctx context.Context, w *Commit) error {
	return m.fillSubmodules(ctx, w, w.tree, w.Common)
}

func (m *Maker) fillSubmodules(ctx context.Context, w *Commit, tree, common string) error {
	if !exists(filepath.Join(tree, ".gitmodules")) {
		return nil
	}
	out, err := m.git(ctx, tree, "config", "--file", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return ctx.Err() // there is none
	}
	for line := range strings.Lines(out) {
		key, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		at, err := m.git(ctx, tree, "rev-parse", "--verify", "--quiet", "HEAD:"+path)
		if err != nil {
			continue // of another revision
		}
		from := filepath.Join(common, "modules", name)
		if !exists(from) {
			w.lacks(path, "the submodule %s is not here (consider: git submodule update --init %[1]s)")
			continue
		}
		into := filepath.Join(tree, path)
		if _, err = m.git(ctx, tree, "clone", "--quiet", "--shared", "--no-checkout", from, into); err == nil {
			_, err = m.git(ctx, into, "checkout", "--quiet", "--detach", at)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.lacks(path, "the submodule %s is not here at %.12s: %s (consider: git -C %[1]s fetch)", at, m.First(err))
			continue
		}
		if err := m.fillSubmodules(ctx, w, into, from); err != nil {
			return err
		}
	}
	return nil
}

func (w *Commit) lacks(path, format string, args ...any) {
	if w.made.Missing == nil {
		w.made.Missing = map[string]string{}
	}
	w.made.Missing[path] = fmt.Sprintf(format, append([]any{path}, args...)...)
}

// pointer begins a file of Git LFS whose content is elsewhere (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
var (
	pointer = []byte("version https://git-lfs.github.com/spec/v1")
	oid     = regexp.MustCompile(`(?m)^oid sha256:([0-9a-f]{64})$`)
)

// largeFiles puts the contents of Git LFS, as far as they are here, in place of their pointers, which git leaves where the program git-lfs is missing.
// Without the content of one below a package that embeds files the program might have the pointer in it.
func (m *Maker) largeFiles(ctx context.Context, w *Commit) error {
	out, err := m.git(ctx, w.tree, "grep", "-lIz", "--cached", "-e", "^"+string(pointer)+"$")
	if err != nil {
		return ctx.Err() // there is none
	}
	var embeds map[string]bool
	for _, name := range strings.Split(strings.Trim(out, "\x00"), "\x00") {
		file := filepath.Join(w.tree, name)
		text, err := os.ReadFile(file)
		sums := oid.FindSubmatch(text)
		if err != nil || sums == nil || !bytes.HasPrefix(text, pointer) {
			continue
		}
		sum := string(sums[1])
		content, err := os.ReadFile(filepath.Join(w.Common, "lfs/objects", sum[:2], sum[2:4], sum))
		if err != nil {
			if embeds == nil {
				if embeds, err = m.embedders(ctx, w.tree); err != nil {
					return err
				}
			}
			if embedded(name, embeds) {
				return mistakef("rev %s: %s is a pointer of Git LFS, and its content is not here (consider: git lfs fetch origin %.12s)", w.Rev, name, w.ID)
			}
			w.made.Pointers = append(w.made.Pointers, name)
			continue
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// embedders are the directories of a tree whose packages embed files.
func (m *Maker) embedders(ctx context.Context, tree string) (map[string]bool, error) {
	dirs := map[string]bool{}
	out, err := m.git(ctx, tree, "grep", "-lz", "--cached", "-e", "^//go:embed ", "--", "*.go")
	if err != nil {
		return dirs, ctx.Err() // no package embeds files
	}
	for _, name := range strings.Split(strings.Trim(out, "\x00"), "\x00") {
		dirs[path.Dir(name)] = true
	}
	return dirs, nil
}

func embedded(name string, embedders map[string]bool) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if embedders[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// left notes what the working tree would be built with and a revision is not: a profile of main, packages in a folder vendor, and code in a
// package of the revision that git ignores, as a command makes it. What cannot be told is left out.
func (m *Maker) left(ctx context.Context, w *Commit) error {
	file := FindUp(w.Package, "go.mod")
	module, err := filepath.Rel(w.Repo, filepath.Dir(file))
	if file == "" || err != nil || strings.HasPrefix(module, "..") {
		return nil
	}
	pkg, err := filepath.Rel(w.Repo, w.Package)
	if err != nil {
		return nil
	}
	at := func(elem ...string) string { return ":(glob)" + filepath.ToSlash(filepath.Join(elem...)) }
	others, _ := m.git(ctx, w.Repo, "ls-files", "--others", "-z", "--", at(pkg, "default.pgo"), at(module, "vendor/modules.txt"))
	ignored, _ := m.git(ctx, w.Repo, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", at(module, "**/*.go"))
	for _, name := range slices.Concat(strings.Split(others, "\x00"), strings.Split(ignored, "\x00")) {
		code := strings.HasSuffix(name, ".go")
		if name == "" || code && !w.compiles(name, filepath.Dir(file)) || exists(filepath.Join(w.tree, name)) {
			continue
		}
		w.made.Left = append(w.made.Left, name)
	}
	return ctx.Err()
}

// compiles reports whether the go command would take a file of the working tree for a package of a module that the revision has, too.
func (w *Commit) compiles(name, module string) bool {
	dir := filepath.Join(w.Repo, filepath.Dir(name))
	known, _ := filepath.Glob(filepath.Join(w.tree, filepath.Dir(name), "*.go"))
	taken, err := build.Default.MatchFile(dir, filepath.Base(name))
	return !strings.HasSuffix(name, "_test.go") && !passed.MatchString(name) && len(known) > 0 && err == nil && taken && filepath.Dir(FindUp(dir, "go.mod")) == module
}

// passed matches what the go command does not compile with "./...", and vendor, which has a line of its own.
var passed = regexp.MustCompile(`(^|/)([._][^/]*|testdata|vendor|node_modules)(/|$)`)
