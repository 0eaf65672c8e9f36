package web

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/dynolab/dyno"
)

// A profile is read as a whole, and some kilobytes of gzip may be gigabytes. Those of
// big services have some ten megabytes and 100,000 samples.
const (
	mostProfile  = 64 << 20  // bytes of one, without gzip
	mostParts    = 2_000_000 // samples, functions and so on of one; each takes some 100 bytes
	mostProfiles = 512 << 20 // bytes of all of a run
)

var errProfile = errors.New("it is larger than any that can be shown")

// fitProfiles reports why the profiles of a run are not to be read, or nil.
func fitProfiles(path string) error {
	trials, err := namesIn(filepath.Join(path, "trials"))
	if err != nil {
		return err
	}
	all := int64(0)
	for _, t := range trials {
		if !t.IsDir() {
			continue
		}
		files, err := namesIn(filepath.Join(path, "trials", t.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if !slices.ContainsFunc(dyno.ProfileNames, func(kind string) bool { return f.Name() == kind+".pb.gz" }) {
				continue
			}
			name := filepath.Join("trials", t.Name(), f.Name())
			n, err := profileSize(filepath.Join(path, name))
			if all += n; all > mostProfiles {
				err = fmt.Errorf("those of the run together have more than %s", size(mostProfiles))
			}
			if err != nil {
				return fmt.Errorf("the profile %s: %w", name, err)
			}
		}
	}
	return nil
}

// profileSize is how many bytes a profile has without gzip. The error is that it is
// too large; what is none is found by who reads it.
func profileSize(path string) (int64, error) {
	f, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return 0, nil
		}
		in = bufio.NewReader(z)
	}
	c := &counted{in: in}
	for parts := 0; ; parts++ {
		if parts > mostParts {
			return c.n, errProfile
		}
		if err := c.field(); err != nil {
			break
		}
	}
	_, err = io.Copy(io.Discard, c) // what is no profile may be long, too
	if c.n > mostProfile {
		return c.n, errProfile
	}
	return c.n, nil
}

// counted counts what is read, and ends after the most that a profile may have.
type counted struct {
	in *bufio.Reader
	n  int64
}

func (c *counted) ReadByte() (byte, error) {
	if c.n > mostProfile {
		return 0, io.EOF
	}
	b, err := c.in.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func (c *counted) Read(p []byte) (int, error) {
	if c.n > mostProfile {
		return 0, io.EOF
	}
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// field steps over a field of a protocol buffer.
func (c *counted) field() error {
	tag, err := binary.ReadUvarint(c)
	if err != nil {
		return err
	}
	long := uint64(0)
	switch tag & 7 {
	case 0, 2:
		if long, err = binary.ReadUvarint(c); err != nil || tag&7 == 0 {
			return err
		}
	case 1:
		long = 8
	case 5:
		long = 4
	default:
		return errProfile
	}
	if long > mostProfile {
		return errProfile
	}
	n, err := c.in.Discard(int(long))
	c.n += int64(n)
	return err
}
