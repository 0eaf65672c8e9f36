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
	"maps"
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

// A Kept is a receipt with its checks, the last of each After.
type Kept struct {
	receipt.Receipt
	Path   string // of its file
	Checks []receipt.Check
}

// Source is what the promises were made from, the same of all receipts of one run.
func (k *Kept) Source() string {
	if k.Run == "" {
		return k.ID
	}
	return filepath.Join(filepath.Dir(k.Path), k.Run)
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
	if path, err = keep(dir, r); err != nil {
		return "", fmt.Errorf("keep a receipt: %w", err)
	}
	return path, nil
}

// mostReceipts are kept in one directory.
const mostReceipts = 1000

// keep links a file that is complete to the first name that is free: another dyno may keep one at the same time.
func keep(dir string, r *receipt.Receipt) (path string, err error) {
	f, err := os.CreateTemp(dir, ".receipt-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(answer.Write(f, r), f.Sync(), f.Close()); err != nil {
		return "", err
	}
	path = filepath.Join(dir, File)
	for i := 2; i <= mostReceipts; i++ {
		err := os.Link(f.Name(), path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) { // the file system has no links
			return path, os.Rename(f.Name(), path)
		}
		if old, err := read(path); err == nil && old.ID == r.ID {
			return path, nil
		}
		path = filepath.Join(dir, fmt.Sprintf("receipt-%d.json", i))
	}
	return "", fmt.Errorf("%s has %d receipts (consider: another directory)", dir, mostReceipts)
}

// IsOf reports whether a receipt is of the service that ran; name is its name if that is not the run's. A log does not say which it is.
func (k *Kept) IsOf(after *receipt.After, name string) bool {
	switch {
	case name != "":
		return k.Name == name
	case after.Name == "":
		return true
	}
	return k.Name == after.Name || k.Subject != "" && k.Subject == after.Subject
}

// Ran are the settings of what came, as a list.
func Ran(after *receipt.After) string {
	var names []string
	for _, s := range after.Settings {
		names = append(names, s.Levels.String())
	}
	return strings.Join(names, ", ")
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
	_, err = k.checks()
	return k, err
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

// checks reads those of the receipt, and counts the lines of the file that are no checks, such as one that a crash cut off.
func (k *Kept) checks() (left int, err error) {
	path := filepath.Join(filepath.Dir(k.Path), ChecksFile)
	f, err := safe.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read checks: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, safe.MostRead))
	in.Buffer(nil, safe.MostRead)
	for in.Scan() {
		var c receipt.Check
		switch {
		case json.Unmarshal(in.Bytes(), &c) != nil || c.Kind != receipt.CheckKind || c.Schema != receipt.Schema:
			left++
		case c.Receipt == k.ID:
			k.put(c)
		}
	}
	if err = in.Err(); err != nil {
		err = fmt.Errorf("read the checks of %s: %w", path, err)
	}
	return left, err
}

// put adds a check, instead of an earlier one of the same After.
func (k *Kept) put(c receipt.Check) {
	k.Checks = slices.DeleteFunc(k.Checks, func(old receipt.Check) bool { return old.AfterID == c.AfterID })
	k.Checks = append(k.Checks, c)
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
	k.put(c)
	return nil
}

// Find finds the receipts below a directory, the newest first. It follows no links below it, nor looks into trials. What cannot be
// read, receipts and checks, is in unread. A receipt whose checks cannot be read is there without them.
func Find(root string) (found []*Kept, unread []error, err error) {
	target, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, nil, fmt.Errorf("look for receipts: %w (consider: another directory)", err)
	}
	left := map[string]error{} // by directory, whose receipts share a file of checks
	err = filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == target:
			return err
		case err != nil:
			unread = append(unread, err)
		case d.IsDir() && path != target && (d.Name() == "trials" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && named(d.Name()):
			path = filepath.Join(root, strings.TrimPrefix(path, target))
			k, err := read(path)
			if err != nil {
				unread = append(unread, fmt.Errorf("read %s: %w", path, err))
				break
			}
			found = append(found, k)
			n, err := k.checks()
			if dir := filepath.Dir(path); err != nil {
				left[dir] = err
			} else if n > 0 {
				left[dir] = fmt.Errorf("%d of the lines of %s are no checks that this dyno knows", n, filepath.Join(dir, ChecksFile))
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look for receipts: %w", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(left)) {
		unread = append(unread, left[dir])
	}
	slices.SortStableFunc(found, func(a, b *Kept) int { return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.Path, b.Path)) })
	return found, unread, nil
}

func named(file string) bool {
	rest, ok := strings.CutPrefix(file, "receipt")
	number, json := strings.CutSuffix(rest, ".json")
	return ok && json && (number == "" || strings.HasPrefix(number, "-"))
}
