package guard

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
	found, _ := Listening(addr, Descendants(0))
	if len(found) != 1 {
		return 0
	}
	return found[0]
}

// Processes returns the living processes of the tree, its program first. Processes that left its group,
// session or parent are included.
func (t *Tree) Processes() []int {
	pids := Descendants(t.supervisor.Pid)
	return append([]int{t.PID}, slices.DeleteFunc(pids, func(pid int) bool { return pid == t.PID })...)
}

// Named is a process's number with its name as the kernel has it, such as "42 (nginx)".
func Named(pid int) string {
	p, err := procfs.NewProc(pid)
	name := ""
	if err == nil {
		name, err = p.Comm()
	}
	if err != nil {
		return strconv.Itoa(pid)
	}
	return fmt.Sprintf("%d (%s)", pid, name)
}

// Listening returns which of pids listen on the TCP port of a local address, or on the unix socket whose path it is. known says that the answer is
// complete: someone in this network namespace listens, and all open files could be read.
func Listening(addr string, pids []int) (found []int, known bool) {
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
	if strings.HasPrefix(addr, "/") {
		return unixSockets(addr)
	}
	_, text, _ := net.SplitHostPort(addr)
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	named := map[string]bool{}
	for name, at := range listeners() {
		named[name] = at.Port() == uint16(port)
	}
	maps.DeleteFunc(named, func(_ string, holds bool) bool { return !holds })
	return named
}

// unixSockets returns the sockets that listen at a path, named as in /proc/PID/fd.
func unixSockets(path string) map[string]bool {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	all, err := fs.NetUNIX()
	if err != nil {
		return nil
	}
	const accepts = 1 << 16 // SO_ACCEPTCON of the kernel's net/unix
	named := map[string]bool{}
	for _, s := range all.Rows {
		if s.Path == path && s.Flags&accepts != 0 {
			named[fmt.Sprintf("socket:[%d]", s.Inode)] = true
		}
	}
	return named
}

// listeners returns where each socket listens on TCP, by its name in /proc/PID/fd.
func listeners() map[string]netip.AddrPort {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	at := map[string]netip.AddrPort{}
	v4, _ := fs.NetTCP()  //lint:ignore SA1019 netlink needs a socket where a file will do
	v6, _ := fs.NetTCP6() //lint:ignore SA1019 as above
	for _, s := range append(v4, v6...) {
		if ip, ok := netip.AddrFromSlice(s.LocalAddr); ok && s.St == 10 { // TCP_LISTEN
			at[fmt.Sprintf("socket:[%d]", s.Inode)] = netip.AddrPortFrom(ip.Unmap(), uint16(s.LocalPort))
		}
	}
	return at
}

// Listens returns the addresses on which a process or its descendants listen for TCP, as someone on
// this machine dials them, in the order of ports. Those of a process of another user, or in another
// network namespace, are not known.
func Listens(pid int) (addrs []string) {
	sockets := listeners()
	var found []netip.AddrPort
	for _, pid := range append(Descendants(pid), pid) {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		open, _ := p.FileDescriptorTargets()
		for _, file := range open {
			at, ok := sockets[file]
			switch {
			case !ok:
				continue
			case at.Addr().IsUnspecified(): // all addresses, and :: has those of IPv4, too
				at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
			}
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b netip.AddrPort) int { return cmp.Or(cmp.Compare(a.Port(), b.Port()), a.Compare(b)) })
	for _, at := range slices.Compact(found) {
		addrs = append(addrs, at.String())
	}
	return addrs
}
