package gobench

import (
	"golang.org/x/sys/unix"
)

// PinnedCPUs returns the last n CPUs that dyno may use, for benchmarks: the first is for dyno and
// for most machines' interrupts. There are fewer if dyno may use fewer, none if unknown.
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
