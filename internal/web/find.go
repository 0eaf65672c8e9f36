package web

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/store"
)

const (
	mostDepth   = 3     // of run directories below the root
	mostFolders = 20000 // that are looked into: the root may be more than a folder of runs
)

// A foundDir is a run directory below the root, or the directory of a campaign, which has runs below it.
type foundDir struct {
	ID       string // its path from the root, with slashes: what pages call it by
	path     string
	campaign bool // of a campaign, which is not a run itself
}

// Campaign reports whether the directory is that of a campaign, not of a run.
func (p foundDir) Campaign() bool { return p.campaign }

// find looks for run directories and campaigns, and says if it could not look everywhere. It does
// not look into run directories, and does not follow links.
func (s *Site) find() (found []foundDir, note string, err error) {
	if exists(s.Root, "run.json") {
		abs, err := filepath.Abs(s.Root)
		return []foundDir{{filepath.Base(abs), s.Root, false}}, "", err
	}
	if _, err := os.ReadDir(s.Root); err != nil {
		return nil, "", fmt.Errorf("look for runs: %w", err)
	}
	looked, unread := 0, 0
	var look func(path, id string, depth int)
	look = func(path, id string, depth int) {
		if looked++; looked > mostFolders {
			return
		}
		entries, err := os.ReadDir(path)
		if err != nil { // such as one that was removed just now
			unread++
			return
		}
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") { // the type of a link is not that of a directory
				continue
			}
			p := foundDir{ID: strings.TrimPrefix(id+"/"+e.Name(), "/"), path: filepath.Join(path, e.Name())}
			if exists(p.path, "run.json") {
				found = append(found, p)
				continue
			}
			if exists(p.path, store.RecordFile) {
				p.campaign = true
				found = append(found, p)
			}
			if depth < mostDepth || p.campaign {
				look(p.path, p.ID, depth+1)
			}
		}
	}
	if exists(s.Root, store.RecordFile) {
		if abs, err := filepath.Abs(s.Root); err == nil {
			found = append(found, foundDir{filepath.Base(abs), s.Root, true})
		}
	}
	look(s.Root, "", 1)
	switch {
	case looked > mostFolders:
		note = fmt.Sprintf("only the first %d folders were searched (consider: dyno view with a folder of runs)", mostFolders)
	case unread > 0:
		note = fmt.Sprintf("folders that could not be read: %d", unread)
	}
	return found, note, nil
}

// lookup finds the run or campaign whose pages an address below /runs/ is of: a run, if it is one of a campaign. It only compares ids,
// and never makes one into a path.
func (s *Site) lookup(address string) (p foundDir, ok bool) {
	found, _, err := s.find()
	if err != nil {
		return foundDir{}, false
	}
	for _, x := range found {
		if strings.HasPrefix(address+"/", x.ID+"/") && len(x.ID) >= len(p.ID) {
			p, ok = x, true
		}
	}
	return p, ok
}

// heldNow reports whether a dyno writes to a run directory, or asks in that of a campaign, or writes to one of its runs, as dynos of before do
// without a claim; false if that is not known.
func heldNow(p foundDir) bool {
	if _, held, err := store.Holder(p.path); err == nil && held {
		return true
	}
	if !exists(p.path, store.RecordFile) {
		return false
	}
	if store.Claimed(p.path) {
		return true
	}
	below, _ := os.ReadDir(p.path)
	return slices.ContainsFunc(below, func(e os.DirEntry) bool {
		_, held, err := store.Holder(filepath.Join(p.path, e.Name()))
		return e.IsDir() && err == nil && held
	})
}
