// Package rests tells apart what subjects that take turns use of the CPUs: in their turns, right after them, and late in
// the turns of others. By that it says whether they can take turns at all, and what time caused, not requests.
//
// It owns the arithmetic and the limits. Package lab says when a turn begins, and reads the CPU clocks.
package rests

import (
	"sync"
	"time"
)

// A Rested is a subject's CPU time in its window, in seconds, told apart by whose turn it was. What
// requests cause and leave behind, such as collections, is mostly over by the middle of the next turn.
type Rested struct {
	Own, After, Late             float64
	OwnTime, AfterTime, LateTime time.Duration
}

func (r *Rested) add(o Rested) {
	r.Own, r.After, r.Late = r.Own+o.Own, r.After+o.After, r.Late+o.Late
	r.OwnTime, r.AfterTime, r.LateTime = r.OwnTime+o.OwnTime, r.AfterTime+o.AfterTime, r.LateTime+o.LateTime
}

// Rate is the CPU time per second late in rests; 0 if there were none.
func (r Rested) Rate() float64 {
	if r.LateTime == 0 {
		return 0
	}
	return r.Late / r.LateTime.Seconds()
}

// Time returns how long the subject rested.
func (r Rested) Time() time.Duration { return r.AfterTime + r.LateTime }

// A Ledger keeps what the subjects of a block use. Its methods may be called by several goroutines.
type Ledger struct {
	mu      sync.Mutex
	entries map[any]*entry
}

// NewLedger returns a Ledger without entries.
func NewLedger() *Ledger { return &Ledger{entries: map[any]*entry{}} }

// An entry is of one subject, from the beginning of its window to the end.
type entry struct {
	sum   Rested
	cpu   func() (float64, error)
	own   func() time.Duration
	used  float64 // up to
	at    time.Time
	had   time.Duration // of own, likewise
	rests int           // stretches since its last turn
	lost  bool          // its clock could not be read
}

// Open begins the entry of a subject: cpu reads its CPU clock, in seconds, and own is how long its turns have lasted so far.
func (l *Ledger) Open(of any, cpu func() (float64, error), own func() time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, err := cpu()
	l.entries[of] = &entry{cpu: cpu, own: own, used: used, at: time.Now(), had: own(), lost: err != nil}
}

// Close ends an entry and returns its sum. ok is false if there is no entry, or a clock could not be read.
func (l *Ledger) Close(of any) (sum Rested, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[of]
	if e == nil {
		return Rested{}, false
	}
	e.read()
	delete(l.entries, of)
	return e.sum, !e.lost
}

// Mark is called at the beginning and in the middle of each turn.
func (l *Ledger) Mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		e.read()
	}
}

func (e *entry) read() {
	used, err := e.cpu()
	now, own := time.Now(), e.own()
	if err != nil {
		e.lost = true
		return
	}
	took, cpu := now.Sub(e.at), used-e.used
	switch s := &e.sum; {
	case own > e.had: // or in part, as the mark came late: what was used then is of no rest alone
		e.rests = 0
		s.Own, s.OwnTime = s.Own+cpu, s.OwnTime+took
	case e.rests == 0:
		e.rests++
		s.After, s.AfterTime = s.After+cpu, s.AfterTime+took
	default:
		s.Late, s.LateTime = s.Late+cpu, s.LateTime+took
	}
	e.used, e.at, e.had = used, now, own
}
