package worktree

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// carry copies paths of the working tree into the worktree.
func (m *Maker) carry(_ context.Context, w *Commit) error {
	for _, path := range w.Copy {
		from, to, err := w.inRepo(path)
		if err != nil {
			return err
		}
		info, err := os.Stat(from)
		if err != nil {
			return mistakef("copy %s: %v", path, err)
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else {
			err = copyFile(from, to, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
	}
	return nil
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// mostPrepared is how many bytes of what a command made are kept for the next run.
const mostPrepared = 1 << 30

// prepare runs the plan's command in a worktree, or puts what it made in an earlier run in its place: what git does not know of there.
func (m *Maker) prepare(ctx context.Context, w *Commit) error {
	if w.Prepare == "" {
		return nil
	}
	_, dir, err := w.inRepo(".")
	if err != nil {
		return err
	}
	cached := w.preparedFile()
	if len(w.Copy) == 0 && unpack(cached, w.tree) == nil { // what is copied may be another each time
		return nil
	}
	if m.Tell != nil {
		m.Tell("preparing " + w.Rev)
	}
	if _, err := m.Run(ctx, dir, "sh", "-c", w.Prepare); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("prepare %s: %w", w.Rev, err)
	}
	others, err := m.git(ctx, w.tree, "ls-files", "--others", "-z")
	if err != nil {
		return err
	}
	if err := pack(cached, w.tree, strings.Split(strings.Trim(others, "\x00"), "\x00")); err != nil {
		os.Remove(cached) // the next run prepares again
	}
	return nil
}

// preparedFile is where what a command made of a revision is kept, "" if the user has no directory for that.
func (w *Commit) preparedFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", w.Common, w.ID, w.Prepare))
	return filepath.Join(dir, "dyno", "prepared", hex.EncodeToString(sum[:12])+".tar")
}

// pack writes files of a tree to an archive.
func pack(archive, tree string, names []string) (err error) {
	if archive == "" || os.MkdirAll(filepath.Dir(archive), 0o700) != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(archive), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	out, size := tar.NewWriter(f), int64(0)
	for _, name := range names {
		if name == "" {
			continue
		}
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
