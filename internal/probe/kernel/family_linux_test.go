package kernel

import (
	"bufio"
	"os/exec"
	"testing"
)

// The CPU time of a child that has ended stays in its family's; a living one's counts, too.
func TestFamily(t *testing.T) {
	work := `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`
	cmd := exec.Command("/bin/sh", "-c", `sh -c '`+work+`'; echo; sh -c '`+work+`; echo; sleep 1000' & read x; kill $!`)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	f := NewFamily(cmd.Process.Pid)
	lines := bufio.NewScanner(out)
	cpu := func() float64 {
		lines.Scan()
		all, err := f.CPU()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	ended := cpu()
	if alone, _ := CPU(cmd.Process.Pid); ended < alone+0.02 {
		t.Errorf("the family used %.3f s, its first process alone %.3f s", ended, alone)
	}
	clock, err := f.Clock()
	if later, _ := f.CPU(); err != nil || clock < ended-1./userHZ || clock > later+1./userHZ {
		t.Errorf("the clock says %.3f s, the family used %.3f s before and %.3f s after that (%v)", clock, ended, later, err)
	}
	if both := cpu(); both < ended+0.02 {
		t.Errorf("with a child that lives the family used %.3f s, before %.3f s", both, ended)
	}
	first, err := Together(cmd.Process.Pid)
	if all, err2 := f.Resident(); err != nil || err2 != nil || all <= first {
		t.Errorf("resident are %v, of the first alone %v (%v, %v)", all, first, err, err2)
	}
}
