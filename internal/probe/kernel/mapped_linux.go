package kernel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// mostSmaps bounds what is read of /proc/PID/smaps: some 30,000 mappings.
const mostSmaps = 32 << 20

// MappedFiles is the resident memory, in bytes, of files that a process has mapped beside its
// program and shared libraries: /proc/PID/smaps. largest is the one that holds the most.
func MappedFiles(pid int) (bytes float64, largest string, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	program, err := os.Readlink(dir + "exe")
	if err != nil {
		return 0, "", fmt.Errorf("read mappings of process %d: %w", pid, err)
	}
	f, err := os.Open(dir + "smaps")
	if err != nil {
		return 0, "", fmt.Errorf("read mappings of process %d: %w", pid, err)
	}
	defer f.Close()
	bytes, largest, err = mappedFiles(io.LimitReader(f, mostSmaps), program)
	if err != nil {
		return 0, "", fmt.Errorf("read mappings of process %d: %w", pid, err)
	}
	return bytes, largest, nil
}

// mappedFiles reads smaps. Pages of a private mapping that were written to are anonymous,
// and so no longer the file's. See Documentation/filesystems/proc.rst.
func mappedFiles(smaps io.Reader, program string) (bytes float64, largest string, err error) {
	of, name := map[string]float64{}, ""
	lines := bufio.NewScanner(smaps)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok || strings.Contains(key, " ") { // ADDRESS-ADDRESS PERMISSIONS OFFSET DEVICE INODE NAME
			name = fileOf(lines.Text(), program)
			continue
		}
		sign := map[string]float64{"Rss": 1, "Anonymous": -1}[key]
		if name == "" || sign == 0 {
			continue
		}
		kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 64)
		if err != nil {
			return 0, "", err
		}
		of[name] += sign * kb * 1024
	}
	for name, b := range of {
		bytes += b
		if most := of[largest]; b > most || b == most && b > 0 && name < largest {
			largest = name
		}
	}
	return bytes, largest, lines.Err()
}

// fileOf is the file of a mapping, or "" if it is none, the program, a library or shared memory.
func fileOf(header, program string) string {
	_, name, ok := strings.Cut(header, " /")
	name = "/" + strings.TrimSuffix(name, " (deleted)")
	switch {
	case !ok, name == strings.TrimSuffix(program, " (deleted)"),
		strings.HasSuffix(name, ".so"), strings.Contains(name, ".so."),
		strings.HasPrefix(name, "/memfd:"), strings.HasPrefix(name, "/dev/"), strings.HasPrefix(name, "/SYSV"):
		return ""
	}
	return name
}
