package gobench

import (
	"golang.org/x/sys/unix"
)

// PinnedCPUs returns n CPUs that benchmarks are pinned to: the last ones that dyno
// may use, so that the first is left for dyno itself and for the interrupts that
// most machines put there. There are fewer if dyno may use fewer, and none if it
// cannot tell.
func PinnedCPUs(n int) []int {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(may) * 64 {
		if may.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus[max(0, len(cpus)-n):]
}
