// Package imprint tells executables apart by what the system loads of them.
//
// Two builds of one program in two folders differ in its bytes: in the names of source files, in debugging data and in build IDs. They do
// nothing else differently, so they have one imprint, if the names of the folders are of one length.
package imprint

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// Of returns 16 hexadecimal digits of an executable, which was built in the folder dir, "" if that is not known. Of one that is no ELF file they
// are of all its bytes. The error is one of reading.
func Of(path, dir string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if err := loaded(h, f, dir); err != nil {
		h.Reset()
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			_, err = io.Copy(h, f)
		}
		if err != nil {
			return "", fmt.Errorf("read the executable: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// loaded writes the sections that are loaded, but for notes, which have build IDs. dir is replaced by as many zeros.
func loaded(h hash.Hash, f io.ReaderAt, dir string) error {
	file, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	found := false
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOTE {
			continue
		}
		fmt.Fprintf(h, "%s %d %#x %d\n", s.Name, s.Type, s.Addr, s.Size)
		if s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		if dir != "" {
			data = bytes.ReplaceAll(data, []byte(dir), make([]byte, len(dir)))
		}
		h.Write(data)
		found = true
	}
	if !found { // a file without sections
		return errors.New("no section is loaded")
	}
	return nil
}
