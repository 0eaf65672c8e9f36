// Package predict reads what garbage collection did in a run, or in a log of gctrace, and asks package
// gcmodel what it would do under other settings.
//
// It owns which files that comes from, which settings are asked for, and what was measured beside a
// prediction. The arithmetic is gcmodel's, the sentences are package prediction's.
package predict

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/store"
)

// A Source is what predictions are made from: windows that were measured with one program and one load.
type Source struct {
	Name    string   // of the run, or of the file
	Log     bool     // it is a log of gctrace, which tells nothing of memory beside the heap
	Per     Per      // what a window's Requests count
	Group   string   // the levels of other factors than GOGC and GOMEMLIMIT; "" if there are none
	About   []string // what ran, and under which load
	Trials  []Window // one of each trial, in their order
	Pooled  []Window // one of each setting, of all its trials; in the order of the plan
	Tail    *Tail    // nil if requests were not kept, or met no collection
	Notes   []Note
	Plan    *dyno.Experiment // of the run, without credentials; nil of a log
	Elapsed float64          // seconds of all windows
	Go      string           // version that the program was built with; "" if it is not known
}

// Per is the unit that figures are divided by.
type Per string

const (
	Request Per = "request"
	Minute  Per = "minute" // there is no load whose requests are known
)

// A Window is what was measured of one setting, or of one trial of it.
type Window struct {
	gcmodel.Window
	Trials []int // numbers of the trials; nil of a log
}

// A Note is something that a reader of predictions has to know.
type Note struct {
	Kind  NoteKind
	N, Of int
	Trial int
	Said  []string
	Err   error
}

// A NoteKind says what a note is about.
type NoteKind string

const (
	Assumed     NoteKind = "assumed"     // dyno did not launch the service, and takes its setting as Said
	Implied     NoteKind = "implied"     // the goals of collections look like GOGC=N, not Of
	Forced      NoteKind = "forced"      // N of Of collections were forced by runtime.GC and are left out
	Changed     NoteKind = "changed"     // settings changed in the middle of N processes; what came before the last change is left out
	Periodic    NoteKind = "periodic"    // N of Of began as two minutes were over and are left out
	Others      NoteKind = "others"      // Said are the other groups of settings
	Processes   NoteKind = "processes"   // the log is of N processes, put together
	Unread      NoteKind = "unread"      // a trial is left out
	Uncollected NoteKind = "uncollected" // no collection ended under the settings Said
	NoMemory    NoteKind = "no-memory"   // the log has neither resident memory nor CPU time
	Missing     NoteKind = "missing"     // N of Of collections have no line in the log
	InForce     NoteKind = "in-force"    // the settings Said[0] were in force, and are taken, not Said[1] of the plan
	NoLimits    NoteKind = "no-limits"   // the cliff is not known, so that no limits are chosen
)

// Options say what to read of a run. The zero value reads the baseline's group, as its plan says.
type Options struct {
	Group string   // levels of other factors than GOGC and GOMEMLIMIT, such as "rev=main"
	GOGC  *float64 // what GOGC really was; nil if the plan knows
	Limit *float64 // what GOMEMLIMIT really was, in bytes; nil if the plan knows
}

// ErrNothing is the error of a source in which no collection ended.
var ErrNothing = errors.New("no collection")

// Read reads the windows of a run.
func Read(dir *store.Dir, o Options) (*Source, error) {
	plan := dir.Run.Plan
	switch {
	case plan.Bench != nil:
		return nil, fmt.Errorf("%s is a run of benchmarks, but predictions need a service (consider: a run of dyno run)", dir.Path)
	case plan.Slice > 0:
		return nil, fmt.Errorf("%s has slices of one process, whose heap carries over from one setting to the next (consider: dyno run without --slice)", dir.Path)
	}
	s := &Source{Name: plan.Name, Per: Request, Plan: store.Redacted(plan)}
	rd := reader{Source: s, dir: dir, options: o}
	if err := rd.group(); err != nil {
		return nil, err
	}
	rd.about()
	for _, r := range dir.Brief() {
		if r.Trial.For == "" && r.Err == "" && r.Elapsed > 0 && slices.Contains(rd.settings, r.Trial.Setting.String()) {
			rd.trials = append(rd.trials, r)
		}
	}
	if len(rd.trials) == 0 {
		return nil, fmt.Errorf("%s has no finished trial to predict from (consider: dyno report %[1]s)", dir.Path)
	}
	s.Go = GoOf(rd.trials[0])
	if err := rd.inForce(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rd.trials, func(r *dyno.Result) bool { return requests(r) == 0 }) {
		s.Per = Minute
	}
	for _, r := range rd.trials {
		rd.add(r)
	}
	s.pool(rd.order)
	if err := rd.checkCollections(); err != nil {
		return nil, err
	}
	rd.forced()
	s.goals()
	s.Tail = rd.tail()
	return s, nil
}

