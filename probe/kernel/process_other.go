//go:build !linux

package kernel

// LookUp finds out about a process; on this system it returns an error that wraps
// errors.ErrUnsupported.
func Lookup(pid int) (Found, error) { return Found{}, errNotLinux }

// Find returns the processes of a name; on this system it returns an error that
// wraps errors.ErrUnsupported.
func Find(name string) ([]Found, error) { return nil, errNotLinux }
