//go:build linux

package subject

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestRunTool(t *testing.T) {
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	status, err := RunTool(t.Context(), []string{"sh", "-c", `echo "$DYNO_ADDR in $PWD"; echo no >&2; exit 3`},
		map[string]string{"DYNO_ADDR": "there"}, dir, &stdout, &stderr)
	if err != nil || status != "exit status 3" {
		t.Errorf("status %q, %v", status, err)
	}
	if stdout.String() != "there in "+dir+"\n" || stderr.String() != "no\n" {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	if _, err := RunTool(t.Context(), []string{"no-such-program"}, nil, dir, nil, nil); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// Neither what a tool leaves behind when it ends nor the tool itself, when its
// context ends, goes on.
func TestRunToolLeavesNothing(t *testing.T) {
	var child int
	stdout := writerFunc(func(b []byte) { child = number(t, b) })
	if status, err := RunTool(t.Context(), []string{"sh", "-c", "setsid sleep 1000 & echo $!"}, nil, "", stdout, nil); err != nil || status != "exit status 0" {
		t.Errorf("status %q, %v", status, err)
	}
	if child == 0 || !gone(child) {
		t.Errorf("the tool's child %d is left", child)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	child = 0
	stdout = func(b []byte) { child = number(t, b); cancel(over) }
	if _, err := RunTool(ctx, []string{"sh", "-c", "setsid sleep 1000 & echo $!; wait"}, nil, "", stdout, nil); err != over {
		t.Errorf("error %v, want the context's cause", err)
	}
	if child == 0 || !gone(child) {
		t.Errorf("the child %d of a tool that was ended is left", child)
	}
}

func number(t *testing.T, b []byte) int {
	n, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		t.Error(err)
	}
	return n
}

// Each message of a go command that somebody met has its cure, and the line that the command names stays.
func TestCures(t *testing.T) {
	for _, c := range []struct{ stderr, cure string }{
		{"go: error loading go.mod:\ngo.mod:5: use of removed godebug \"x509sha1\", see https://go.dev/doc/godebug#go-124", "compare versions before it"},
		{"main.go:1:1: invalid //go:debug: use of removed //go:debug setting \"x509sha1\", see https://go.dev/doc/godebug#go-124", "compare versions before it"},
		{"go: error loading go.mod:\ngo.mod:6: unknown godebug \"nonsense\"", "this Go does not know"},
		{"./main.go:1:1: invalid //go:debug: unknown //go:debug setting \"nonsense\"", "this Go does not know"},
		{"go: go.mod requires go >= 1.27 (running go 1.26.8; GOTOOLCHAIN=local)", "GOTOOLCHAIN=auto"},
		{"main.go:4:2: missing go.sum entry for module", "go mod tidy"},
	} {
		got := (&commandError{[]string{"go", "build"}, "exit status 1", c.stderr}).Error()
		first, rest, _ := strings.Cut(got, "\n")
		if !strings.Contains(first, "(consider: ") || !strings.Contains(first, c.cure) || rest != c.stderr {
			t.Errorf("%s\nhas the error\n%s\nwithout the cure %q", c.stderr, got, c.cure)
		}
	}
}
