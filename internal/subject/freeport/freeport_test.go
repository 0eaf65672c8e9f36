package freeport

import (
	"net"
	"strconv"
	"testing"
)

// Subjects that are launched at the same time are told different ports, and none that the kernel may give to a connection before the
// subject listens there.
func TestAt(t *testing.T) {
	last := map[string]int{}
	all := givenOut(firstPort) && givenOut(endPort-1) // there are no others on this machine
	for i := range 20000 {
		addr, err := At("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := last[addr]; ok && i-before <= 16 {
			t.Errorf("%s was chosen %d choices ago", addr, i-before)
		}
		_, text, _ := net.SplitHostPort(addr)
		if port, err := strconv.Atoi(text); err != nil || givenOut(port) && !all {
			t.Fatalf("%s: error %v, or the kernel gives its port to others", addr, err)
		}
		last[addr] = i
	}
}
