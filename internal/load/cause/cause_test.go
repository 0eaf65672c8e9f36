package cause

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Ports that run out are no fault of the service, and the cure says what holds them.
func TestPortsRunOut(t *testing.T) {
	err := fmt.Errorf("send: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)})
	name := Of(err)
	if name != Ports {
		t.Fatalf("%v is %q, want %q", err, name, Ports)
	}
	cure := Cure(name)
	for _, part := range []string{"ip_local_port_range", "TIME_WAIT"} {
		if !strings.Contains(cure, part) {
			t.Errorf("the cure %q has no %q", cure, part)
		}
	}
	if strings.Contains(cure, "service") {
		t.Errorf("the cure %q blames the service", cure)
	}
}
