//go:build !linux

package probe

import "debug/elf"

// CPU returns the CPU time in seconds of all threads of a process; on this
// system it returns an error that wraps errors.ErrUnsupported.
func CPU(pid int) (float64, error) { return 0, errNotLinux }

func loadedAt(int, *elf.File) (uint64, error) { return 0, errNotLinux }
