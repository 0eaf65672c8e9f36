// Package cause names common errors of networks in few words without addresses, so that equal causes
// count together. Both generators of dyno use it: its own, and the programs that import load/client.
package cause

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// The causes that [Of] knows.
const (
	Timeout  = "timeout"
	Refused  = "connection refused"
	Reset    = "connection reset"
	Files    = "too many open files"
	Ports    = "no free local port"
	Closed   = "connection closed"
	NotFound = "host not found"
)

// Most is the number of bytes that are kept of an error without a name, as its cause.
const Most = 80

// Of returns the cause of an error, "" if it is none of those above.
func Of(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return Timeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Files
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return Ports
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Closed
	case errors.As(err, &dns):
		return NotFound
	}
	return ""
}

// Cure returns what most often helps against a cause that [Of] knows, else "".
func Cure(name string) string {
	switch name {
	case Timeout:
		return "a longer timeout, or less load"
	case Refused, Reset, Closed, NotFound:
		return "whether the service is still up at this address; its log may say why not"
	case Files:
		return "a lower concurrency, or a higher ulimit -n"
	case Ports:
		return "a lower rate, connections that stay open, or a wider net.ipv4.ip_local_port_range: each connection that was closed holds a port for a minute (TIME_WAIT)"
	}
	return ""
}

// Text is the text of the innermost error, which has no address of its own, cut to [Most] bytes.
func Text(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	text := err.Error()
	return text[:min(len(text), Most)]
}
