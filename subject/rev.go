package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno"
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
		var failed *commandError
		if errors.As(err, &failed) {
			return "", "", planErrorf("rev %s: %s is not in a git repository: %s", s.Rev, dir, firstMessage(err))
		}
		return "", "", err
	}
	repo, common, _ := strings.Cut(top, "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	common = filepath.Clean(common)
	commit, err := b.git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", s.Rev+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		return "", "", planErrorf("rev %s: no such revision in %s", s.Rev, repo)
	}
	tree := b.trees[repo+" "+commit]
	if tree == "" {
		if tree, err = b.addTree(ctx, repo, common, commit); err != nil {
			return "", "", fmt.Errorf("check out %s: %w", s.Rev, err)
		}
		b.trees[repo+" "+commit] = tree
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

// addTree checks out a commit. The guard removes the worktree and git's entry.
func (b *Builder) addTree(ctx context.Context, repo, common, commit string) (string, error) {
	// git needs a unique folder name, so it depends on the folder for temporary files.
	parent := filepath.Dir(b.dir)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", parent, common, commit))
	tree := filepath.Join(parent, keptTree+hex.EncodeToString(sum[:6]))
	if err := os.Mkdir(tree, 0o700); err != nil { // another dyno uses it
		tree = b.name(filepath.Base(b.dir) + "-")
	}
	list := filepath.Join(common, "worktrees")
	b.lists = append(b.lists, list)
	b.guard.RemoveInEnd(filepath.Join(list, filepath.Base(tree)))
	b.guard.RemoveInEnd(tree)
	// --force: git may have an entry without a folder after a crash.
	_, err := b.git(ctx, repo, "worktree", "add", "--force", "--detach", tree, commit)
	return tree, err
}

func (b *Builder) inTree(path string) bool {
	for _, tree := range b.trees {
		if path == tree || strings.HasPrefix(path, tree+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// current returns the commit of the working tree around dir, with "+dirty" if the module has
// changes; "" if there is no commit.
func (b *Builder) current(ctx context.Context, dir string) string {
	commit, err := b.git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	if mod := findUp(dir, "go.mod"); mod != "" {
		dir = filepath.Dir(mod)
	}
	// dyno's own run directories are no change of the program.
	changes, err := b.git(ctx, dir, "status", "--porcelain", "--", ".", ":(exclude)dyno-runs")
	if err != nil || changes != "" {
		return commit + "+dirty"
	}
	return commit
}
