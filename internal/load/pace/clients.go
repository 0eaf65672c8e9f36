package pace

import "time"

// turnaround is the least time between two requests on a connection. It must
// not count as lateness while a load catches up with a stall.
const turnaround = 100 * time.Microsecond

// A Free says when a client of an open load would have been free, had its generator never been late.
//
// Note: the client's actual freedom would put the generator's own lateness on the service:
// after a pause of the generator, requests seem to wait for connections.
type Free struct {
	At   time.Duration // on the run's clock
	done time.Duration // when it was free in fact
}

// Reset begins a phase.
func (f *Free) Reset(start time.Duration) { f.At, f.done = start, start }

// Took says that a request that was due at a time took the client from sent to done.
func (f *Free) Took(due, sent, done time.Duration) {
	if gap := sent - max(due, f.done); gap < turnaround {
		f.At += gap
	}
	f.At = max(due, f.At) + done - sent
	f.done = done
}

// A client's pause after its second failure in a row, and the longest pause.
const (
	leastBackOff = time.Millisecond
	mostBackOff  = 100 * time.Millisecond
)

// BackOff returns how long a client of a closed load rests after a number of failures in a row: twice as long
// each time. Without it, a closed load on a dead service would be a busy loop, since a refused connection
// takes microseconds. It would take the CPU that the service needs to come back. A single failure causes no
// rest, since one bad answer in a hundred must not change the load.
func BackOff(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(leastBackOff<<min(failures-2, 10), mostBackOff)
}
