//go:build !linux

package subject

const (
	ownerUnknown = iota
	ownerOther
)

// owner tells who listens on a port; on this system it does not know.
func owner(addr string, pid int) int { return ownerUnknown }
