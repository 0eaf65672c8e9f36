//go:build !unix

package main

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

// interruptChild kills where there are no interrupts: results are kept, the report
// of them is made by dyno report.
func interruptChild(p *os.Process) { p.Kill() }
