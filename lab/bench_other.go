//go:build !linux

package lab

// BenchCPUs returns none: what is not Linux does not pin processes, or not so.
func BenchCPUs(int) []int { return nil }
