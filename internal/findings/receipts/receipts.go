// Package receipts finds receipts, keeps them and their checks, and reads what came after.
//
// It owns the files receipt.json and receipt-checks.jsonl, and which figures of a run or a log a receipt is held against.
// Judging is package receipt's.
package receipts

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// The files beside each other. A directory with several receipts has receipt-2.json and so on.
const (
	File       = "receipt.json"
	ChecksFile = "receipt-checks.jsonl"
)

// A Kept is a receipt with its checks, in the order in which they were made.
type Kept struct {
	receipt.Receipt
	Path   string // of its file
	Checks []receipt.Check
}

// Keep writes a receipt into a directory, and returns its path. A receipt with the same promises that is there already stays, and so
// does one with others: what was promised is not taken back. Keep fills in the ID, and of a run the machine.
func Keep(dir string, r *receipt.Receipt) (path string, err error) {
	if r.Run != "" {
		run, err := store.Read(filepath.Join(dir, r.Run))
		if err != nil {
			return "", fmt.Errorf("keep a receipt: %w", err)
		}
		r.Machine = MachineOf(run)
	}
	if r.ID, err = idOf(r); err != nil {
		return "", fmt.Errorf("keep a receipt: %w", err)
	}
	path = filepath.Join(dir, File)
	for i := 2; ; i++ {
		old, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil && old.ID == r.ID {
			return path, nil
		}
		path = filepath.Join(dir, fmt.Sprintf("receipt-%d.json", i))
	}
	return path, store.Replace(path, func(w io.Writer) error { return answer.Write(w, r) })
}

// Of keeps the receipt of an answer that has one in the answer's directory.
func Of(dir string, answer any) error {
	a, ok := answer.(interface{ Receipt() *receipt.Receipt })
	if !ok {
		return nil
	}
	r := a.Receipt()
	if r == nil || len(r.Promises) == 0 {
		return nil
	}
	_, err := Keep(dir, r)
	return err
}

// idOf is the same for the same promises under the same load.
func idOf(r *receipt.Receipt) (string, error) {
	text, err := json.Marshal(struct {
		From, Name, Subject, Run string
		Load                     receipt.Load
		Promises                 []receipt.Promise
	}{r.From, r.Name, r.Subject, r.Run, r.Load, r.Promises})
	return sum(string(text)), err
}

// Read reads the receipt of a file, and its checks.
func Read(path string) (*Kept, error) {
	k, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if k.Checks, err = checks(filepath.Join(filepath.Dir(path), ChecksFile), k.ID); err != nil {
		return nil, fmt.Errorf("read the checks of %s: %w", path, err)
	}
	return k, nil
}

func read(path string) (*Kept, error) {
	k := &Kept{Path: path}
	if err := safe.ReadJSON(path, &k.Receipt); err != nil {
		return nil, err
	}
	if k.Kind != receipt.Kind {
		return nil, fmt.Errorf("it is no receipt, but of the kind %q", k.Kind)
	}
	if k.Schema != receipt.Schema {
		return nil, fmt.Errorf("it has schema %d, but this dyno knows %d (consider: the dyno that wrote it, %s)", k.Schema, receipt.Schema, k.Dyno)
	}
	return k, nil
}

// checks are those of one receipt. A line that a crash cut off is left out.
func checks(path, id string) (cs []receipt.Check, err error) {
	f, err := safe.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, safe.MostRead))
	in.Buffer(nil, safe.MostRead)
	for in.Scan() {
		var c receipt.Check
		if json.Unmarshal(in.Bytes(), &c) == nil && c.Kind == receipt.CheckKind && c.Receipt == id {
			cs = append(cs, c)
		}
	}
	return cs, in.Err()
}

// Add keeps a check of the receipt beside it. A check of the same After counts from now on instead of an earlier one.
func (k *Kept) Add(c receipt.Check) error {
	path := filepath.Join(filepath.Dir(k.Path), ChecksFile)
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep a check: %w", err)
	}
	line = append(line, '\n')
	if end, _ := f.Seek(0, io.SeekEnd); end > 0 { // a line that a crash cut off
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err == nil && !bytes.Equal(last, []byte("\n")) {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a check: %w", err)
	}
	k.Checks = append(k.Checks, c)
	return nil
}

// Find finds the receipts below a directory, the newest first. It does not follow links, nor look into trials. Receipts that cannot
// be read are in unread.
func Find(root string) (found []*Kept, unread []error, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			unread = append(unread, err)
		case d.IsDir() && path != root && (d.Name() == "trials" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && named(d.Name()):
			k, err := Read(path)
			if err != nil {
				unread = append(unread, err)
				break
			}
			found = append(found, k)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b *Kept) int { return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.Path, b.Path)) })
	if err != nil {
		return nil, nil, fmt.Errorf("look for receipts: %w", err)
	}
	return found, unread, nil
}

func named(file string) bool {
	rest, ok := strings.CutPrefix(file, "receipt")
	number, json := strings.CutSuffix(rest, ".json")
	return ok && json && (number == "" || strings.HasPrefix(number, "-"))
}
