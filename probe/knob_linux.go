package probe

import (
	"debug/elf"
	"errors"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// loadedAt is how far from the addresses of its file a position-independent
// program was loaded.
func loadedAt(pid int, exe *elf.File) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	path, err := p.Executable()
	if err != nil {
		return 0, err
	}
	maps, err := p.ProcMaps()
	if err != nil {
		return 0, err
	}
	page := uint64(unix.Getpagesize())
	for _, m := range maps {
		if m.Pathname != path || m.Offset != 0 {
			continue
		}
		for _, segment := range exe.Progs {
			if segment.Type == elf.PT_LOAD && segment.Off < page {
				return uint64(m.StartAddr) - segment.Vaddr&^(page-1), nil
			}
		}
	}
	return 0, errors.New("it is not known where the program was loaded")
}
