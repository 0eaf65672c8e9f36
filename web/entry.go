package web

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/store"
)

// The states of a run.
const (
	underWay    = "under way"
	interrupted = "interrupted"
	done        = "done"
	broken      = "broken"
)

// mostRead is the most of run.json or summary.json that is read, in bytes: they
// are some kilobytes, and not from dyno if they are more than this.
const mostRead = 16 << 20

// An entry is a run as lists show it: what run.json and summary.json say, and no
// more, so that a folder of hundreds opens at once.
type entry struct {
	place
	Err     string // why it cannot be shown, or ""
	State   string
	Run     store.Run // without Plan
	Plan    planned
	Blocks  int // of those planned, at least begun
	Trials  int // that finished and are compared
	Summary *summary

	Conditions map[string]string // that have to be alike for runs to be compared
}

// planned is what an entry shows of a plan.
type planned struct {
	Name    string          `json:"name"`
	Repeats int             `json:"repeat"`
	Slice   string          `json:"slice"`
	Load    json.RawMessage `json:"load"`
	Limits  json.RawMessage `json:"limits"`
	Subject struct {
		Package string            `json:"package"`
		Module  string            `json:"module"`
		Binary  string            `json:"binary"`
		URL     string            `json:"url"`
		PID     int               `json:"pid"`
		Process string            `json:"process"`
		Rev     string            `json:"rev"`
		Go      string            `json:"go"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Arg     map[string]string `json:"arg"`
		Build   []string          `json:"build"`
	} `json:"subject"`
}

// subject names it as the user did.
func (p *planned) subject() string {
	s := &p.Subject
	return (&dyno.Subject{Package: s.Package, Module: s.Module, Binary: s.Binary, URL: s.URL, PID: s.PID, Process: s.Process}).String()
}

// A shelf keeps entries as long as their files are as they were.
type shelf struct {
	mu   sync.Mutex
	kept map[string]kept // by path
}

type kept struct {
	stamp string
	entry *entry
}

// entries reads the runs that were found, the newest first. Those that cannot be
// read have an error, and stand where their directory's time puts them.
func (s *Site) entries() (all []*entry, note string, err error) {
	found, note, err := s.find()
	if err != nil {
		return nil, "", err
	}
	all = make([]*entry, len(found))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), 16, len(found)) {
		readers.Go(func() {
			for i := range next {
				all[i] = s.shelf.get(found[i])
			}
		})
	}
	for i := range found {
		next <- i
	}
	close(next)
	readers.Wait()
	s.shelf.forget(found)
	slices.SortStableFunc(all, func(a, b *entry) int {
		return cmp.Or(b.Run.Started.Compare(a.Run.Started), cmp.Compare(a.ID, b.ID))
	})
	return all, note, nil
}

// stamp tells whether files of a run changed: their times and sizes.
func stamp(path string) string {
	var b strings.Builder
	for _, name := range []string{"run.json", "summary.json", "results.jsonl"} {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil {
			fmt.Fprintf(&b, "%d/%d ", info.ModTime().UnixNano(), info.Size())
		} else {
			b.WriteString("- ")
		}
	}
	return b.String()
}

// get is the entry of a run, read anew if its files changed. Whether it is under
// way is asked each time of those that are not done.
func (s *shelf) get(p place) *entry {
	now := stamp(p.path)
	s.mu.Lock()
	k := s.kept[p.path]
	s.mu.Unlock()
	if k.stamp != now || k.entry.place != p {
		k = kept{now, readEntry(p)}
		s.mu.Lock()
		if s.kept == nil {
			s.kept = map[string]kept{}
		}
		s.kept[p.path] = k
		s.mu.Unlock()
	}
	if k.entry.State == interrupted && heldNow(p.path) {
		e := *k.entry
		e.State = underWay
		return &e
	}
	return k.entry
}

// forget drops what is kept of runs that are no longer there.
func (s *shelf) forget(found []place) {
	there := make(map[string]bool, len(found))
	for _, p := range found {
		there[p.path] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.kept {
		if !there[path] {
			delete(s.kept, path)
		}
	}
}

// readEntry reads run.json and summary.json, and of a run without a summary of all
// its results how many there are.
func readEntry(p place) *entry {
	e := &entry{place: p, State: broken}
	if info, err := os.Lstat(p.path); err == nil {
		e.Run.Started = info.ModTime() // unless it is known better
	}
	if err := e.read(); err != nil {
		e.Err = short(err.Error())
	}
	e.tame()
	return e
}

func (e *entry) read() error {
	if err := plain(e.path); err != nil { // and no more: a list does not look into trials
		return err
	}
	var run struct {
		store.Run
		Plan *planned `json:"plan"`
	}
	if err := readJSON(filepath.Join(e.path, "run.json"), &run); err != nil {
		return err
	}
	if run.Schema != store.Schema {
		return fmt.Errorf("run.json has schema %d, this dyno knows %d (consider: the dyno that wrote it, %s)", run.Schema, store.Schema, run.Dyno)
	}
	if run.Plan == nil {
		return errors.New("run.json has no plan")
	}
	e.Run, e.Plan = run.Run, *run.Plan
	if e.Plan.Repeats == 0 {
		e.Plan.Repeats = dyno.DefaultRepeats
		if e.Plan.Slice != "" {
			e.Plan.Repeats = dyno.DefaultPairs
		}
	}
	e.Conditions = conditions(e)
	e.State = interrupted
	s, err := readSummary(e.path, "")
	switch {
	case err == nil:
		e.Summary, e.Blocks, e.Trials = s, s.Blocks, s.Trials
		if s.Trials+s.Failed >= s.Planned && !e.newer("results.jsonl", "summary.json") {
			e.State = done
		}
	case !errors.Is(err, fs.ErrNotExist):
		e.State = broken
		return err
	}
	if e.State == interrupted {
		e.count()
	}
	return nil
}

// newer reports whether file a was written after file b.
func (e *entry) newer(a, b string) bool {
	one, err := os.Lstat(filepath.Join(e.path, a))
	if err != nil {
		return false
	}
	other, err := os.Lstat(filepath.Join(e.path, b))
	return err == nil && one.ModTime().After(other.ModTime())
}

// count counts the results of a run that has no summary of them yet. A line that
// cannot be read counts for nothing; who opens the run is told of it.
func (e *entry) count() {
	f, err := openRegular(filepath.Join(e.path, "results.jsonl"))
	if err != nil {
		return
	}
	defer f.Close()
	trials, blocks := map[int]bool{}, map[int]bool{}
	r := bufio.NewReader(io.LimitReader(f, mostRead))
	for {
		line, err := r.ReadBytes('\n')
		if err != nil { // also of a line that is being written
			break
		}
		var one struct {
			Trial, Block int
			For, Error   string
		}
		if json.Unmarshal(line, &one) == nil && one.For == "" && one.Error == "" {
			trials[one.Trial], blocks[one.Block] = true, true
		}
	}
	e.Trials, e.Blocks = len(trials), len(blocks)
}

// ran is what ran, as the summary tells: versions of Go and revisions.
func (e *entry) ran() string {
	if e.Summary == nil || len(e.Summary.About) == 0 {
		return ""
	}
	_, after, ok := strings.Cut(e.Summary.About[0], " (")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(after, ")")
}

// rev is the revision that the plan asks for, or those it varies.
func (e *entry) rev() string {
	if e.Plan.Subject.Rev != "" {
		return e.Plan.Subject.Rev
	}
	var revs []string
	for _, s := range e.Run.Settings {
		for word := range strings.FieldsSeq(s) {
			if rev, ok := strings.CutPrefix(word, "rev="); ok && !slices.Contains(revs, rev) {
				revs = append(revs, rev)
			}
		}
	}
	return strings.Join(revs, ", ")
}

// what is what ran, with the revision that was asked for.
func (e *entry) what() string {
	rev, ran := e.rev(), e.ran()
	if strings.Contains(ran, rev) {
		return ran
	}
	return strings.TrimSpace(rev + " " + ran)
}

func (e *entry) when() time.Time { return e.Run.Started.Local() }
