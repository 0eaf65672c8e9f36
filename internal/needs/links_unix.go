//go:build unix

package needs

import (
	"io/fs"
	"syscall"
)

// linked is how many names a file has.
func linked(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
