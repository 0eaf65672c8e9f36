//go:build !unix

package main

import "errors"

// becomeJava needs a system on which a process can become another program.
func becomeJava(options) error {
	return errors.New("-kind java: not on this system")
}
