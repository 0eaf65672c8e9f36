package store

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keySize is the length of the user's key in bytes.
const keySize = 32

// Secret derives a secret of this user, in hexadecimal digits, from a key that lies outside of
// all run directories. Different purposes have secrets that say nothing of each other.
func Secret(purpose string) (string, error) {
	k, err := key()
	if err != nil {
		return "", fmt.Errorf("read the key of this user: %w", err)
	}
	h := hmac.New(sha256.New, k)
	h.Write([]byte(purpose))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// key reads the user's key, and makes it first if there is none.
func key() ([]byte, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "dyno", "key")
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(path); err != nil {
			return nil, err
		}
		info, err = os.Lstat(path)
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() != keySize || info.Mode()&0o077 != 0:
		return nil, fmt.Errorf("%s is not a key of %d bytes that only the user can read (consider: remove it; dyno then no longer knows earlier runs as yours)", path, keySize)
	}
	return os.ReadFile(path)
}

// makeKey writes a key, unless another dyno is quicker: a link never replaces a file.
func makeKey(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key.*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	k := make([]byte, keySize)
	rand.Read(k)
	if _, err = f.Write(k); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// proofMark is before the proof of run.json, its last field.
const proofMark = `"proof": "`

// noProof stands for the proof while it is made and checked.
var noProof = strings.Repeat("0", 2*sha256.Size)

// prove puts the proof into the text of run.json, whose Proof is noProof.
func prove(text []byte) ([]byte, error) {
	proof, err := Secret("run.json\n" + string(text))
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, []byte(proofMark+noProof)) + len(proofMark)
	copy(text[at:], proof)
	return text, nil
}

// proven returns an error unless a dyno of this user wrote this run.json, byte by byte.
func proven(text []byte) error {
	at := bytes.LastIndex(text, []byte(proofMark)) + len(proofMark)
	if at < len(proofMark) || len(text) < at+len(noProof) {
		return errors.New("its run.json has no proof of who wrote it")
	}
	found := string(text[at : at+len(noProof)])
	blank := bytes.Clone(text)
	copy(blank[at:], noProof)
	want, err := Secret("run.json\n" + string(blank))
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(found), []byte(want)) {
		return errors.New("its run.json was not written by your dyno on this machine, or was changed since")
	}
	return nil
}
