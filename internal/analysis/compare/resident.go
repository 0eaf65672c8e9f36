package compare

import (
	"cmp"
	"time"

	"github.com/dynolab/dyno"
)

// A Resident says where a setting's resident memory is, and whether it is given back.
// Figures are means over trials, as only these add up.
type Resident struct {
	Trials int           `json:"trials"` // of which End is the mean
	End    dyno.Snapshot `json:"end"`    // at the end of the load
	// Left is what no part accounts for. Above 0 it is not the Go runtime's, such as mmap
	// and cgo; below 0 the runtime has mapped memory that is not touched yet. It is nil if
	// the kernel alone spoke, and not the runtime.
	Left *float64   `json:"left-B,omitempty"`
	Back *GivenBack `json:"given-back,omitempty"` // nil if no trial rested
}

// A GivenBack is resident memory after the load, in bytes; of trials ForMemory if any.
type GivenBack struct {
	Trials int     `json:"trials"`
	Own    bool    `json:"own"`      // they are ForMemory: nothing was forced before the rest
	Forced bool    `json:"forced"`   // collections were forced before the rest
	Rest   float64 `json:"rest-sec"` // how long

	Above    float64 `json:"above-B"`    // how much more was resident at the end of the load than before it
	Returned float64 `json:"returned-B"` // what came back by itself; below 0, more was resident after the rest

	Ready dyno.Snapshot  `json:"ready"`           // before the load
	End   dyno.Snapshot  `json:"end"`             // at its end
	Idle  dyno.Snapshot  `json:"idle"`            // after the rest
	Freed *dyno.Snapshot `json:"freed,omitempty"` // then, after FreeOSMemory; nil if that was not asked for
}

func (t *Table) resident(good map[int][]*dyno.Result, all []*dyno.Result) {
	for i := range t.Settings {
		s := &t.Settings[i]
		var own []*dyno.Result
		for _, r := range all {
			if r.Err == "" && r.Trial.For == dyno.ForMemory && r.Trial.Setting.String() == s.Setting.String() {
				own = append(own, r)
			}
		}
		ends := stages(good[i], dyno.StageEnd)
		if len(ends) == 0 {
			continue
		}
		s.Resident = &Resident{Trials: len(ends), End: meanSnapshot(ends), Back: cmp.Or(givenBack(own), givenBack(good[i]))}
		if e := &s.Resident.End; e.Mapped() > 0 {
			left := e.RSS - e.File - e.Mapped()
			s.Resident.Left = &left
		}
	}
}

// givenBack is nil if there is no trial with a snapshot at each stage.
func givenBack(rs []*dyno.Result) *GivenBack {
	b := &GivenBack{}
	var ready, end, idle, freed []dyno.Snapshot
	for _, r := range rs {
		at := map[string]dyno.Snapshot{}
		for _, s := range r.Memory {
			at[s.Stage] = s
		}
		if at[dyno.StageReady].RSS == 0 || at[dyno.StageEnd].RSS == 0 || at[dyno.StageIdle].RSS == 0 {
			continue
		}
		b.Own = r.Trial.For == dyno.ForMemory
		_, forced := at[dyno.StageAfter]
		b.Forced = b.Forced || forced
		ready, end, idle = append(ready, at[dyno.StageReady]), append(end, at[dyno.StageEnd]), append(idle, at[dyno.StageIdle])
		if s, ok := at[dyno.StageFreed]; ok {
			freed = append(freed, s)
		}
	}
	if b.Trials = len(end); b.Trials == 0 {
		return nil
	}
	b.Ready, b.End, b.Idle = meanSnapshot(ready), meanSnapshot(end), meanSnapshot(idle)
	b.Rest = (b.Idle.At - b.End.At).Seconds()
	b.Above, b.Returned = b.End.RSS-b.Ready.RSS, b.End.RSS-b.Idle.RSS
	if len(freed) == b.Trials {
		s := meanSnapshot(freed)
		b.Freed = &s
	}
	return b
}

// stages lists the snapshots of a stage with resident memory, those that the runtime spoke
// to if there are any.
func stages(rs []*dyno.Result, stage string) []dyno.Snapshot {
	var kernel, runtime []dyno.Snapshot
	for _, r := range rs {
		for _, s := range r.Memory {
			switch {
			case s.Stage != stage || s.RSS == 0:
			case s.Mapped() > 0:
				runtime = append(runtime, s)
			default:
				kernel = append(kernel, s)
			}
		}
	}
	if len(runtime) > 0 {
		return runtime
	}
	return kernel
}

func meanSnapshot(ss []dyno.Snapshot) dyno.Snapshot {
	m := dyno.Snapshot{Stage: ss[0].Stage}
	n := float64(len(ss))
	for _, s := range ss {
		m.At += s.At / time.Duration(len(ss))
		from := sizes(&s)
		for i, to := range sizes(&m) {
			*to += *from[i] / n
		}
		m.Largest = cmp.Or(m.Largest, s.Largest)
	}
	return m
}

func sizes(s *dyno.Snapshot) []*float64 {
	return []*float64{
		&s.RSS, &s.File, &s.Files, &s.Live, &s.Dead, &s.Unused, &s.Idle, &s.Released, &s.Stacks, &s.Metadata, &s.Other, &s.Goroutines,
	}
}
