package goruntime

import (
	"math"
	"os"
	"os/exec"
	"testing"
)

// The kernel's two accounts of one process agree, and the program's file is part of
// what is resident.
func TestResident(t *testing.T) {
	l, err := OpenInspector(os.Getpid(), "")
	if err != nil {
		t.Fatal(err)
	}
	exact, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	brief, err := l.Brief()
	if err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(exact.RSS - brief.RSS); off > 4<<20 || exact.RSS < 1<<20 {
		t.Errorf("%.0f bytes of pages, %.0f as the kernel counts", exact.RSS, brief.RSS)
	}
	if exact.File <= 0 || exact.File >= exact.RSS || brief.File <= 0 {
		t.Errorf("%.0f bytes of files in %.0f, as the kernel counts %.0f", exact.File, exact.RSS, brief.File)
	}
}

func TestResidentOfTheDead(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	l, err := OpenInspector(cmd.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := l.Snapshot(); err == nil {
		t.Errorf("%+v of a process that has ended", s)
	}
}
