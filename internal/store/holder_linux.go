package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Holder reports whether a dyno is writing to the run directory at path, and which
// process that is; 0 if the system does not tell, as for another user's. The process
// has the results open now, so pid is not a reused number. Holder takes no lock: it
// does not disturb a dyno that starts meanwhile.
func Holder(path string) (pid int, held bool, err error) {
	fail := func(err error) (int, bool, error) {
		return 0, false, fmt.Errorf("find the writer of %s: %w", path, err)
	}
	// A process that writes to the target of a link is not a dyno, and must not be stopped.
	results, err := os.Lstat(filepath.Join(path, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return fail(err)
	}
	file, ok := results.Sys().(*syscall.Stat_t)
	if !results.Mode().IsRegular() || !ok {
		return fail(fmt.Errorf("%s is not a file", resultsFile))
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return fail(err)
	}
	defer locks.Close()
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		l, ok := parseLock(lines.Text())
		if !ok || l.inode != file.Ino {
			continue
		}
		if l.pid > 0 && opened(l.pid, results) {
			return l.pid, true, nil
		}
		// The device of the lock is not always that of the file (btrfs), so that it
		// tells only where the process cannot be asked.
		if l.major == unix.Major(file.Dev) && l.minor == unix.Minor(file.Dev) {
			held = true
		}
	}
	return 0, held, nil
}

// A heldLock is a lock of flock for writing.
type heldLock struct {
	pid          int // 0 or less if it is of another container
	major, minor uint32
	inode        uint64
}

// parseLock reads a line of /proc/locks:
//
//	3: FLOCK  ADVISORY  WRITE 1234 fe:00:393417 0 EOF
//
// A line with -> after its number is of a process that waits.
func parseLock(line string) (l heldLock, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
		return l, false
	}
	var err error
	if l.pid, err = strconv.Atoi(f[4]); err != nil {
		return l, false
	}
	_, err = fmt.Sscanf(f[5], "%x:%x:%d", &l.major, &l.minor, &l.inode)
	return l, err == nil
}

// opened reports whether a process has a file open.
func opened(pid int, file fs.FileInfo) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if info, err := os.Stat(filepath.Join(dir, fd.Name())); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}
