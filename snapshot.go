package dyno

import "time"

// A Snapshot says where a subject's memory is, in bytes; 0 means unknown. Live to Other, without
// Released, add up to the memory that the runtime has mapped. Resident memory may be less, as
// untouched memory is not resident, or more, by memory outside the Go runtime.
type Snapshot struct {
	Stage string        `json:"stage"`
	At    time.Duration `json:"at-ns"` // since the window began; below 0 before it

	RSS  float64 `json:"rss-B"`            // resident: Rss of /proc/PID/smaps_rollup, or of statm
	File float64 `json:"file-B,omitempty"` // of it, pages of files

	Files   float64 `json:"files-B,omitempty"` // of File, files other than the program and its libraries; not of a brief look
	Largest string  `json:"largest,omitempty"` // of these, the one that holds the most

	Live     float64 `json:"live-B,omitempty"`     // heap that the last collection found live
	Dead     float64 `json:"dead-B,omitempty"`     // other objects: allocated since, or not swept yet
	Unused   float64 `json:"unused-B,omitempty"`   // room in spans that hold objects
	Idle     float64 `json:"idle-B,omitempty"`     // free spans
	Released float64 `json:"released-B,omitempty"` // free spans that were given back to the system
	Stacks   float64 `json:"stacks-B,omitempty"`   // of goroutines, and of threads that the runtime made
	Metadata float64 `json:"metadata-B,omitempty"` // of the heap: spans, caches, and what collecting takes
	Other    float64 `json:"other-B,omitempty"`    // of the runtime: profiles, tables, timers

	Goroutines float64 `json:"goroutines,omitempty"`

	InForce Setting `json:"in_force,omitempty"` // what the runtime had of GOGC, GOMEMLIMIT and GOMAXPROCS; nil if it was not asked
}

// The stages of a trial at which there may be a snapshot, in order.
const (
	StageReady  = "ready"  // before the load
	StageBefore = "before" // just before the measured window, after forced collections; with Trial.Leak
	StageEnd    = "end"    // just after the window
	StageAfter  = "after"  // then, after forced collections; with Trial.Leak
	StageIdle   = "idle"   // after the rest that follows the load
	StageFreed  = "freed"  // then, after FreeOSMemory; in a trial ForMemory
)

// Mapped is what the Go runtime has from the system and has not given back; 0 if
// it was not asked.
func (s *Snapshot) Mapped() float64 {
	return s.Live + s.Dead + s.Unused + s.Idle + s.Stacks + s.Metadata + s.Other
}
