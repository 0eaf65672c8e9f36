package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A procFile is a file of /proc/PID that stays open and is read again and again: it is of this
// process even if another gets its number, and opening it each time, as package procfs does,
// is half of a reading's cost. An ended process is an error.
type procFile struct {
	fd   int
	text [1024]byte // more than it has: 52 numbers and a name of 64 bytes at most
}

func openProc(pid int, name string) (*procFile, error) {
	path := fmt.Sprintf("/proc/%d/%s", pid, name)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &procFile{fd: fd}, nil
}

func (f *procFile) close() {
	if f != nil {
		unix.Close(f.fd)
	}
}

// read returns the file's content now, valid until the next call.
func (f *procFile) read() ([]byte, error) {
	for {
		n, err := unix.Pread(f.fd, f.text[:], 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, os.NewSyscallError("read", err)
		default:
			return f.text[:n], nil
		}
	}
}

type procStat struct {
	state          byte
	minflt, majflt uint64
	utime, stime   uint64 // ticks, of which there are userTicks a second
	threads        uint64
	vsz            uint64 // bytes
	rss            uint64 // pages
}

// userTicks is USER_HZ of Linux, the same on all machines that Go runs on.
const userTicks = 100

func (s *procStat) resident() float64 { return float64(s.rss) * float64(os.Getpagesize()) }

func (s *procStat) cpu() float64 { return float64(s.utime+s.stime) / userTicks }

// stat reads /proc/PID/stat; a process that has ended is an error.
func (f *procFile) stat() (st procStat, err error) {
	text, err := f.read()
	if err != nil {
		return st, err
	}
	if st, err = parseStat(text); err == nil && (st.state == 'Z' || st.state == 'X') {
		err = ErrGone
	}
	return st, err
}

// parseStat reads proc_pid_stat(5), whose fields count from 1. The second is a name in
// parentheses that may hold anything.
func parseStat(line []byte) (st procStat, err error) {
	numbers := [...]*uint64{10: &st.minflt, 12: &st.majflt, 14: &st.utime, 15: &st.stime, 20: &st.threads, 23: &st.vsz, 24: &st.rss}
	field := 2
	rest := line[bytes.LastIndexByte(line, ')')+1:]
	for word := range bytes.FieldsSeq(rest) {
		field++
		if field == 3 {
			st.state = word[0]
		}
		if field == len(numbers) {
			return st, nil
		}
		if numbers[field] == nil {
			continue
		}
		if *numbers[field], err = strconv.ParseUint(string(word), 10, 64); err != nil {
			return st, fmt.Errorf("parse field %d of stat: %w", field, err)
		}
	}
	return st, fmt.Errorf("parse stat: it has %d fields", field)
}

func parseResident(line []byte) (pages uint64, err error) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	word, _, ok := bytes.Cut(rest, []byte(" "))
	if pages, err = strconv.ParseUint(string(word), 10, 64); err != nil || !ok {
		return 0, fmt.Errorf("parse statm: %q", line)
	}
	return pages, nil
}

// ErrGone says that the process has ended, though its parent may keep its directory in /proc.
var ErrGone = errors.New("the process has ended")
