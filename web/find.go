package web

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/store"
)

const (
	mostDepth   = 3     // of run directories below the root
	mostFolders = 20000 // that are looked into: the root may be more than a folder of runs
)

// A place is a run directory that was found.
type place struct {
	ID   string // its path from the root, with slashes: what pages call it by
	path string
}

// find looks for run directories, and says if it could not look everywhere. It does
// not look into run directories, so no id is a prefix of another's path, and does not
// follow links.
func (s *Site) find() (found []place, note string, err error) {
	if exists(s.Root, "run.json") {
		abs, err := filepath.Abs(s.Root)
		return []place{{filepath.Base(abs), s.Root}}, "", err
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
			p := place{strings.TrimPrefix(id+"/"+e.Name(), "/"), filepath.Join(path, e.Name())}
			switch {
			case exists(p.path, "run.json"):
				found = append(found, p)
			case depth < mostDepth:
				look(p.path, p.ID, depth+1)
			}
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

// lookup finds the run whose pages an address below /runs/ is of. It only compares ids,
// and never makes one into a path.
func (s *Site) lookup(address string) (p place, ok bool) {
	found, _, err := s.find()
	i := slices.IndexFunc(found, func(p place) bool { return strings.HasPrefix(address+"/", p.ID+"/") })
	if err != nil || i < 0 {
		return place{}, false
	}
	return found[i], true
}

// heldNow reports whether a dyno writes to a run directory; false if that is not known.
func heldNow(path string) bool {
	_, held, err := store.Holder(path)
	return err == nil && held
}
