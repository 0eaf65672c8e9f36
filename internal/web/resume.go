package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// going is what of runs was begun or stopped here.
type going struct {
	mu   sync.Mutex
	path string          // of the run that Resume goes on with, or went
	stop func()          // it
	done <-chan struct{} // nil if there was none

	stopped int // the process that was asked to stop last
}

// under reports whether a run is resumed by Resume; any, if path is "".
func (g *going) under(path string) bool {
	if g.done == nil || path != "" && path != g.path {
		return false
	}
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

// stop interrupts the dyno that writes to a run, as Ctrl-C does. No other process gets
// a signal.
func (s *Site) stop(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	g := &s.going
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.under(dir.Path) {
		g.stop()
		return back(w)
	}
	pid, held, err := store.Holder(dir.Path)
	const cure = "(consider: Ctrl-C where it was started)"
	switch {
	case errors.Is(err, errors.ErrUnsupported) || err == nil && held && pid == 0:
		return refuse(http.StatusNotImplemented, "the process that measures is unknown, or is another user's "+cure)
	case err != nil:
		return err
	case !held:
		return refuse(http.StatusConflict, "this run is no longer being measured (consider: to reload the page)")
	case pid == os.Getpid():
		return refuse(http.StatusConflict, "this server itself has the run open "+cure)
	case pid == g.stopped: // a second interrupt would end it at once, without a report
		return back(w)
	}
	p, err := os.FindProcess(pid) // from here on it cannot become another with its number (pidfd)
	if err == nil {
		defer p.Release()
		if again, _, _ := store.Holder(dir.Path); again != pid {
			return refuse(http.StatusConflict, "stop the run: it has just ended")
		}
		err = p.Signal(os.Interrupt)
	}
	if err != nil {
		return refuse(http.StatusConflict, "stop the run: %v %s", err, cure)
	}
	g.stopped = pid
	return back(w)
}

// startTime is how long a resumed dyno may take to open the run.
const startTime = 10 * time.Second

// resume resumes a run, unless another below Root is under way: they would disturb each
// other.
func (s *Site) resume(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	g := &s.going
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, resume := store.CampaignOf(dir.Path); resume != "" {
		return refuse(http.StatusConflict, "this run is of a campaign, which chooses its own runs (consider: dyno %s)", resume)
	}
	if len(dir.Missing()) == 0 {
		if dir.Run.Ended != "" {
			return refuse(http.StatusConflict, "this run is over: it has compared enough blocks")
		}
		return refuse(http.StatusConflict, "all trials of this run are done")
	}
	if err := s.trust(dir); err != nil {
		return refuse(http.StatusForbidden, "the plan of this run starts programs, and the run is not known to be yours: %v (consider: to read its plan, then dyno run --resume %s)", err, dir.Path)
	}
	found, _, err := s.find()
	if err != nil {
		return err
	}
	other := ""
	if i := slices.IndexFunc(found, func(p foundDir) bool { return heldNow(p) }); i >= 0 {
		other = found[i].path
	} else if g.under("") {
		other = g.path
	}
	switch other {
	case "":
	case dir.Path:
		return refuse(http.StatusConflict, "this run is under way already")
	default:
		return refuse(http.StatusConflict, "the run %s is under way, and two at once would disturb each other (consider: to stop it, or to wait for its end)", filepath.Base(other))
	}
	before := changed(dir.Path, "results.jsonl")
	stop, done, err := s.Resume(dir.Path)
	if err != nil {
		return fmt.Errorf("resume the run: %w", err)
	}
	g.path, g.stop, g.done, g.stopped = dir.Path, stop, done, 0
	if !awaitHolder(r.Context(), dir.Path, done) && changed(dir.Path, "results.jsonl").Equal(before) {
		return fmt.Errorf("resume the run: it ended at once: %s", lastOf(filepath.Join(dir.Path, ResumeLog)))
	}
	return back(w)
}

// trust reports why a click may not resume a run: its plan starts programs, perhaps
// somebody else's. dyno run can resume it.
func (s *Site) trust(dir *store.Dir) error {
	if here, err := os.Hostname(); err != nil || here != dir.Run.Host.Name {
		return fmt.Errorf("it was started on %q", short(dir.Run.Host.Name))
	}
	if err := safe.Ours(dir.Path); err != nil {
		return err
	}
	return dir.Proven()
}

// ResumeLog is the file of a run directory with what Resume's process wrote.
const ResumeLog = "resume.log"

// back leads to the page of the run, whose address is beside that of the request.
func back(w http.ResponseWriter) error {
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// awaitHolder waits until a dyno writes to a run. It reports false if the dyno ended.
func awaitHolder(ctx context.Context, path string, done <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, held, _ := store.Holder(path); held {
			return true
		}
		select {
		case <-done:
			return false
		case <-ctx.Done():
			return true // it may be slow
		case <-tick.C:
		}
	}
}

// lastOf is the end of a log.
func lastOf(path string) string {
	f, err := safe.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	f.Seek(-2000, io.SeekEnd) // which fails in a shorter one
	data, _ := io.ReadAll(io.LimitReader(f, 2000))
	return strings.TrimSpace(strings.ToValidUTF8(string(data), ""))
}
