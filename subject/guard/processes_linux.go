package guard

import (
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// parents maps each process to its parent, the fourth field of /proc/PID/stat; see
// proc_pid_stat(5).
func parents() map[int]int {
	all := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		// The second field is a name in parentheses that may hold anything.
		if i := strings.LastIndexByte(string(stat), ')'); i >= 0 {
			if f := strings.Fields(string(stat[i+1:])); len(f) > 1 {
				all[pid], _ = strconv.Atoi(f[1])
			}
		}
	}
	return all
}

// Descendants lists the processes below pid. Linux only.
func Descendants(pid int) []int {
	children := map[int][]int{}
	for child, parent := range parents() {
		children[parent] = append(children[parent], child)
	}
	found := slices.Clone(children[pid])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// Listener returns the process that listens on the port of an address of this
// machine, such as 127.0.0.1:8080; 0 if it is not known, as on other systems, if it
// is another user's, or if several do.
func Listener(addr string) int {
	found, _ := listening(addr, slices.Collect(maps.Keys(parents())))
	if len(found) != 1 {
		return 0
	}
	return found[0]
}

// OthersListen reports whether the port of an address of this machine is listened
// on by others than pid and its descendants. It is false where that is not known,
// such as on other systems or in another network namespace.
func OthersListen(addr string, pid int) bool {
	found, known := listening(addr, append(Descendants(pid), pid))
	return known && len(found) == 0
}

// listening returns the processes, of those given, that listen on the port of addr:
// they have one of its sockets open. It is known where somebody listens and all of
// the processes let themselves be looked at.
func listening(addr string, pids []int) (found []int, known bool) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, false
	}
	sockets := listeningSockets(port)
	if known = len(sockets) > 0; !known {
		return nil, false
	}
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd/", pid)
		fds, err := os.ReadDir(dir)
		if err != nil {
			known = false
		}
		if slices.ContainsFunc(fds, func(fd os.DirEntry) bool { target, _ := os.Readlink(dir + fd.Name()); return sockets[target] }) {
			found = append(found, pid)
		}
	}
	return found, known
}

// listeningSockets returns the sockets that listen on a TCP port, as they are named
// in /proc/PID/fd; see proc_net(5).
func listeningSockets(port string) map[string]bool {
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	want := fmt.Sprintf(":%04X", n)
	sockets := map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, _ := os.ReadFile(name)
		for line := range strings.Lines(string(table)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], want) && f[3] == "0A" { // TCP_LISTEN
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	return sockets
}
