package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/worktree"
)

// keptTree begins the names of worktrees that are the same in each run, as the go command caches
// what it compiles by directory. Only the dyno that made such a directory uses it.
const keptTree = "dyno-rev-"

// git runs git without the hooks of the user's repository.
func (b *Builder) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := b.command(ctx, dir, nil, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	return strings.TrimSpace(out), err
}

// revision returns the place of dir in a worktree of s.Rev, and the commit.
func (b *Builder) revision(ctx context.Context, s dyno.Subject, dir string) (string, string, error) {
	top, err := b.git(ctx, dir, "rev-parse", "--show-toplevel", "--git-common-dir")
	if err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		return "", "", planErrorf("rev %s: %s is not in a git repository: %s", s.Rev, dir, firstMessage(err))
	}
	repo, common, _ := strings.Cut(top, "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	common = filepath.Clean(common)
	named := fmt.Sprintf("%q %q", repo, s.Rev)
	commit := b.commits[named] // a branch may move while its settings are measured
	if commit == "" {
		if commit, err = b.git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", s.Rev+"^{commit}"); err != nil {
			if ctx.Err() != nil {
				return "", "", ctx.Err()
			}
			return "", "", planErrorf("rev %s: no such revision in %s%s", s.Rev, repo, b.whyUnknown(ctx, dir, s.Rev))
		}
		b.commits[named] = commit
	}
	key := fmt.Sprintf("%q %q %q %q %q", repo, commit, s.Prepare, s.Copy, s.Dir)
	tree := b.trees[key]
	if tree == "" {
		w := worktree.Commit{Repo: repo, Common: common, ID: commit, Rev: s.Rev, Package: dir, Base: s.Dir, Prepare: s.Prepare, Copy: s.Copy}
		if tree, err = b.addTree(ctx, w); err != nil {
			return "", "", err
		}
		b.trees[key] = tree
	}
	rel, err := filepath.Rel(repo, dir)
	if err != nil {
		return "", "", err
	}
	if dir = filepath.Join(tree, rel); !exists(dir) {
		return "", "", planErrorf("rev %s: package %s does not exist in it", s.Rev, s.Package)
	}
	return dir, commit, nil
}

// whyUnknown says why a revision may be missing here, and the cure; "" if nothing is known.
func (b *Builder) whyUnknown(ctx context.Context, dir, rev string) string {
	if shallow, err := b.git(ctx, dir, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return " (the clone is shallow; consider: git fetch --unshallow, or fetch-depth: 0 of actions/checkout)"
	}
	remotes, err := b.git(ctx, dir, "remote")
	for _, remote := range strings.Fields(remotes) {
		if branch, ok := strings.CutPrefix(rev, remote+"/"); ok && err == nil {
			return fmt.Sprintf(" (it was not fetched; consider: git fetch %s %s:refs/remotes/%s)", remote, branch, rev)
		}
		if strings.ContainsAny(rev, "~^@:") {
			continue
		}
		return fmt.Sprintf(" (if it is a branch that was not fetched, consider: git fetch %s %s)", remote, rev)
	}
	return ""
}

// addTree checks out a commit. The guard removes the worktree, and git's entry.
func (b *Builder) addTree(ctx context.Context, w worktree.Commit) (string, error) {
	// git needs a unique folder name, so it depends on the folder for temporary files.
	parent := filepath.Dir(b.dir)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", parent, w.Common, w.ID, w.Prepare, w.Copy, w.Base))
	place := filepath.Join(parent, keptTree+hex.EncodeToString(sum[:6]))
	if err := os.Mkdir(place, 0o700); err != nil { // another dyno uses it
		place = b.name(filepath.Base(b.dir) + "-")
		if err := os.Mkdir(place, 0o700); err != nil {
			return "", err
		}
	}
	list := filepath.Join(w.Common, "worktrees")
	entry := filepath.Join(list, filepath.Base(place))
	if err := os.RemoveAll(entry); err != nil { // of a dyno that crashed: git would choose another name
		return "", err
	}
	b.lists = append(b.lists, list)
	b.guard.RemoveInEnd(place, entry)
	m := worktree.Maker{First: firstMessage, Tell: b.Tell, Run: func(ctx context.Context, dir, name string, args ...string) (string, error) {
		return b.command(ctx, dir, nil, name, args...)
	}}
	made, err := m.Make(ctx, w, place)
	if err != nil {
		return "", err
	}
	b.made[made.Tree] = made
	return made.Tree, nil
}

