package program

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine returns a line on where and when something is measured. It needs /proc.
func Machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	load1, _, _ := strings.Cut(string(load), " ")
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name")
	model, _, _ := strings.Cut(rest, "\n")
	return fmt.Sprintf("%s, %s, Linux %s, %d CPUs, %s, load average %s", time.Now().Format("2006-01-02 15:04"),
		cmp.Or(strings.TrimLeft(model, "\t :"), runtime.GOARCH), strings.TrimSpace(string(kernel)), runtime.NumCPU(), runtime.Version(), load1)
}
