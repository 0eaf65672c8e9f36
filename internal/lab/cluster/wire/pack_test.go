//go:build linux

package wire

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// A program that came with a load runs, whatever else is started at that moment.
func TestProgramRuns(t *testing.T) {
	done := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					exec.Command("/bin/true").Run()
				}
			}
		})
	}
	defer others.Wait()
	defer close(done)
	dir := t.TempDir()
	for i := range 200 {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := writeProgram(path, []byte("#!/bin/sh\nexit 0\n")); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatalf("program %d: %v", i, err)
		}
	}
}
