//go:build !unix

package main

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
