//go:build !linux

package kernel

// Lookup finds out about a process; on this system it returns an error that wraps
// errors.ErrUnsupported.
func Lookup(pid int) (Process, error) { return Process{}, errNotLinux }

// Find returns the processes of a name; on this system it returns an error that
// wraps errors.ErrUnsupported.
func Find(name string) ([]Process, error) { return nil, errNotLinux }
