// Package commits lists the commits between two revisions of a repository, and tells which of them can have changed the
// program of a package. It builds nothing and checks nothing out: it reads what git has.
package commits

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Git runs git in a directory, with input on its standard input, and returns what it prints.
type Git func(ctx context.Context, dir, input string, args ...string) (string, error)

// A Commit is one of a history.
type Commit struct {
	ID      string   // its hash
	Title   string   // first line of its message
	Date    string   // of the commit, such as 2026-11-21
	Files   []string // that it changed against the one before it here, from the top of the repository, with slashes
	Matters bool     // whether it can have changed the program
}

// Short is the beginning of its hash.
func (c *Commit) Short() string { return c.ID[:min(len(c.ID), 12)] }

// A History is the commits after Good up to Bad, the first parents of each alone: a merge is one commit.
type History struct {
	Top     string // the directory of the repository
	Good    Commit
	Commits []Commit // the oldest first; the last is the bad end
}

func mistakef(format string, args ...any) error {
	return &dyno.PlanError{Msg: fmt.Sprintf(format, args...)}
}

// List reads the commits from good to bad, of the repository around dir, the folder of a main package. A mistake of the user's is
// a [*dyno.PlanError].
func List(ctx context.Context, git Git, dir, good, bad string) (*History, error) {
	top, err := git(ctx, dir, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, mistakef("%s is not in a git repository", dir)
	}
	h := &History{Top: strings.TrimSpace(top)}
	ids := make([]string, 2)
	for i, rev := range []string{good, bad} {
		id, err := git(ctx, dir, "", "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
		if err != nil {
			return nil, mistakef("%s is no revision of %s", rev, h.Top)
		}
		ids[i] = strings.TrimSpace(id)
	}
	if ids[0] == ids[1] {
		return nil, mistakef("%s and %s are the same commit", good, bad)
	}
	if _, err := git(ctx, dir, "", "merge-base", "--is-ancestor", ids[0], ids[1]); err != nil {
		base, _ := git(ctx, dir, "", "merge-base", ids[0], ids[1])
		if base = strings.TrimSpace(base); base == "" {
			return nil, mistakef("%s and %s have no commit in common", good, bad)
		}
		return nil, mistakef("%s is no ancestor of %s (consider: --good %.12s, where the two part)", good, bad, base)
	}
	text, err := git(ctx, dir, "", "log", "-1", "--format=%H%x00%cs%x00%s", ids[0], "--")
	if err != nil {
		return nil, err
	}
	h.Good = commitOf(text)
	text, err = git(ctx, dir, "", "log", "--first-parent", "-m", "--reverse", "--no-renames", "--name-only", "-z", "--format=%x01%H%x00%cs%x00%s%x00", ids[0]+".."+ids[1], "--")
	if err != nil {
		return nil, err
	}
	for _, part := range strings.Split(text, "\x01")[1:] {
		c := commitOf(part)
		if fields := strings.SplitN(part, "\x00", 4); len(fields) == 4 {
			c.Files = strings.FieldsFunc(fields[3], func(r rune) bool { return r == 0 || r == '\n' })
		}
		h.Commits = append(h.Commits, c)
	}
	rel, err := filepath.Rel(h.Top, dir)
	if err != nil {
		return nil, err
	}
	return h, h.matter(ctx, git, filepath.ToSlash(rel))
}

func commitOf(text string) Commit {
	fields := append(strings.SplitN(text, "\x00", 4), "", "", "")
	return Commit{ID: fields[0], Date: fields[1], Title: strings.TrimSpace(fields[2])}
}

// matter finds the commits that changed what the program may be made of: of all packages that it imports in any of the
// commits, files that the compilers read, or that may be embedded, and what says which modules it is made of.
func (h *History) matter(ctx context.Context, git Git, pkg string) error {
	s, err := read(ctx, git, h)
	if err != nil {
		return err
	}
	in := s.reached(pkg)
	for i := range h.Commits {
		c := &h.Commits[i]
		c.Matters = slices.ContainsFunc(c.Files, func(file string) bool { return s.concerns(file, in) })
	}
	return nil
}

// compiled are endings of files that the go command builds from (go/build, Context.Import), and of profiles.
var compiled = []string{".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso", ".pgo"}

// concerns reports whether a file may be part of a program of packages in these folders.
func (s *sources) concerns(file string, in map[string]bool) bool {
	name, dir := path.Base(file), path.Dir(file)
	switch {
	case slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum", ".gitmodules", ".gitattributes"}, name):
		return true
	case strings.HasSuffix(name, "_test.go"):
		return false
	case strings.Contains("/"+file, "/vendor/"):
		return true
	case in[dir] && slices.Contains(compiled, path.Ext(name)):
		return true
	case s.cgo && slices.Contains(compiled, path.Ext(name)) && path.Ext(name) != ".go": // #include takes any path
		return true
	}
	for up := dir; ; up = path.Dir(up) {
		if in[up] && s.embeds[up] {
			return true
		}
		if up == "." || up == "/" {
			return false
		}
	}
}
