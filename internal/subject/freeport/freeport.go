// Package freeport chooses TCP ports that are free.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
)

// From these ports on, and before those, a kernel gives none to whoever asks for any: to each connection of a load, and to
// each test's server. One of those may be gone before the subject listens there. (net.ipv4.ip_local_port_range is 32768 to
// 60999 by default, and Kubernetes has its node ports from 30000.)
const firstPort, endPort = 10000, 30000

// chosen are the addresses chosen last: their subjects may not yet listen there.
var chosen struct {
	sync.Mutex
	addrs [64]string
	next  int
}

// At returns an address of host whose TCP port is free, and none of those that it returned last.
func At(host string) (string, error) {
	chosen.Lock()
	defer chosen.Unlock()
	for tries := 1; ; tries++ {
		port := firstPort + rand.IntN(endPort-firstPort)
		if tries > len(chosen.addrs) || givenOut(port) { // few ports are free
			port = 0
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil && port != 0 {
			continue
		}
		if err != nil {
			return "", err
		}
		addr := l.Addr().String()
		l.Close()
		if !slices.Contains(chosen.addrs[:], addr) || tries > 2*len(chosen.addrs) {
			chosen.addrs[chosen.next] = addr
			chosen.next = (chosen.next + 1) % len(chosen.addrs)
			return addr, nil
		}
	}
}

// givenOut tells whether the kernel gives this port to whoever asks for any.
func givenOut(port int) bool {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // ip(7)
	if err != nil {
		return false
	}
	var low, high int
	_, err = fmt.Sscan(string(text), &low, &high)
	return err == nil && low <= port && port <= high
}
