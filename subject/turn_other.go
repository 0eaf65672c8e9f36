//go:build !unix

package subject

const canStop = false

func haltGroup(int)   {}
func resumeGroup(int) {}
