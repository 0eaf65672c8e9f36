package subject

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Holder returns the process that listens on the port of an address of this
// machine, such as 127.0.0.1:8080; 0 if it is not known, as of another user's, or
// if several do.
func Holder(addr string) int {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	inodes := listeners(port)
	if len(inodes) == 0 {
		return 0
	}
	holder := 0
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !inodes[target] {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if err != nil || holder != 0 && holder != pid {
			return 0
		}
		holder = pid
	}
	return holder
}
