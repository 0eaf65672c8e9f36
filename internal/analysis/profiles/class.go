package profiles

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/stats"
)

// A CPUClass is what a stack of a CPU profile is for.
type CPUClass int

const (
	CPUOwn      CPUClass = iota // the leaf is the subject's own
	CPULibrary                  // the leaf is another package's, system calls included
	CPURuntime                  // what else the runtime does for its caller: maps, copying, channels, locks
	CPUSched                    // finding and starting goroutines, timers, the network poller
	CPUAlloc                    // allocation, without the collection that it has to help with
	CPUMark                     // marking by workers
	CPUIdle                     // marking by Ps that had nothing else to do: it costs the program nothing
	CPUAssist                   // marking by goroutines that allocate
	CPUSweep                    // sweeping, in the background and before allocation
	CPUGC                       // the rest of a collection: write barriers, its start and its end
	CPUScavenge                 // giving memory back to the system
	classes
)

// CPUClasses names the classes, in the order of CPUClass.
var CPUClasses = [classes]string{"own code", "libraries", "runtime", "scheduling", "allocation",
	"mark", "idle mark", "assist", "sweep", "other GC", "scavenge"}

var gcClasses = []CPUClass{CPUMark, CPUAssist, CPUSweep, CPUGC}

// A CPUShare is how the CPU time of one setting is spent, by stack.
type CPUShare struct {
	Setting string       `json:"setting"`
	Trials  int          `json:"trials"`
	Total   stats.Mean   `json:"cpu-sec/req"`
	GC      ClassShare   `json:"gc"`      // mark, assist, sweep and other GC together
	Classes []ClassShare `json:"classes"` // in the order of CPUClasses
}

// A ClassShare is one class: means over trials with 95 % intervals.
type ClassShare struct {
	Name   string     `json:"name"`
	PerReq stats.Mean `json:"cpu-sec/req"`
	Share  stats.Mean `json:"share"` // of the CPU time of the profile
}

// CPUShares says what CPU profiles spend their time on; nil for profiles of another kind.
func (p *Profiles) CPUShares() []CPUShare {
	if p.Kind != "cpu" {
		return nil
	}
	var out []CPUShare
	for _, setting := range p.Settings {
		ts := p.trials[setting]
		seconds := make([][]float64, classes)
		var totals, gc []float64
		for _, t := range ts {
			var sum [classes]float64
			for i := range t.stacks {
				sum[t.stacks[i].class()] += t.stacks[i].value
			}
			for c, v := range sum {
				seconds[c] = append(seconds[c], v)
			}
			all := 0.0
			for _, c := range gcClasses {
				all += sum[c]
			}
			gc, totals = append(gc, all), append(totals, t.total.value)
		}
		share := CPUShare{Setting: setting, Trials: len(ts), Total: stats.MeanOf(totals), GC: classShare("GC", gc, totals)}
		for c, xs := range seconds {
			share.Classes = append(share.Classes, classShare(CPUClasses[c], xs, totals))
		}
		out = append(out, share)
	}
	return out
}

func classShare(name string, seconds, totals []float64) ClassShare {
	shares := make([]float64, len(seconds))
	for i, v := range seconds {
		if totals[i] > 0 {
			shares[i] = v / totals[i]
		}
	}
	return ClassShare{name, stats.MeanOf(seconds), stats.MeanOf(shares)}
}

// marks are functions of package runtime, by name or prefix (*), that tell what a stack is
// for; the first of this list decides. Names are those of Go 1.22 to 1.27.
var marks = []struct {
	class CPUClass
	names []string
}{
	{CPUIdle, []string{"gcDrainMarkWorkerIdle"}},
	{CPUAssist, []string{"gcAssistAlloc*"}},
	{CPUMark, []string{"gcBgMarkWorker*", "gcDrain*"}},
	{CPUSweep, []string{"bgsweep", "sweepone", "(*sweepLocked).*", "(*sweepLocker).*", "(*mspan).sweep", "deductSweepCredit", "(*mheap).reclaim*", "(*activeSweep).*", "(*mspan).ensureSwept"}},
	{CPUScavenge, []string{"bgscavenge", "(*scavengerState).*", "(*pageAlloc).scavenge*", "(*scavengeIndex).*", "sysUnused*", "(*mheap).scavengeAll"}},
	{CPUGC, []string{"gcStart*", "gcMarkDone*", "gcMarkTermination*", "gcSweep", "gcWriteBarrier*", "wbBufFlush*", "bulkBarrierPreWrite*", "typeBitsBulkBarrier", "gcMarkTinyAllocs", "gcmarknewobject",
		"gcResetMarkState", "gcParkAssist", "gcFlushBgCredit", "gcController*", "(*gcControllerState).*", "gcWakeAllAssists", "stopTheWorldGC", "(*gcWork).*", "runGCProg", "bgMarkStartWorkers",
		"gcBgMarkStartWorkers", "clearpools", "finishsweep_m"}},
	{CPUAlloc, []string{"mallocgc*", "newobject", "makeslice", "(*mcache).*", "(*mcentral).*", "(*mheap).alloc*", "profilealloc", "mProf_Malloc"}},
	{CPUSched, []string{"schedule", "findRunnable", "findrunnable", "park_m", "mcall", "goschedImpl", "gosched_m", "gopreempt_m", "goexit0", "sysmon", "mstart*", "startm", "wakep", "ready",
		"goready*", "stopm", "netpoll*", "checkTimers", "(*timers).*", "asyncPreempt*", "preemptPark", "handoffp", "exitsyscall*", "entersyscall*", "reentersyscall", "newproc*", "templateThread"}},
}

// class tells what a stack is for, inlined frames included.
func (s *stack) class() CPUClass {
	found := classes
	place := len(marks)
	for _, full := range s.names {
		name, ok := strings.CutPrefix(full, "runtime.")
		if !ok && full != "gcWriteBarrier" { // assembly, without a package
			continue
		}
		for i, m := range marks[:place] {
			if matches(m.names, name) {
				found, place = m.class, i
				break
			}
		}
	}
	switch leaf := s.frames[0].fn; {
	case found < classes:
		return found
	case strings.HasPrefix(leaf.Package, "internal/runtime/syscall"):
		return CPULibrary
	case leaf.Package == "runtime", strings.HasPrefix(leaf.Package, "internal/runtime/"), leaf.Package == "internal/abi":
		return CPURuntime
	case leaf.Own:
		return CPUOwn
	}
	return CPULibrary
}

func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, ok := strings.CutSuffix(n, "*")
		return ok && strings.HasPrefix(name, prefix) || n == name
	})
}
