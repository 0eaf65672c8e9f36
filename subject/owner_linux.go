package subject

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

const (
	ownerUnknown = iota
	ownerSubject
	ownerOther
)

// owner tells whether pid or a descendant of it listens on the port of addr,
// from /proc/net/tcp (which has the inode of the listening socket) and the
// descriptors of the processes; see proc_net(5). Where they cannot be read, or
// the subject runs in another network namespace, it does not know.
func owner(addr string, pid int) int {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ownerUnknown
	}
	inodes := listeners(port)
	if len(inodes) == 0 {
		return ownerUnknown
	}
	for _, p := range append([]int{pid}, descendants(pid)...) {
		dir := fmt.Sprintf("/proc/%d/fd/", p)
		fds, err := os.ReadDir(dir)
		if err != nil {
			return ownerUnknown
		}
		for _, fd := range fds {
			if target, _ := os.Readlink(dir + fd.Name()); inodes[target] {
				return ownerSubject
			}
		}
	}
	return ownerOther
}

// listeners returns the sockets that listen on a TCP port, as they are named
// in /proc/PID/fd.
func listeners(port string) map[string]bool {
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	want := fmt.Sprintf(":%04X", n)
	inodes := map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, _ := os.ReadFile(name)
		for line := range strings.Lines(string(table)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], want) && f[3] == "0A" { // TCP_LISTEN
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	return inodes
}
