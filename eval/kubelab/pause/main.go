// Pause holds the namespaces of a pod open, as the first process in it. Where the
// containers share a PID namespace it is process 1, so it reaps.
//
// It is a program of its own, not a part of kubelab: its memory counts against the
// limit of the pod, and kubelab's own start would take most of a small one.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
