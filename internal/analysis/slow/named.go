package slow

import (
	"slices"

	"golang.org/x/exp/trace"
)

// inGoroutine is a type of region in one goroutine.
type inGoroutine struct {
	goroutine trace.GoID
	kind      string
}

// A region began once, and may have others of its type within it, as in a recursive function.
type region struct {
	began int64
	depth int
}

// region notes a region (runtime/trace.StartRegion) of a type that is asked for, when it ends.
func (w *reader) region(e *trace.Event) {
	at := inGoroutine{e.Goroutine(), e.Region().Type}
	if !slices.Contains(w.prefixes, at.kind) {
		return
	}
	w.kind(at.kind)
	r := w.regions[at]
	switch {
	case e.Kind() == trace.EventRegionBegin && r == nil:
		w.regions[at] = &region{w.now, 1}
	case e.Kind() == trace.EventRegionBegin:
		r.depth++
	case r == nil: // it began before the trace
	case r.depth > 1:
		r.depth--
	default:
		delete(w.regions, at)
		k := w.kind(at.kind)
		k.regions = append(k.regions, w.work(at.goroutine, r.began))
	}
}

// task notes a task (runtime/trace.NewTask) of a type that is asked for, when the goroutine that began it ends it. One that
// another goroutine ends waited for that first, and what that did meanwhile was another's.
func (w *reader) task(e *trace.Event) {
	t := e.Task()
	if !slices.Contains(w.prefixes, t.Type) {
		return
	}
	k := w.kind(t.Type)
	k.isTask = true
	if e.Kind() == trace.EventTaskBegin {
		w.tasks[t.ID] = task{e.Goroutine(), w.now}
	} else if by, ok := w.tasks[t.ID]; ok && by.goroutine == e.Goroutine() {
		k.tasks = append(k.tasks, w.work(by.goroutine, by.began))
	}
}

type task struct {
	goroutine trace.GoID
	began     int64
}

// A kind is a type that is asked for. A task often has a region of its own type in it, which is the same work.
type kind struct {
	isTask         bool
	tasks, regions []served
}

func (w *reader) kind(name string) *kind {
	k := w.kinds[name]
	if k == nil {
		k = &kind{}
		w.kinds[name] = k
	}
	return k
}

// work is a request that a goroutine ended now.
func (w *reader) work(id trace.GoID, began int64) served {
	n, _ := w.goroutine(id)
	return served{goroutine: n, woken: began, wrote: w.now, done: w.now, handler: true}
}

// requests are the regions and tasks in the order of their begins; nil if none was ever begun.
func (w *reader) requests() (all []served) {
	for _, k := range w.kinds {
		if all = append([]served{}, all...); k.isTask {
			all = append(all, k.tasks...)
		} else {
			all = append(all, k.regions...)
		}
	}
	slices.SortFunc(all, func(a, b served) int { return int(a.woken - b.woken) })
	return all
}
