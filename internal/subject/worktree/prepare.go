package worktree

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// inRepo is the counterpart in the worktree of a path of the working tree, relative to the plan's directory.
func (w *Commit) inRepo(path string) (from, to string, err error) {
	if from = path; !filepath.IsAbs(path) {
		base, err := filepath.Abs(w.Base)
		if err == nil {
			base, err = filepath.EvalSymlinks(base)
		}
		if err != nil {
			return "", "", err
		}
		from = filepath.Join(base, path)
	}
	rel, err := filepath.Rel(w.Repo, from)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", "", mistakef("%s is not in the repository %s", path, w.Repo)
	}
	return from, filepath.Join(w.tree, rel), nil
}

// carry copies files that git does not have from paths of the working tree into the worktree. It never leaves
// the worktree, although a revision may have a link out of it. It replaces nothing that the revision has.
func (m *Maker) carry(ctx context.Context, w *Commit) error {
	if len(w.Copy) == 0 {
		return nil
	}
	root, err := os.OpenRoot(w.tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, path := range w.Copy {
		from, to, err := w.inRepo(path)
		if err != nil {
			return err
		}
		if _, err := os.Stat(from); err != nil {
			return mistakef("copy %s: %v", path, err)
		}
		rel, err := filepath.Rel(w.tree, to)
		if err != nil {
			return err
		}
		others, err := m.others(ctx, w.Repo, rel)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return mistakef("copy %s: %s", path, m.First(err))
		case len(others) == 0:
			return mistakef("copy %s: git has all of it (want what git does not have, such as files that a command makes)", path)
		}
		for _, name := range others {
			if err := copyAll(root, name, filepath.Join(w.Repo, name)); err != nil {
				return fmt.Errorf("copy %s: %w", path, err)
			}
		}
	}
	return nil
}

// others returns the files of a tree that git does not have, ignored or not. A name that ends in a slash is
// another repository.
func (m *Maker) others(ctx context.Context, tree, path string) (names []string, err error) {
	out, err := m.git(ctx, tree, "ls-files", "--others", "-z", "--", ":(literal)"+path)
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(name string) bool { return name == "" }), err
}

// copyAll copies a file, a link or a directory to a name in root, unless there is something.
func copyAll(root *os.Root, name, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(name, rel)
		if _, err := root.Lstat(to); err == nil {
			return nil
		}
		if err := root.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return root.Symlink(link, to)
		case !d.Type().IsRegular():
			return nil
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}

// mostPrepared is how many bytes of what a command made are kept for the next run, and keptPrepared how long without use.
const (
	mostPrepared = 1 << 30
	keptPrepared = 30 * 24 * time.Hour
)

// prepare runs the plan's command in a worktree, or puts what it made in an earlier run in its place. That is kept if it is new files alone:
// what changed files of git, or is in repositories of its own, is made anew each time, as is all where files were copied.
func (m *Maker) prepare(ctx context.Context, w *Commit) error {
	if w.Prepare == "" {
		return nil
	}
	_, dir, err := w.inRepo(".")
	if err != nil {
		return err
	}
	cached := w.preparedFile(dir)
	if len(w.Copy) == 0 && unpack(cached, w.tree) == nil {
		return nil
	}
	before, err := m.others(ctx, w.tree, ".")
	if err != nil {
		return err
	}
	if m.Tell != nil {
		m.Tell("preparing " + w.Rev)
	}
	if said, err := m.Run(ctx, dir, "sh", "-c", "exec 2>&1\n"+w.Prepare); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("prepare %s: %w\n%s", w.Rev, err, last(said, 40))
	}
	changed, err := m.git(ctx, w.tree, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	others, err := m.others(ctx, w.tree, ".")
	if err != nil {
		return err
	}
	foreign := func(name string) bool { return strings.HasSuffix(name, "/") }
	if len(w.Copy) > 0 || changed != "" || slices.ContainsFunc(others, foreign) {
		return nil
	}
	made := slices.DeleteFunc(others, func(name string) bool { return slices.Contains(before, name) })
	if err := pack(cached, w.tree, made); err != nil {
		os.Remove(cached) // the next run prepares again
	}
	return nil
}

// last is the last lines of a text.
func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// preparedFile returns the path where the output of a command in a directory of a revision is kept. It is ""
// if the user has no directory for that.
func (w *Commit) preparedFile(in string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if in, err = filepath.Rel(w.tree, in); err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %q %q %q %q", w.Common, w.ID, w.Prepare, in))
	return filepath.Join(dir, "dyno", "prepared", hex.EncodeToString(sum[:12])+".tar")
}

// pack writes files of a tree to an archive.
func pack(archive, tree string, names []string) (err error) {
	if archive == "" || os.MkdirAll(filepath.Dir(archive), 0o700) != nil {
		return nil
	}
	forget(filepath.Dir(archive))
	f, err := os.CreateTemp(filepath.Dir(archive), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	out, size := tar.NewWriter(f), int64(0)
	for _, name := range names {
		path := filepath.Join(tree, name)
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&os.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		if size += info.Size(); size > mostPrepared {
			return errors.New("too much")
		}
		h.Name = name
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	if err := errors.Join(out.Close(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), archive)
}

// forget removes what was kept and not used for long.
func forget(dir string) {
	kept, _ := os.ReadDir(dir)
	for _, e := range kept {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keptPrepared {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// unpack puts the files of an archive into a tree.
func unpack(archive, tree string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	in := tar.NewReader(f)
	for {
		h, err := in.Next()
		if err == io.EOF {
			now := time.Now()
			os.Chtimes(archive, now, now) // so that it is kept
			return nil
		}
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), 0o700); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, h.Name)
		case tar.TypeReg:
			var out *os.File
			if out, err = root.OpenFile(h.Name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, os.FileMode(h.Mode)&0o777); err == nil {
				_, err = io.Copy(out, in)
				err = errors.Join(err, out.Close())
			}
		}
		if err != nil {
			return err
		}
	}
}
