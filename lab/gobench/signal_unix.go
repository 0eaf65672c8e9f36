//go:build unix

package gobench

import "syscall"

// canStop says that processes can be stopped and go on.
const canStop = true

func haltGroup(pid int)   { syscall.Kill(-pid, syscall.SIGSTOP) }
func resumeGroup(pid int) { syscall.Kill(-pid, syscall.SIGCONT) }
