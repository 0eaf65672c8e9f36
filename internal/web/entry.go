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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/trend"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// The states of a run.
const (
	underWay    = "under way"
	interrupted = "interrupted"
	done        = "done"
	broken      = "broken"
)

// An entry is a run as lists show it. It holds little, so that a folder of hundreds
// opens at once.
type entry struct {
	foundDir
	Err     string // why it cannot be shown, or ""
	State   string
	Run     store.Run // without Plan
	Plan    planned
	Open    bool   // the plan has no number of blocks: the run decides itself how many it takes
	Blocks  int    // of those planned, at least begun
	Trials  int    // that finished and are compared
	Ran     string // versions of Go and revisions
	Summary *summary

	Question string // of a campaign, such as tune; "" of other runs
	Answer   string // in a sentence, so far

	Conditions trend.Conditions
}

// planned is what an entry shows of a plan.
type planned struct {
	Name    string          `json:"name"`
	Repeats int             `json:"repeat"`
	Slice   string          `json:"slice"`
	More    []string        `json:"more"`
	Bench   json.RawMessage `json:"bench"`
	Load    json.RawMessage `json:"load"`
	Limits  json.RawMessage `json:"limits"`
	Subject struct {
		dyno.Subject
		ReadyTimeout json.RawMessage `json:"ready_timeout"` // text, which dyno.Duration does not read
		NoInject     json.RawMessage `json:"inject"`
	} `json:"subject"`
}

// all reads the runs below the root, the newest first. An entry that cannot be read has
// an error, and the time of its directory.
func (s *Site) all() (all []*entry, note string, err error) {
	found, note, err := s.find()
	if err != nil {
		return nil, "", err
	}
	all = make([]*entry, len(found))
	var readers sync.WaitGroup
	each := runtime.GOMAXPROCS(0)
	for first := range each {
		readers.Go(func() {
			for i := first; i < len(found); i += each {
				all[i] = s.entry(found[i])
			}
		})
	}
	readers.Wait()
	s.entries.mu.Lock()
	s.entries.trim(len(found)) // those of removed runs are the least recently used
	s.entries.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *entry) int {
		return cmp.Or(b.Run.Started.Compare(a.Run.Started), cmp.Compare(a.ID, b.ID))
	})
	return all, note, nil
}

// entry reads a run if its files changed. It checks each time whether an unfinished run
// is under way.
func (s *Site) entry(p foundDir) *entry {
	e, _ := s.entries.get(p.path, stamp(p.path), func() (*entry, error) { return readEntry(p), nil })
	if e.State == interrupted && heldNow(p) {
		now := *e
		now.State = underWay
		return &now
	}
	return e
}

