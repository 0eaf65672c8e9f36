//go:build !unix

package engine

import "net"

func gone(net.Conn) bool { return false }
