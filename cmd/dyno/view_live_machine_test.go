//go:build machine && linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/store"
)

// A real run is seen to begin, stopped, seen to end, and gone on with; and when the
// server is killed, the run that it went on with is interrupted, not lost.
func TestMachineViewLive(t *testing.T) {
	t.Parallel() // it mostly waits
	s := startSession(t, "-d", "2s", "--repeat", "3")
	root := filepath.Dir(s.out)
	view := exec.Command("dyno", "view", root)
	view.Env = append(os.Environ(), s.mark, "GOFLAGS=")
	out, err := view.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { view.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base, secret, _ := strings.Cut(strings.TrimSpace(line), "?")
	client := browser(t)
	fetch(t, client, base+"?"+secret)
	run := base + "runs/run/"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(s.out, "run.json"))
		if _, held, _ := store.Holder(s.out); held && err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run does not begin: %s", &s.stderr)
		}
	}

	seen := followRun(t, client, run, "result")
	if seen["latency"] == 0 || seen["progress"] == 0 {
		t.Errorf("until the first result: %v", seen)
	}
	if got := postRun(t, client, run, "resume"); !strings.Contains(got, "under way already") {
		t.Errorf("resume of a run under way: %s", got)
	}
	if got := postRun(t, client, run, "stop"); got != "" {
		t.Errorf("stop: %s", got)
	}
	if seen := followRun(t, client, run, "end"); seen["end stopped"] != 1 {
		t.Errorf("after stop: %v", seen)
	}
	if s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("dyno run ended with %v: %s", s.cmd.ProcessState, &s.stderr)
	}

	if got := postRun(t, client, run, "resume"); got != "" {
		t.Fatalf("resume: %s", got)
	}
	s.await(3)
	view.Process.Signal(syscall.SIGKILL)
	view.Wait()
	log := func() string { text, _ := os.ReadFile(filepath.Join(s.out, "resume.log")); return string(text) }
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log(), "dyno: interrupted"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the run outlives its server: %s", log())
		}
	}
	s.run(root, "run", "--resume", s.out)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("go on with what was interrupted: %v: %s", err, &s.stderr)
	}
}

// followRun follows a run until an event of that name, and counts those before; of
// end also by its state.
func followRun(t *testing.T, client *http.Client, run, until string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	res, err := client.Get(run + "live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stuck := time.AfterFunc(time.Minute, func() { res.Body.Close() })
	defer stuck.Stop()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	for name := ""; lines.Scan(); {
		if after, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = after
			seen[name]++
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct{ State string }
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "end" {
			seen["end "+e.State]++
		}
		if name == until {
			return seen
		}
	}
	t.Fatalf("no %s: %v, %v", until, seen, lines.Err())
	return nil
}

var pageToken = regexp.MustCompile(`<meta name="?token"? content="([^"]+)"`)

// postRun asks for something as a page of the run does; it returns what was refused,
// or "".
func postRun(t *testing.T, client *http.Client, run, action string) string {
	t.Helper()
	res, err := client.Get(run)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(res.Body)
	res.Body.Close()
	token := pageToken.FindSubmatch(page)
	if err != nil || token == nil {
		t.Fatalf("the page has no token: %v, %s", err, page)
	}
	req, err := http.NewRequest(http.MethodPost, run+action, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Dyno-Token", string(token[1]))
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if res, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSeeOther {
		return ""
	}
	text, _ := io.ReadAll(res.Body)
	return res.Status + " " + string(text)
}
