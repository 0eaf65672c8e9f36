//go:build !linux

package probe

import (
	"debug/elf"
	"errors"
)

func loadedAt(int, *elf.File) (uint64, error) { return 0, errors.ErrUnsupported }
