package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/web"
	"github.com/dynolab/dyno/internal/web/child"
)

// A run is gone on with by a dyno of its own, which is interrupted, not killed,
// when it is stopped or its server ends.
func TestResumeChild(t *testing.T) {
	s := startSession(t, "--repeat", "50") // it does not come to that
	s.await(1)
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Wait()

	for end, byContext := range []bool{false, true} {
		before, err := store.Read(s.out)
		if err != nil {
			t.Fatal(err)
		}
		victim := filepath.Join(t.TempDir(), "victim")
		os.WriteFile(victim, []byte("precious"), 0o666)
		os.Remove(filepath.Join(s.out, web.ResumeLog))
		if err := os.Symlink(victim, filepath.Join(s.out, web.ResumeLog)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		m := &child.Resumer{Context: ctx, Program: "dyno"}
		stop, done, err := m.Resume(s.out)
		if err != nil {
			t.Fatal(err)
		}
		s.await(len(before.Results()) + 1)
		select {
		case <-done:
			t.Fatal("it has ended before it was stopped")
		default:
		}
		if pid, held, err := store.Holder(s.out); !held || pid == os.Getpid() || err != nil {
			t.Errorf("nobody measures: %d, %v, %v", pid, held, err)
		}
		if byContext {
			cancel()
		} else {
			stop()
			stop()
		}
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		m.Wait()
		cancel()
		log, err := os.ReadFile(filepath.Join(s.out, web.ResumeLog))
		if err != nil || !strings.Contains(string(log), "resume with dyno run --resume "+s.out) {
			t.Errorf("%d: it was not interrupted: %v, %s", end, err, log)
		}
		if text, _ := os.ReadFile(victim); string(text) != "precious" {
			t.Error("the log was written through a link")
		}
	}
}
