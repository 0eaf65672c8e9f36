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
	pid, held, err = holder(filepath.Join(path, resultsFile), fs.FileMode.IsRegular)
	if err != nil {
		err = fmt.Errorf("find the writer of %s: %w", path, err)
	}
	return pid, held, err
}

// Claimed reports whether a dyno has claimed the directory of a campaign.
func Claimed(dir string) bool {
	_, held, err := holder(dir, fs.FileMode.IsDir)
	return err == nil && held
}

// holder is the process that has locked what is at path, which has to be of a kind.
func holder(path string, kind func(fs.FileMode) bool) (pid int, held bool, err error) {
	// A process that writes to the target of a link is not a dyno, and must not be stopped.
	what, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	file, ok := what.Sys().(*syscall.Stat_t)
	if !kind(what.Mode()) || !ok {
		return 0, false, fmt.Errorf("%s is not a file", filepath.Base(path))
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false, err
	}
	defer locks.Close()
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		l, ok := parseLock(lines.Text())
		if !ok || l.inode != file.Ino {
			continue
		}
		if l.pid > 0 && opened(l.pid, what) {
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
