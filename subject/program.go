package subject

import "io"

// Environ is dyno's own environment with vars added, for a program that is no service
// and runs in dir.
func Environ(vars map[string]string, dir string) []string { return environ(vars, dir, "", "") }

// A Tail keeps the last lines of an output. Its String has them indented.
type Tail = tail

// NewTail returns a Tail that passes what is written to it on to next, which may be nil.
func NewTail(next io.Writer) *Tail { return newTail(next) }
