package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writer is the main function of a process that adds lines of two months, one pair after the other, and prints the number of
// each pair once it is added. The end of its standard input ends it.
func writer(dir string) {
	l, err := Open(context.Background(), dir, "", "")
	if err != nil {
		panic(err)
	}
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		n, _ := strconv.Atoi(asked.Text())
		if err := l.Add(context.Background(), []json.RawMessage{line(n, "x"), line(n+50_000, "x")}); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

// A process adds what it is asked to.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &process{cmd, in, bufio.NewReader(out)}
}

// Two processes add at once, with nothing lost.
func TestTwoProcesses(t *testing.T) {
	const each = 50
	dir := t.TempDir()
	ps := []*process{start(t, dir), start(t, dir)}
	var lines []json.RawMessage
	for i := range ps {
		for n := range each {
			lines = append(lines, line(2*n+i, "x"), line(2*n+i+50_000, "x"))
			fmt.Fprintln(ps[i].in, 2*n+i)
		}
	}
	for _, p := range ps {
		for range each {
			if _, err := p.out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.SortFunc(lines, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	want(t, open(t, dir, ""), lines...)
}

// A process that is killed at any moment loses no line that it has added, and stops nobody else.
func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	n := 0
	var added []string
	for range 5 {
		p := start(t, dir)
		for range 3 {
			fmt.Fprintln(p.in, n)
			n++
			if text, err := p.out.ReadString('\n'); err != nil {
				t.Fatal(err)
			} else if i, _ := strconv.Atoi(strings.TrimSpace(text)); i != n-1 {
				t.Fatalf("%q", text)
			}
			added = append(added, string(line(n-1, "x")), string(line(n-1+50_000, "x")))
		}
		for range 1000 { // it is at work when it is killed
			fmt.Fprintln(p.in, n)
			n++
		}
		p.out.ReadString('\n')
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
	l := open(t, dir, "")
	add(t, l, line(100_000, "after")) // no lock is left
	got := texts(t, l)
	for _, a := range added {
		if !slices.Contains(got, a) {
			t.Errorf("%s is lost", a)
		}
	}
	add(t, l, line(0, "x"), line(50_000, "x"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{lockName, "2026-01.jsonl", "2026-02.jsonl", "2026-03.jsonl", ".2026-01.jsonl.new", ".2026-02.jsonl.new"}, e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// Directories are merged by copying, whatever the names.
func TestCopied(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	add(t, open(t, a, ""), line(1, "one"), line(2, "two"))
	add(t, open(t, b, ""), line(2, "two"), line(3, "three"))
	text, err := os.ReadFile(filepath.Join(b, "2026-01.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(a, "of-laptop.jsonl"), string(text))
	write(t, filepath.Join(a, "README.md"), "no line")
	write(t, filepath.Join(a, ".2026-01.jsonl.new"), "what a crash has left")
	if err := os.Chmod(filepath.Join(a, "2026-01.jsonl"), 0o664); err != nil {
		t.Fatal(err)
	}
	l := open(t, a, "")
	add(t, l, line(0, "zero"))
	want(t, l, line(0, "zero"), line(1, "one"), line(2, "two"), line(3, "three"))
	if info, err := os.Stat(filepath.Join(a, "2026-01.jsonl")); err != nil || info.Mode() != 0o664 {
		t.Errorf("the team may no longer write: %v, %v", info.Mode(), err)
	}
}

// What would hang or take all memory is an error.
func TestStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "2026-01.jsonl")
	l := open(t, dir, "")
	for name, make := range map[string]func() error{
		"a link": func() error { return os.Symlink("/dev/zero", path) },
		"a hole": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Read(t.Context()); err == nil {
			t.Errorf("%s was read", name)
		}
		if err := l.Add(t.Context(), []json.RawMessage{line(1, "x")}); err == nil {
			t.Errorf("%s was replaced", name)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever waits for the lock can be told to stop.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockName))
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t, dir, "").Add(ctx, []json.RawMessage{line(1, "x")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