// GoOf is the version of Go that a trial's program was built with, such as 1.26.8; "" if it is not known.
func GoOf(r *dyno.Result) string {
	if first, _, _ := strings.Cut(r.Subject, " "); strings.HasPrefix(first, "go1") {
		return strings.TrimPrefix(first, "go")
	}
	return ""
}

// A reader reads one run.
type reader struct {
	*Source
	dir      *store.Dir
	options  Options
	settings []string          // of the group
	order    []gcmodel.Setting // the same as the collector is told
	trials   []*dyno.Result

	collections, left int // all, and of these the forced ones
	failed            error
}

// group chooses the settings that differ only in what the collector is told.
func (rd *reader) group() error {
	groups := Groups(rd.dir.Run.Plan)
	rd.Group = groups[0]
	if want := rd.options.Group; want != "" {
		if !slices.Contains(groups, want) {
			return fmt.Errorf("%s has no setting %q (want one of %s)", rd.dir.Path, want, strings.Join(groups, ", "))
		}
		rd.Group = want
	}
	if len(groups) > 1 {
		rd.Notes = append(rd.Notes, Note{Kind: Others, Said: slices.DeleteFunc(groups, func(g string) bool { return g == rd.Group })})
	}
	for _, s := range rd.dir.Run.Plan.Levels() {
		if groupOf(s) != rd.Group {
			continue
		}
		told, err := rd.told(s)
		if err != nil {
			return fmt.Errorf("%s: setting %s: %w", rd.dir.Path, s, err)
		}
		rd.settings = append(rd.settings, s.String())
		rd.order = append(rd.order, told)
	}
	if (rd.options.GOGC != nil || rd.options.Limit != nil) && len(rd.settings) > 1 {
		return fmt.Errorf("%s varies GOGC or GOMEMLIMIT, so its plan has their values (consider: without --gogc-was and --limit-was)", rd.dir.Path)
	}
	return nil
}

