package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/subject/worktree"
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
	b.lists = append(b.lists, list)
	b.guard.RemoveInEnd(place, filepath.Join(list, filepath.Base(place)))
	m := worktree.Maker{First: firstMessage, Tell: b.Tell, Run: func(ctx context.Context, dir, name string, args ...string) (string, error) {
		return b.command(ctx, dir, nil, name, args...)
	}}
	tree, outside, err := m.Make(ctx, w, place)
	b.outside[tree] = outside
	return tree, err
}

// unembedded is what the go command says of a folder that is to be embedded and is not there.
var unembedded = regexp.MustCompile(`pattern (?:all:)?([^\s:]+): no matching files found`)

// cured adds to an error of building a revision what may be missing in its worktree.
func (b *Builder) cured(err error, s dyno.Subject, src *source) error {
	m := unembedded.FindStringSubmatch(err.Error())
	if s.Rev == "" || m == nil {
		return err
	}
	name := strings.SplitN(m[1], "/", 2)[0]
	path := name
	if at, relErr := filepath.Rel(".", filepath.Join(s.Package, name)); relErr == nil && !filepath.IsAbs(s.Package) {
		path = at
	}
	return fmt.Errorf("%w\n%s is embedded, but git does not have it in %s (consider: --copy %s, which takes that of the working tree, or --prepare COMMAND, which makes it in each revision, such as 'npm run build')",
		err, name, s.Rev, path)
}
