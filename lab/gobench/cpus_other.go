//go:build !linux

package gobench

// PinnedCPUs returns none: what is not Linux does not pin processes, or not so.
func PinnedCPUs(int) []int { return nil }