// Groups are the levels of other factors than the collector's that a plan has, each once: a source is of one of them.
func Groups(e *dyno.Experiment) (groups []string) {
	for _, s := range e.Levels() {
		if g := groupOf(s); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// groupOf are the levels that the collector is not told, as a text.
func groupOf(s dyno.Setting) string {
	return slices.DeleteFunc(slices.Clone(s), func(l dyno.Level) bool { return l.Factor == "GOGC" || l.Factor == "GOMEMLIMIT" }).String()
}

// told returns the collector's settings under a setting of the plan.
func (rd *reader) told(s dyno.Setting) (gcmodel.Setting, error) {
	t := rd.dir.Run.Plan.Trial(s)
	told, err := SettingOf(t.Subject.Env)
	if rd.options.GOGC != nil {
		told.GOGC = *rd.options.GOGC
	}
	if rd.options.Limit != nil {
		told.Limit = *rd.options.Limit
	}
	if !t.Subject.Launched() && (rd.options.GOGC == nil || rd.options.Limit == nil) && err == nil {
		rd.Notes = append(rd.Notes, Note{Kind: Assumed, Said: []string{Name(told)}})
	}
	return told, err
}

// inForce replaces what the plan tells the collector by what the process had, where that is known. A trial in
// which it changed is a note, as its collections are of several settings.
func (rd *reader) inForce() error {
	var kept []*dyno.Result
	known := map[int]bool{} // by place of the setting
	for _, r := range rd.trials {
		var had []gcmodel.Setting
		place := slices.Index(rd.settings, r.Trial.Setting.String())
		for _, s := range r.InForce {
			now := rd.order[place]
			gogc, told := s.Get("GOGC")
			limit, limited := s.Get("GOMEMLIMIT")
			if told && rd.options.GOGC == nil {
				now.GOGC = gogcOf(gogc)
			}
			if n, err := limitOf(limit); limited && err == nil && rd.options.Limit == nil {
				now.Limit = n
			}
			if len(had) == 0 || !same(had[len(had)-1], now) {
				had = append(had, now)
			}
		}
		if known[place] && len(had) > 0 { // what an earlier trial had
			had = slices.Insert(had, 0, rd.order[place])
			had = slices.CompactFunc(had, same)
		}
		if len(had) > 1 {
			rd.failed = fmt.Errorf("the program changed what the collector is told while it ran, from %s to %s", Name(had[0]), Name(had[len(had)-1]))
			rd.Notes = append(rd.Notes, Note{Kind: Unread, Trial: r.Trial.N, Err: rd.failed})
			continue
		}
		if len(had) == 1 && !same(had[0], rd.order[place]) {
			rd.Notes = append(rd.Notes, Note{Kind: InForce, Said: []string{Name(had[0]), Name(rd.order[place])}})
			rd.order[place] = had[0]
		}
		known[place] = known[place] || len(had) == 1
		kept = append(kept, r)
	}
	if rd.trials = kept; len(kept) == 0 {
		return fmt.Errorf("%s cannot be predicted from: %w", rd.dir.Path, rd.failed)
	}
	return nil
}

// about says what ran.
func (rd *reader) about() {
	plan := rd.dir.Run.Plan
	t := plan.Trial(plan.Levels()[slices.IndexFunc(plan.Levels(), func(s dyno.Setting) bool { return groupOf(s) == rd.Group })])
	load, _, _ := strings.Cut(t.Load.String(), ";") // what latency counts from is not of interest here
	rd.About = []string{plan.Subject.String(), load}
}

// add reads the window of a trial. A trial that cannot be read is a note.
func (rd *reader) add(r *dyno.Result) {
	w, err := rd.window(r, rd.order[slices.Index(rd.settings, r.Trial.Setting.String())])
	if err != nil {
		rd.failed = err
		if !errors.Is(err, fs.ErrNotExist) {
			rd.Notes = append(rd.Notes, Note{Kind: Unread, Trial: r.Trial.N, Err: err})
		}
		return
	}
	rd.Trials = append(rd.Trials, Window{w, []int{r.Trial.N}})
	rd.Elapsed += w.Elapsed
}

// checkCollections fails if nothing can be predicted from the run. It notes settings without a collection.
func (rd *reader) checkCollections() error {
	var without []string
	for _, w := range rd.Pooled {
		if len(w.Cycles) == 0 {
			without = append(without, Name(w.Setting))
		}
	}
	switch {
	case len(rd.Trials) == 0 && errors.Is(rd.failed, fs.ErrNotExist):
		return fmt.Errorf("%s: its collections were not recorded (consider: dyno run, which records them)", rd.dir.Path)
	case len(rd.Trials) == 0:
		return fmt.Errorf("%s: %w", rd.dir.Path, rd.failed)
	case len(without) == len(rd.Pooled):
		return fmt.Errorf("%s: %w ended in its windows of %.3g s (consider: a longer load, or a lower GOGC)", rd.dir.Path, ErrNothing, rd.Elapsed)
	case without != nil:
		rd.Notes = append(rd.Notes, Note{Kind: Uncollected, Said: without})
	}
	return nil
}

func (rd *reader) forced() {
	if rd.left > 0 {
		rd.Notes = append(rd.Notes, Note{Kind: Forced, N: rd.left, Of: rd.collections})
	}
}

// impliedOff is the factor by which goals may differ from those that GOGC implies.
const impliedOff = 1.4

// goals notes a GOGC that the goals of collections contradict: a service can set it itself. Stacks and
// globals count for the goal, and are not known here; small heaps have a goal of their own.
func (s *Source) goals() {
	for _, w := range s.Pooled {
		if w.Limit > 0 || math.IsInf(w.GOGC, 1) || w.GOGC == 0 {
			continue
		}
		var found []float64
		for i := 1; i < len(w.Cycles); i++ {
			if before, c := w.Cycles[i-1], w.Cycles[i]; before.Marked >= 16*gcmodel.MiB && c.Goal > 0 {
				found = append(found, 100*(c.Goal/before.Marked-1))
			}
		}
		if len(found) < 8 {
			continue
		}
		if g := median(found); g > w.GOGC*impliedOff || g < w.GOGC/impliedOff {
			s.Notes = append(s.Notes, Note{Kind: Implied, N: int(math.Round(g)), Of: int(w.GOGC)})
		}
	}
}
