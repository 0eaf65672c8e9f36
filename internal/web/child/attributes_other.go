//go:build !unix

package child

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
