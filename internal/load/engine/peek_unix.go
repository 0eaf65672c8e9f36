//go:build unix

package engine

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gone reports whether a service has closed an idle connection, or sent
// something without a request. A request that must not be sent twice (POST)
// would fail on it.
func gone(c net.Conn) (yes bool) {
	c.SetReadDeadline(time.Time{})
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		yes = err != unix.EAGAIN && err != unix.EINTR
		return true
	})
	return yes
}
