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
	Parents []string // their hashes; a merge has several
	Files   []string // that it changed against the one before it here, from the top of the repository, with slashes
	Matters bool     // whether it can have changed the program

	links, submodules bool // it changed symbolic links, or submodules
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
	h := &History{Top: strings.TrimSuffix(top, "\n")}
	ids := make([]string, 2)
	for i, rev := range []string{good, bad} {
		id, err := git(ctx, h.Top, "", "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
		if err != nil {
			return nil, mistakef("%s is no revision of %s%s", rev, h.Top, Shallow(ctx, git, h.Top))
		}
		ids[i] = strings.TrimSpace(id)
	}
	if ids[0] == ids[1] {
		return nil, mistakef("%s and %s are the same commit", good, bad)
	}
	if _, err := git(ctx, h.Top, "", "merge-base", "--is-ancestor", ids[0], ids[1]); err != nil {
		base, _ := git(ctx, h.Top, "", "merge-base", ids[0], ids[1])
		if base = strings.TrimSpace(base); base == "" {
			return nil, mistakef("%s and %s have no commit in common%s", good, bad, Shallow(ctx, git, h.Top))
		}
		return nil, mistakef("%s is no ancestor of %s (consider: --good %.12s, where the two part)", good, bad, base)
	}
	text, err := git(ctx, h.Top, "", "log", "-1", "-z", "--format="+format, ids[0], "--")
	if err != nil {
		return nil, err
	}
	first, err := commitsOf(text)
	if err != nil || len(first) != 1 {
		return nil, fmt.Errorf("git log -1 %s: %q, %w", ids[0], text, err)
	}
	h.Good = first[0]
	text, err = git(ctx, h.Top, "", "log", "--first-parent", "-m", "--reverse", "--no-renames", "--raw", "--no-abbrev", "-z", "--format="+format, ids[0]+".."+ids[1], "--")
	if err == nil {
		h.Commits, err = commitsOf(text)
	}
	if err != nil {
		return nil, err
	}
	// The oldest is compared with the good end, so it has to be its child. Else what the good end alone has would count as a change of the oldest.
	switch from := h.Commits[0].Parents; {
	case len(from) == 0:
		return nil, mistakef("no line of first parents leads from %s to %s%s", good, bad, Shallow(ctx, git, h.Top))
	case from[0] != ids[0]:
		return nil, mistakef("%s came into %s by a merge, and is no first parent of it (consider: --good %.12s, which is before both)", good, bad, from[0])
	}
	rel, err := filepath.Rel(h.Top, dir)
	if err != nil {
		return nil, err
	}
	return h, h.matter(ctx, git, filepath.ToSlash(rel))
}

// Shallow says how a commit that is missing can be had; "" if the clone has all.
func Shallow(ctx context.Context, git Git, dir string) string {
	if is, err := git(ctx, dir, "", "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(is) == "true" {
		return " (the clone is shallow; consider: git fetch --unshallow, or fetch-depth: 0 of actions/checkout)"
	}
	return ""
}

// format gives each commit four fields, between NULs, which no title has.
const format = "%x00commit %H%x00%cs%x00%P%x00%s%x00"

// commitsOf parses the output of git log with -z, format and --raw: git-diff-tree(1), "raw output format".
func commitsOf(text string) (all []Commit, err error) {
	tokens := strings.Split(text, "\x00")
	for i := 0; i < len(tokens); i++ {
		token := strings.TrimLeft(tokens[i], "\n")
		id, is := strings.CutPrefix(token, "commit ")
		switch {
		case token == "":
		case is && isHash(id) && i+3 < len(tokens):
			all = append(all, Commit{ID: id, Date: tokens[i+1], Parents: strings.Fields(tokens[i+2]), Title: strings.TrimSpace(tokens[i+3])})
			i += 3
		case strings.HasPrefix(token, ":") && len(all) > 0 && i+1 < len(tokens):
			c := &all[len(all)-1]
			modes := strings.Fields(token)
			if len(modes) > 1 && strings.Contains(modes[0]+" "+modes[1], "120000") {
				c.links = true
			}
			if len(modes) > 1 && strings.Contains(modes[0]+" "+modes[1], "160000") {
				c.submodules = true
			}
			i++
			c.Files = append(c.Files, tokens[i])
		default:
			return nil, fmt.Errorf("git log: cannot read %q", token)
		}
	}
	return all, nil
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// matter finds the commits that changed what the program may be made of: of all packages that it imports in any of the
// commits, files that the compilers read, or that may be embedded, and what says which modules it is made of. Where the
// history has what is not followed here, such as symbolic links, all matter.
func (h *History) matter(ctx context.Context, git Git, pkg string) error {
	s, err := read(ctx, git, h)
	if err != nil {
		return err
	}
	in := s.reached(pkg)
	for dir := range in {
		s.unknown = s.unknown || s.unparsed[dir]
	}
	for i := range h.Commits {
		c := &h.Commits[i]
		c.Matters = s.unknown || c.submodules || slices.ContainsFunc(c.Files, func(file string) bool { return s.concerns(file, in) })
	}
	return nil
}

// compiled are endings of files that the go command builds from (go/build, Context.Import), and of profiles.
var compiled = []string{".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso", ".pgo"}

// modules are files that say what a program is made of.
var modules = []string{"go.mod", "go.sum", "go.work", "go.work.sum", ".gitmodules", ".gitattributes"}

// concerns reports whether a file may be part of a program of packages in these folders.
func (s *sources) concerns(file string, in map[string]bool) bool {
	name, dir := path.Base(file), path.Dir(file)
	if slices.Contains(modules, name) || strings.Contains("/"+file, "/vendor/") {
		return true
	}
	for up := dir; ; up = path.Dir(up) {
		if in[up] && s.embeds[up] {
			return true
		}
		if up == "." || up == "/" {
			break
		}
	}
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return false
	case in[dir] && slices.Contains(compiled, path.Ext(name)):
		return true
	}
	// #include takes any file, by any path.
	return s.includes && !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md")
}
