package compare

import (
	"time"

	"github.com/dynolab/dyno"
)

// A Resident says where a setting's resident memory is, and whether it is given back.
// Figures are means over trials, as only these add up.
type Resident struct {
	Trials int           // of which End is the mean
	End    dyno.Snapshot // at the end of the load
	Back   *GivenBack    // nil if no trial rested
}

// A GivenBack is resident memory after the load, in bytes; of trials ForMemory if any.
type GivenBack struct {
	Trials int
	Own    bool          // they are ForMemory: nothing was forced before the rest
	Forced bool          // collections were forced before the rest
	Rest   time.Duration // how long

	Ready, End, Idle dyno.Snapshot  // before the load, at its end, after the rest
	Freed            *dyno.Snapshot // then, after FreeOSMemory; nil if that was not asked for
}

// Told reports whether the runtime said what it has, or the kernel alone spoke.
func (r *Resident) Told() bool { return r.End.Mapped() > 0 }

// Left is what no part accounts for. Above 0 it is not the Go runtime's, such as mmap and
// cgo; below 0 the runtime has mapped memory that is not touched yet.
func (r *Resident) Left() float64 { return r.End.RSS - r.End.File - r.End.Mapped() }

// Above is how much more was resident at the end of the load than before it.
func (b *GivenBack) Above() float64 { return b.End.RSS - b.Ready.RSS }

// Returned is what came back by itself; below 0, more was resident after the rest.
func (b *GivenBack) Returned() float64 { return b.End.RSS - b.Idle.RSS }

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
		s.Resident = &Resident{len(ends), meanSnapshot(ends), givenBack(own)}
		if s.Resident.Back == nil {
			s.Resident.Back = givenBack(good[i])
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
	b.Rest = b.Idle.At - b.End.At
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
	}
	return m
}

func sizes(s *dyno.Snapshot) []*float64 {
	return []*float64{
		&s.RSS, &s.File, &s.Live, &s.Dead, &s.Unused, &s.Idle, &s.Released, &s.Stacks, &s.Metadata, &s.Other, &s.Goroutines,
	}
}

type residentJSON struct {
	Trials int            `json:"trials"`
	End    dyno.Snapshot  `json:"end"`
	Left   *float64       `json:"left-B,omitempty"`
	Back   *givenBackJSON `json:"given-back,omitempty"`
}

type givenBackJSON struct {
	Trials   int            `json:"trials"`
	Own      bool           `json:"own"`
	Forced   bool           `json:"forced"`
	Rest     float64        `json:"rest-sec"`
	Above    float64        `json:"above-B"`
	Returned float64        `json:"returned-B"`
	Ready    dyno.Snapshot  `json:"ready"`
	End      dyno.Snapshot  `json:"end"`
	Idle     dyno.Snapshot  `json:"idle"`
	Freed    *dyno.Snapshot `json:"freed,omitempty"`
}

func (r *Resident) json() *residentJSON {
	if r == nil {
		return nil
	}
	j := &residentJSON{Trials: r.Trials, End: r.End}
	if r.Told() {
		left := r.Left()
		j.Left = &left
	}
	if b := r.Back; b != nil {
		j.Back = &givenBackJSON{b.Trials, b.Own, b.Forced, b.Rest.Seconds(), b.Above(), b.Returned(), b.Ready, b.End, b.Idle, b.Freed}
	}
	return j
}
