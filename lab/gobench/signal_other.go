//go:build !unix

package gobench

const canStop = false

func haltGroup(int)   {}
func resumeGroup(int) {}
