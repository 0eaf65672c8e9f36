package web

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/store"
)

// Of several processes that have the results open, the one that holds the lock gets
// the interrupt, once.
func TestStop(t *testing.T) {
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Fatal(err)
	}
	dir := growing(t)
	dir.Close()
	results := filepath.Join(dir.Path, "results.jsonl")
	start := func(name string, args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(name, args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	const script = `trap '[ -e "$0.go" ] && echo again >>"$0.interrupts" && exit 7; echo again >>"$0.interrupts"' INT; echo ready; while :; do sleep 0.05; done`
	reader := start("sh", "-c", `exec 5<"$0"; echo ready; exec sleep 60`, results)
	writer := start(flock, "--no-fork", results, "sh", "-c", script, results)
	s := &Site{Root: filepath.Dir(dir.Path)}
	for range 3 {
		if w := post(s.stop, dir); w.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(results + ".interrupts"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it got no interrupt")
		}
	}
	os.WriteFile(results+".go", nil, 0o666)
	writer.Process.Signal(syscall.SIGINT) // one more, at which it ends
	if err := writer.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("the writer: %v", err)
	}
	if text, _ := os.ReadFile(results + ".interrupts"); strings.Count(string(text), "again") != 2 {
		t.Errorf("interrupts, the last not from the site: %q", text)
	}
	if err := reader.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("who only reads was ended: %v", err)
	}
	if _, held, err := store.Holder(dir.Path); held || err != nil {
		t.Errorf("still held: %v", err)
	}
	if w := post(s.stop, dir); w.Code != http.StatusConflict {
		t.Errorf("of a run that nobody measures: %d %s", w.Code, w.Body)
	}
}
