//go:build linux

package subject

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// Who holds the port is the service, whoever was launched; the probe in its parent says nothing of it. No process is
// left.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		mode      string
		children  int
		isMain    bool // the launched process
		also      int
		foreign   bool
		doubtless string // a part of the warning
	}{
		{"", 0, true, 0, false, ""},
		{"fork", 1, true, 0, false, ""}, // they do not answer
		{"hand over", 1, false, 0, true, "answered by process "},
		{"prefork", 2, true, 2, true, "answered by 2 processes"},
	} {
		// The port of a prefork is open before its children are there; an answer comes from one of them.
		p := mustStart(t, c.mode, func(s *dyno.Subject) { s.Ready = "/healthz" }, Options{})
		all := p.Processes()
		if len(all) <= c.children || all[0] != p.PID {
			t.Fatalf("%s: processes %v of %d", c.mode, all, p.PID)
		}
		if (p.Main == p.PID) != c.isMain || len(p.Also) != c.also || p.Foreign != c.foreign || (p.Socket == "") != c.foreign {
			t.Errorf("%s: %+v of %v, socket %q", c.mode, p.Answering, all, p.Socket)
		}
		pid, _ := strconv.Atoi(get(t, p, "/pid"))
		if pid != p.Main && !slices.Contains(p.Also, pid) {
			t.Errorf("%s: %d answers, and %+v is measured", c.mode, pid, p.Answering)
		}
		doubt := slices.ContainsFunc(p.Warnings, func(w dyno.Warning) bool {
			return w.Kind == dyno.WarnAnswers && strings.Contains(w.Text, c.doubtless)
		})
		if doubt != c.foreign || p.Moved() != "" {
			t.Errorf("%s: warnings %v, moved %q", c.mode, p.Warnings, p.Moved())
		}
		p.held = []int{1}
		if c.also > 0 && !strings.Contains(p.Moved(), "other processes answer") {
			t.Errorf("%s: others answer now: %q", c.mode, p.Moved())
		}
		p.Stop(0)
		for _, pid := range all {
			if !gone(pid) {
				t.Errorf("%s: process %d is left", c.mode, pid)
			}
		}
	}
}

// A process that is not the subject's is named.
func TestAnotherListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := mustStart(t, "", nil, Options{})
	p.Addr = l.Addr().String()
	want := fmt.Sprintf("another process listens on %s: %d (", p.Addr, os.Getpid())
	if _, err := p.holders(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}

// The environment that a script gives the service is seen; what dyno gave is nothing to be told.
func TestEnviron(t *testing.T) {
	b, s := service(t, "port")
	script := func(text string) (string, error) {
		path := filepath.Join(t.TempDir(), "run.sh")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		s := dyno.Subject{Binary: path, Env: map[string]string{"GOGC": "400", "GOMEMLIMIT": "1GiB"}, ReadyTimeout: s.ReadyTimeout}
		p, err := Start(context.Background(), &Built{Path: path}, s, Options{})
		if err != nil {
			return "", err
		}
		defer p.Stop(0)
		if p.Foreign {
			t.Errorf("%s: a script collects no garbage", text)
		}
		return p.Environ().String(), nil
	}
	service := b.Path + " -mode port"
	for text, want := range map[string]string{
		"exec " + service:                              "",
		"GOGC=75 exec " + service:                      "GOGC=75",
		"export GOGC=75\n" + service + " & wait":       "GOGC=75",
		"unset GOMEMLIMIT\n" + service + " & wait":     "GOMEMLIMIT=off",
		"export OTHER=1 GOMAXPROCS=2\nexec " + service: "GOMAXPROCS=2",
	} {
		if got, err := script(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}
