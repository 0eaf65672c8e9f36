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
	w.seen()
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
		w.work(at.goroutine, r.began)
	}
}

// task notes a task (runtime/trace.NewTask) of a type that is asked for, when the goroutine that began it ends it. One that
// another goroutine ends waited for that first, and what that did meanwhile was another's.
func (w *reader) task(e *trace.Event) {
	t := e.Task()
	if !slices.Contains(w.prefixes, t.Type) {
		return
	}
	w.seen()
	if e.Kind() == trace.EventTaskBegin {
		w.tasks[t.ID] = task{e.Goroutine(), w.now}
	} else if by, ok := w.tasks[t.ID]; ok && by.goroutine == e.Goroutine() {
		w.work(by.goroutine, by.began)
	}
}

type task struct {
	goroutine trace.GoID
	began     int64
}

// seen says that there are regions or tasks, so that nothing else is a request.
func (w *reader) seen() {
	if w.named == nil {
		w.named = []served{}
	}
}

// work notes a request that a goroutine ended now.
func (w *reader) work(id trace.GoID, began int64) {
	n, _ := w.goroutine(id)
	w.named = append(w.named, served{goroutine: n, woken: began, wrote: w.now, done: w.now, handler: true})
}
