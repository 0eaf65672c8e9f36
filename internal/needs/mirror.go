package needs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dynolab/dyno/internal/subject/guard"
)

// mirror makes a directory equal to another, with its modes, and gives all of it to user, if that is not nil. A file that has
// the size and the time of its original is taken for the same: a server that writes to it changes the time. Where the file
// system has reflinks, the kernel makes them (copy_file_range(2)).
//
// Copies are used again, not removed and made anew, since ext4 looks through all inodes that were deleted in the last minutes
// for each new one (recently_deleted in fs/ext4/ialloc.c): after ten launches of a Postgres, a file took 1 ms.
func mirror(to, from string, user *guard.User) error {
	if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Another user, whose files these are, may put links in their place.
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	m := &mirroring{source, target, user}
	if err := m.prune(); err != nil {
		return err
	}
	return fs.WalkDir(source.FS(), ".", m.entry)
}

type mirroring struct {
	from, to *os.Root
	user     *guard.User
}

// prune removes what the original has not, or has of another type.
func (m *mirroring) prune() error {
	return fs.WalkDir(m.to.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		original, err := m.from.Lstat(path)
		if err == nil && original.Mode().Type() == d.Type() {
			return nil
		}
		if err := m.to.RemoveAll(path); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// entry makes one file, directory or link of the copy.
func (m *mirroring) entry(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		if err = m.to.Mkdir(path, info.Mode().Perm()); errors.Is(err, fs.ErrExist) {
			err = m.to.Chmod(path, info.Mode().Perm())
		}
	case d.Type().IsRegular():
		if m.same(path, info) {
			return nil
		}
		err = m.file(path, info)
	case d.Type()&fs.ModeSymlink != 0:
		var link string
		if link, err = m.from.Readlink(path); err == nil {
			m.to.Remove(path)
			err = m.to.Symlink(link, path)
		}
	default: // a socket or a pipe is of the server that made it
		return nil
	}
	if err != nil {
		return err
	}
	if m.user != nil {
		if err := m.to.Lchown(path, int(m.user.UID), int(m.user.GID)); err != nil {
			return err
		}
	}
	if d.Type().IsRegular() {
		return m.to.Chtimes(path, info.ModTime(), info.ModTime())
	}
	return nil
}

func (m *mirroring) same(path string, original fs.FileInfo) bool {
	info, err := m.to.Lstat(path)
	return err == nil && info.Size() == original.Size() && info.ModTime().Equal(original.ModTime()) && info.Mode() == original.Mode() && linked(info) == 1
}

// file copies a file into the place of the one that is there.
func (m *mirroring) file(path string, original fs.FileInfo) error {
	if info, err := m.to.Lstat(path); err == nil && linked(info) != 1 {
		if err := m.to.Remove(path); err != nil {
			return err
		}
	}
	in, err := m.from.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := m.to.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, original.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Chmod(original.Mode().Perm())
	}
	return errors.Join(err, out.Close())
}

// copyOf makes a copy of a seed's data for a server, or uses one again that a server has left. The server gives it back when
// it is closed. The caller holds mu.
func (k *Keeper) copyOf(s *server, seed *seed, user *guard.User) (data string, err error) {
	data = seed.take()
	if data == "" {
		dir, err := k.newDir("copy", user)
		if err != nil {
			return "", err
		}
		data = filepath.Join(dir, "data")
	}
	s.back = func() { seed.give(data) }
	if err := mirror(data, filepath.Join(seed.dir, "data"), user); err != nil {
		return "", copyError(err)
	}
	return data, nil
}

// copyFile copies the rest of an open file into a new one, and fails if there is one of that name.
func copyFile(to string, in io.Reader, mode fs.FileMode) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
