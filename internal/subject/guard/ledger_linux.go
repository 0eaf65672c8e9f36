package guard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/internal/cgroup"
)

// A ledger is a file of a supervisor in the folder for temporary files. It lists what has to be removed in
// the end. The supervisor holds a lock on it (flock), which ends with the process, however that ends. So a
// ledger that can be locked is one of a supervisor that was killed, and the process with the lock may do what
// is left undone. The zero value writes nothing; it is for places without a ledger.
type ledger struct{ file *os.File }

const ledgerSuffix = ".guard"

// ledgerVariable has the name of the ledger, in the environment of a program and all that it starts.
const ledgerVariable = "DYNO_GUARD"

// An entry is what is to be removed together: a path with all that is in it, after others that
// belong to it, a control group, or what a command removes.
type entry struct {
	Path  string   `json:",omitempty"`
	With  []string `json:",omitempty"`
	Is    string   `json:",omitempty"` // identity of a path that was there: it may be another's by now
	Group string   `json:",omitempty"`
	Last  []string `json:",omitempty"` // Job.Last
}

func ledgerPath() string {
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return ""
	}
	return TempName(temp) + ledgerSuffix
}

// openLedger makes a ledger. Who collects may take the lock before this process does, and then
// removes the file.
func openLedger(path string) ledger {
	for path != "" {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			break
		}
		if err := flock(f, unix.LOCK_EX); err != nil { // a file system without locks
			os.Remove(path)
			f.Close()
			break
		}
		if isAt(f, path) {
			return ledger{f}
		}
		f.Close()
	}
	return ledger{}
}

// note must come before what it notes is made; of a path that is there already, once it is this
// process's alone.
func (l ledger) note(e entry) {
	if l.file == nil {
		return
	}
	e.Is = identity(e.Path)
	if line, err := json.Marshal(e); err == nil {
		l.file.Write(append(line, '\n')) // on a full disk nothing is collected
	}
}

func (l ledger) close() {
	if l.file != nil {
		os.Remove(l.file.Name())
		l.file.Close()
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

func isAt(f *os.File, path string) bool {
	open, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(open, there)
}

// identity tells a directory from a later one of the same path, whose inode may have the same
// number; "" if nothing is there.
func identity(path string) string {
	var s unix.Statx_t
	if path == "" || unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d %d %d.%09d", s.Dev_major, s.Dev_minor, s.Ino, s.Btime.Sec, s.Btime.Nsec)
}

// Collect removes what supervisors of this user that were killed have left: their directories,
// control groups, and processes that have their mark. It finds those with this folder for temporary
// files. Several may collect at the same time.
func Collect() {
	if path := ledgerPath(); path != "" {
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "dyno-*"+ledgerSuffix))
		for _, file := range files {
			collect(file)
		}
	}
}

// collect does what a ledger says, if no process holds it.
func collect(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	// In a folder of all users there may be what others made, or linked.
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() || stat.Nlink != 1 {
		return
	}
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil || !isAt(f, path) {
		return
	}
	killMarked(filepath.Base(path))
	var entries []entry
	for lines := bufio.NewScanner(io.LimitReader(f, 1<<20)); lines.Scan(); {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil { // the last was cut off
			break
		}
		if entries = append(entries, e); e.Group != "" { // who is in it may write to the rest
			e.remove()
		}
	}
	for _, e := range entries {
		e.remove()
	}
	os.Remove(path)
}

func (e *entry) remove() {
	if e.Is != "" && e.Is != identity(e.Path) {
		return
	}
	say := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "dyno:", err)
		}
	}
	if e.Group != "" {
		say(cgroup.Remove(e.Group))
	}
	runLast(e.Last)
	for _, path := range append(e.With, e.Path) {
		if path != "" {
			say(remove(path))
		}
	}
}

// marked returns the environment of a program with the mark of its ledger.
func marked(env []string, path string) []string {
	var all []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, ledgerVariable+"=") { // of a dyno that runs this one
			all = append(all, kv)
		}
	}
	return append(all, ledgerVariable+"="+filepath.Base(path))
}

// killMarked kills the processes that have the mark of a ledger, until there are none: each may have
// forked meanwhile.
func killMarked(name string) {
	for late := time.Now().Add(2 * time.Second); killMarkedOnce(name) && time.Now().Before(late); {
		time.Sleep(2 * time.Millisecond)
	}
}

func killMarkedOnce(name string) (found bool) {
	for _, pid := range Descendants(0) {
		p, err := os.FindProcess(pid) // by a file descriptor: the number may be another's before the kill
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // of a zombie it is empty
		if strings.Contains("\x00"+string(text)+"\x00", "\x00"+ledgerVariable+"="+name+"\x00") {
			found = p.Kill() == nil || found
		}
		p.Release()
	}
	return found
}
