// Package ledger keeps lines of JSON that CI jobs and laptops write over months, in a ref of a git repository, in a
// directory, in a bucket, or on a web server. It owns the order of the lines, the months that they are filed by, and that nothing is
// lost when several write at once. It does not know what a line says, but for its time.
//
// A line is a JSON object with a member "at", a time of RFC 3339. Equal lines are one line. A file has the lines of one
// month of UTC, such as 2026-11.jsonl, sorted by time, then by text. So two ledgers merge without conflict: file by file,
// they are the union of the lines.
package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultRef is the ref of a repository that has the lines.
const DefaultRef = "refs/dyno/track"

// A Ledger keeps lines in one place. Several goroutines and processes may use the same place at once.
type Ledger struct{ place place }

// A place keeps files of lines.
type place interface {
	fmt.Stringer

	// read calls each with all files of lines, in the order of their names.
	read(ctx context.Context, each func(file string, text []byte)) error

	// add merges lines into files, by name, and keeps commits.
	add(ctx context.Context, files map[string][][]byte, keep []string) error

	sync(ctx context.Context, remote string) (SyncResult, error)
}

// A Line is one line of a ledger.
type Line struct {
	At   time.Time // its time, in UTC
	JSON json.RawMessage
}

// Skipped are lines that could not be read. The zero value is none.
type Skipped struct {
	Lines  int
	File   string // that has the first one
	Number int    // of the first one in its file, from 1
}

// A SyncResult is how many lines each side lacked.
type SyncResult struct {
	Received, Sent int
}

// Open returns the ledger of a place: "" is the git repository around dir, in which ref has the lines ("" is
// [DefaultRef]); http://… or https://… is a folder of a web server, and s3://BUCKET/FOLDER of a bucket; all else is a directory, which need not be there yet.
// A web server has to know GET, PUT, ETag, If-Match and If-None-Match; the environment variable
// DYNO_TRACK_AUTHORIZATION has the value of the header Authorization, if it wants one.
func Open(ctx context.Context, place, dir, ref string) (*Ledger, error) {
	switch scheme, _, is := strings.Cut(place, "://"); {
	case place == "":
		r, err := openRepository(ctx, dir, cmp.Or(ref, DefaultRef))
		if err != nil {
			return nil, fmt.Errorf("open the git repository of %s: %w", cmp.Or(dir, "."), err)
		}
		return &Ledger{r}, nil
	case is && (scheme == "http" || scheme == "https"):
		s, err := openServer(place)
		if err != nil {
			return nil, err
		}
		return &Ledger{s.authorized(os.Getenv("DYNO_TRACK_AUTHORIZATION"))}, nil
	case is && scheme == "s3":
		s, err := openS3(place, os.Getenv)
		if err != nil {
			return nil, err
		}
		return &Ledger{s}, nil
	case is:
		return nil, fmt.Errorf("open a ledger: dyno cannot reach %s:// (want a directory, s3://…, http://… or https://…)", scheme)
	}
	path, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open a ledger: %s is not a directory", path)
	}
	return &Ledger{directory(path)}, nil
}

// String names the place, without credentials.
func (l *Ledger) String() string { return l.place.String() }

// Read returns all lines, sorted by time, then by text. A line that is broken does not keep the others from being read.
func (l *Ledger) Read(ctx context.Context) ([]Line, Skipped, error) {
	var lines []Line
	var skipped Skipped
	err := l.place.read(ctx, func(file string, text []byte) {
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			at, err := timeOf(line)
			if err == nil {
				lines = append(lines, Line{at, slices.Clip(line)})
				continue
			}
			if skipped.Lines++; skipped.Lines == 1 {
				skipped.File, skipped.Number = file, number
			}
		}
	})
	if err != nil {
		return nil, Skipped{}, fmt.Errorf("read %s: %w", l, err)
	}
	slices.SortFunc(lines, compareLines)
	return slices.CompactFunc(lines, func(a, b Line) bool { return compareLines(a, b) == 0 }), skipped, nil
}

func compareLines(a, b Line) int {
	return cmp.Or(a.At.Compare(b.At), bytes.Compare(a.JSON, b.JSON))
}

// Add adds lines; those that are there already change nothing. If one of them is no line, none is added. In a git
// repository the commits of keep, given as full hashes, stay for as long as the ledger does, and go where it is sent.
func (l *Ledger) Add(ctx context.Context, lines []json.RawMessage, keep ...string) error {
	files := map[string][][]byte{}
	for i, line := range lines {
		var b bytes.Buffer
		err := json.Compact(&b, line)
		var at time.Time
		if err == nil {
			at, err = timeOf(b.Bytes())
		}
		if err != nil {
			return fmt.Errorf("add line %d of %d to %s: %w", i+1, len(lines), l, err)
		}
		month := at.Format(monthFile)
		files[month] = append(files[month], b.Bytes())
	}
	if len(files) == 0 && len(keep) == 0 {
		return nil
	}
	if err := l.place.add(ctx, files, keep); err != nil {
		return fmt.Errorf("add lines to %s: %w", l, err)
	}
	return nil
}

// Sync exchanges lines, and the commits that are kept, with the repository of the same ref at remote, a name or a URL;
// after it both have all. A ledger that is not in a git repository has no remote, and Sync does nothing.
func (l *Ledger) Sync(ctx context.Context, remote string) (SyncResult, error) {
	return l.place.sync(ctx, remote)
}

// A lostError is a race that was lost, or what looks like one: meanwhile somebody else has written.
type lostError struct {
	met string // what there was before
	err error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

const (
	mostTries = 12
	mostSame  = 3 // tries that met the same: then nobody else is the reason
	mostPause = 10 * time.Second
)

// contend calls try until it has not lost a race. It pauses between tries, for a random time that grows and goes by how long
// a try takes, so that those of many others find room in it.
func contend(ctx context.Context, try func() error) error {
	met, same := "", 0
	for n := 1; ; n++ {
		begin := time.Now()
		err := try()
		var lost *lostError
		if !errors.As(err, &lost) || ctx.Err() != nil {
			return err
		}
		if n == 1 || lost.met != met {
			met, same = lost.met, 0
		}
		if same++; same == mostSame {
			return err
		}
		if n == mostTries {
			return fmt.Errorf("others were faster %d times (consider: the same again, later): %w", n, err)
		}
		if err := pause(ctx, rand.N(min(time.Since(begin)<<n, mostPause)+1)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
