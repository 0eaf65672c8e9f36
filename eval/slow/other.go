//go:build !linux

package main

import "github.com/dynolab/dyno/eval/internal/program"

func main() { program.NeedsLinux("eval/slow", "/proc") }
