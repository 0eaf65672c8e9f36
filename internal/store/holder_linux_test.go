package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Who has a file open that a run leads to by a link does not write to the run.
func TestHolderLink(t *testing.T) {
	other := &Dir{Path: t.TempDir()}
	if err := other.openResults(); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(other.Path, resultsFile), filepath.Join(dir, resultsFile)); err != nil {
		t.Fatal(err)
	}
	if pid, held, err := Holder(dir); pid != 0 || held || err == nil {
		t.Errorf("%d, %v, %v", pid, held, err)
	}
}

// The process that writes to a run is found by its lock, whoever else has the
// file open.
func TestHolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, resultsFile)
	if _, held, err := Holder(dir); held || err != nil {
		t.Errorf("a folder without results: %v, %v", held, err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, held, err := Holder(dir); held || err != nil {
		t.Errorf("an open file without a lock: %v, %v", held, err)
	}
	d := &Dir{Path: dir}
	if err := d.openResults(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if pid, held, err := Holder(dir); pid != os.Getpid() || !held || err != nil {
			t.Errorf("%d, %v, %v, want this process", pid, held, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, held, err := Holder(dir); held || err != nil {
		t.Errorf("after Close: %v, %v", held, err)
	}

	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(flock, "--no-fork", path, "cat")
	in, _ := other.StdinPipe()
	out, _ := other.StdoutPipe()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("x"))
	out.Read(make([]byte, 1)) // it runs now
	if pid, held, err := Holder(dir); pid != other.Process.Pid || !held || err != nil {
		t.Errorf("%d, %v, %v, want process %d", pid, held, err, other.Process.Pid)
	}
	in.Close()
	other.Wait()
}

func TestParseLock(t *testing.T) {
	for line, want := range map[string]heldLock{
		"3: FLOCK  ADVISORY  WRITE 1234 fe:01:393417 0 EOF":    {1234, 0xfe, 1, 393417},
		"3: FLOCK  ADVISORY  WRITE -1 00:2a:7 0 EOF":           {-1, 0, 0x2a, 7},
		"3: -> FLOCK  ADVISORY  WRITE 1234 fe:01:393417 0 EOF": {},
		"1: POSIX  ADVISORY  WRITE 1234 fe:01:393417 0 EOF":    {},
		"1: FLOCK  ADVISORY  READ  1234 fe:01:393417 0 EOF":    {},
		"1: FLOCK  ADVISORY  WRITE 1234 <none>:0 0 EOF":        {},
		"": {},
	} {
		l, ok := parseLock(line)
		if ok != (want != heldLock{}) || ok && l != want {
			t.Errorf("%q: %v, %v", line, l, ok)
		}
	}
}