// differs warns of what a revision is built with, or without, unlike the working tree.
func (b *Builder) differs(src *source, s dyno.Subject) (w dyno.Warnings) {
	w = slices.Clone(src.along)
	made := b.madeOf(src.dir)
	for _, dir := range made.Outside {
		w.AddOf(dyno.WarnOutside, dir, "%s is outside of the repository: revision %s is built with what is there now", dir, s.Rev)
	}
	if n := len(made.Pointers); n > 0 {
		w.AddOf(dyno.WarnLeft, made.Pointers[0], "%s is a pointer of Git LFS in revision %s, one of %d whose content is not here (consider: git lfs fetch)", made.Pointers[0], s.Rev, n)
	}
	if len(made.Left) > 0 {
		name, more := made.Left[0], ""
		if n := len(made.Left); n > 1 {
			more = fmt.Sprintf(", one of %d such files", n)
		}
		w.AddOf(dyno.WarnLeft, name, "git does not have %s%s: revision %s is built without, unlike the working tree (consider: --copy %s, or --prepare COMMAND)",
			name, more, s.Rev, b.toCopy(src, s, filepath.Join(made.Tree, name)))
	}
	return w
}

// madeOf returns what was made of the commit whose worktree dir is in.
func (b *Builder) madeOf(dir string) worktree.Made {
	for tree, made := range b.made {
		if within(dir, tree) {
			return made
		}
	}
	return worktree.Made{}
}

// toCopy returns the path for --copy of a file of a worktree: its counterpart in the working tree, relative
// to the plan's directory.
func (b *Builder) toCopy(src *source, s dyno.Subject, file string) string {
	user, err := filepath.Abs(s.Package)
	base, baseErr := filepath.Abs(s.Dir)
	if !filepath.IsAbs(s.Package) {
		user = filepath.Join(base, s.Package)
	}
	rel, relErr := filepath.Rel(src.dir, file)
	if errors.Join(err, baseErr, relErr) != nil {
		return file
	}
	if rel, err = filepath.Rel(base, filepath.Join(user, rel)); err != nil {
		return file
	}
	return rel
}

// unembedded matches the go command's error about a folder that is to be embedded and does not exist.
var unembedded = regexp.MustCompile(`(?m)^([^\s:]+\.go):\d+:\d+: pattern (?:all:)?([^\s:]+): (?:no matching files found|cannot embed directory \S+: contains no embeddable files)`)

// cured adds to an error of building a revision what may be missing in its worktree.
func (b *Builder) cured(err error, s dyno.Subject, src *source) error {
	if s.Rev == "" {
		return err
	}
	said := err.Error()
	lacks := b.madeOf(src.dir).Missing
	for _, path := range slices.Sorted(maps.Keys(lacks)) {
		if strings.Contains(said, path) {
			err = fmt.Errorf("%w\n%s", err, lacks[path])
		}
	}
	m := unembedded.FindStringSubmatch(said)
	if m == nil {
		return err
	}
	name, _, _ := strings.Cut(m[2], "/")
	file := filepath.Join(filepath.Dir(m[1]), name)
	if !filepath.IsAbs(file) {
		file = filepath.Join(src.dir, file)
	}
	return fmt.Errorf("%w\n%s is embedded, but git does not have it in %s (consider: --copy %s, which takes that of the working tree, or --prepare COMMAND, which makes it in each revision, such as 'npm run build')",
		err, name, s.Rev, b.toCopy(src, s, file))
}