// stamp is the times and sizes of the files that entries and pages are made of.
func stamp(path string) string {
	var b strings.Builder
	for _, name := range []string{"run.json", "summary.json", "results.jsonl", store.RecordFile} {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil {
			fmt.Fprint(&b, name, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// readEntry reads run.json and summary.json, and of a run without a summary of all
// its results how many there are.
func readEntry(p foundDir) *entry {
	e := &entry{foundDir: p}
	if info, err := os.Lstat(p.path); err == nil {
		e.Run.Started = info.ModTime() // unless it is known better
	}
	if err := e.read(); err != nil {
		e.State, e.Err = broken, short(err.Error())
	}
	e.tame()
	return e
}

func (e *entry) read() error {
	if err := e.readQuestion(); e.campaign {
		return err
	}
	var run struct {
		store.Run
		Plan *planned `json:"plan"`
	}
	if err := safe.ReadJSON(filepath.Join(e.path, "run.json"), &run); err != nil {
		return err
	}
	if err := store.CheckSchema("run.json", run.Schema, run.Dyno); err != nil {
		return err
	}
	if run.Plan == nil {
		return errors.New("run.json has no plan")
	}
	e.Run, e.Plan = run.Run, *run.Plan
	e.Open = e.Plan.sequential(len(e.Run.Settings))
	if e.Plan.Repeats == 0 && !e.Open {
		e.Plan.Repeats = dyno.DefaultRepeats
		if e.Plan.Slice != "" {
			e.Plan.Repeats = dyno.DefaultPairs
		}
	}
	e.Conditions = conditions(e)
	asked := e.State // of a search, whose record says it; "" of other runs
	e.State = interrupted
	s, err := readSummary(e.path, "")
	switch {
	case err == nil:
		e.Summary, e.Blocks, e.Trials = s, s.Blocks, s.Trials
		if e.over() && !changed(e.path, "results.jsonl").After(changed(e.path, "summary.json")) {
			e.State = done
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = e.readResults()
	e.State = cmp.Or(asked, e.State)
	return err
}

// readQuestion reads what a campaign was asked, and the answer.
func (e *entry) readQuestion() error {
	var r struct {
		store.Record
		Plan *planned `json:"plan"`
	}
	err := safe.ReadJSON(filepath.Join(e.path, store.RecordFile), &r)
	if err == nil && r.Plan == nil {
		err = errors.New(store.RecordFile + " has no plan")
	}
	if err == nil {
		err = store.CheckRecord(store.RecordFile, r.Schema, r.Dyno)
	}
	if err != nil {
		return err
	}
	e.Question, e.Answer, e.State = r.Question, r.Answer, interrupted
	if r.Done {
		e.State = done
	}
	if e.campaign {
		e.Run.Dyno, e.Run.Started, e.Plan, e.Blocks = r.Dyno, r.Started, *r.Plan, len(r.Steps)
	}
	return nil
}

// sequential is [dyno.Experiment.Sequential].
func (p *planned) sequential(settings int) bool {
	return p.Repeats == 0 && p.Slice == "" && len(p.Bench) == 0 && p.Subject.Launched() && settings > 1
}

// over reports whether the run has all trials that it takes, failed ones included.
func (e *entry) over() bool {
	s := e.Summary
	if len(e.Plan.More) == 0 {
		switch {
		case e.Run.Ended != "":
			return true
		case e.Open:
			return s.Blocks >= dyno.MostBlocks
		}
	}
	return s.Trials+len(s.Failed) >= s.Planned
}

// commit is a git commit, of which 12 digits are enough for a reader.
var commit = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{28}\b`)

// readResults reads the version that ran from the first result of each setting, and
// counts the results of a run that is not done. Broken lines do not count.
func (e *entry) readResults() error {
	f, err := safe.Open(filepath.Join(e.path, "results.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	trials, blocks := map[int]bool{}, map[int]bool{}
	var ran []string
	r := bufio.NewReader(io.LimitReader(f, safe.MostRead))
	for n := 0; e.State == interrupted || n < len(e.Run.Settings); n++ {
		line, err := r.ReadBytes('\n')
		if err != nil { // also of a line that is being written
			break
		}
		var one struct {
			Trial, Block        int
			For, Error, Subject string
		}
		if json.Unmarshal(line, &one) != nil {
			continue
		}
		if one.Subject != "" && !slices.Contains(ran, one.Subject) {
			ran = append(ran, one.Subject)
		}
		if one.For == "" && one.Error == "" {
			trials[one.Trial], blocks[one.Block] = true, true
		}
	}
	slices.Sort(ran)
	e.Ran = commit.ReplaceAllString(strings.Join(ran, "; "), "$1")
	if e.State == interrupted {
		e.Trials, e.Blocks = len(trials), len(blocks)
	}
	return nil
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

// What is the version that ran, with the revision that was asked for.
func (e *entry) What() string {
	rev := e.rev()
	if strings.Contains(e.Ran, rev) {
		return e.Ran
	}
	return strings.TrimSpace(rev + " " + e.Ran)
}

// When is the local time at which the run began.
func (e *entry) When() time.Time { return e.Run.Started.Local() }
