package guard

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
)

// Descendants lists the processes below pid; of 0 these are all. Linux only.
func Descendants(pid int) []int {
	children := map[int][]int{}
	procs, _ := procfs.AllProcs()
	for _, p := range procs {
		if stat, err := p.Stat(); err == nil {
			children[stat.PPID] = append(children[stat.PPID], p.PID)
		}
	}
	found := slices.Clone(children[pid])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// Listener returns the process that listens on the port of a local address such as 127.0.0.1:8080;
// 0 if it is unknown, another user's, or several.
func Listener(addr string) int {
	found, _ := listening(addr, Descendants(0))
	if len(found) != 1 {
		return 0
	}
	return found[0]
}

// OthersListen reports whether others than pid and its descendants listen on the port of a local
// address. It is false where that is unknown, as in another network namespace.
func OthersListen(addr string, pid int) bool {
	found, known := listening(addr, append(Descendants(pid), pid))
	return known && len(found) == 0
}

// listening returns which of pids listen on the port of addr. known says that the answer is
// complete: someone in this network namespace listens, and all open files could be read.
func listening(addr string, pids []int) (found []int, known bool) {
	sockets := listeningSockets(addr)
	known = len(sockets) > 0
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		var open []string
		if err == nil {
			open, err = p.FileDescriptorTargets()
		}
		known = known && err == nil
		if slices.ContainsFunc(open, func(file string) bool { return sockets[file] }) {
			found = append(found, pid)
		}
	}
	return found, known
}

// listeningSockets returns the sockets that listen on the TCP port of addr, named as in /proc/PID/fd.
func listeningSockets(addr string) map[string]bool {
	_, text, _ := net.SplitHostPort(addr)
	port, err1 := strconv.ParseUint(text, 10, 16)
	fs, err2 := procfs.NewDefaultFS()
	if err1 != nil || err2 != nil {
		return nil
	}
	named := map[string]bool{}
	v4, _ := fs.NetTCP()
	v6, _ := fs.NetTCP6()
	for _, s := range append(v4, v6...) {
		if s.LocalPort == port && s.St == 10 { // TCP_LISTEN
			named[fmt.Sprintf("socket:[%d]", s.Inode)] = true
		}
	}
	return named
}
