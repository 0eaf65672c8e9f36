package cluster

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
)

// seconds puts the latency of all members together, second by second.
type seconds struct {
	tell func(h *hist.Histogram, from, to time.Duration) // may be nil

	mu      sync.Mutex
	reached []time.Duration // up to where each member has told its latency
	next    int             // the second that is told next
	told    time.Duration   // up to when
	sum     *hist.Histogram // of all that was told
	bins    map[int]*bin
}

type bin struct {
	sum *hist.Histogram
	to  time.Duration
}

// over is later than any window.
const over = time.Duration(math.MaxInt64)

// add counts what a member says of a part of its window. Members say it once a second and at the end.
func (s *seconds) add(member int, part *wire.Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bins == nil {
		s.bins = map[int]*bin{}
	}
	n := max(int(part.To.Round(time.Second)/time.Second), s.next) // one that comes late counts in the next
	b := s.bins[n]
	if b == nil {
		b = &bin{sum: hist.New()}
		s.bins[n] = b
	}
	b.sum.Merge(part.Latency)
	b.to = max(b.to, part.To)
	s.reachLocked(member, part.To)
}

func (s *seconds) reach(member int, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reachLocked(member, at)
}

// reachLocked tells the seconds that all members have passed. mu is held.
func (s *seconds) reachLocked(member int, at time.Duration) {
	s.reached[member] = max(s.reached[member], at)
	all := slices.Min(s.reached)
	for len(s.bins) > 0 && all >= time.Duration(s.next)*time.Second+time.Second/2 {
		s.emit()
	}
}

func (s *seconds) emit() {
	if b := s.bins[s.next]; b != nil {
		delete(s.bins, s.next)
		s.sum.Merge(b.sum)
		if s.tell != nil {
			s.tell(b.sum, s.told, b.to)
		}
		s.told = b.to
	}
	s.next++
}

// flush tells what is left.
func (s *seconds) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.bins) > 0 {
		s.emit()
	}
}
