//go:build linux

package subject

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// second starts two instances of a service of testdata/single and returns the second's error.
func second(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	s := dyno.Subject{Package: "testdata/single/" + name, Args: append([]string{"-addr", "{{.Addr}}"}, args...)}
	b := mustBuild(t, must(t, shared), s)
	one, err := Start(t.Context(), b, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Stop(0)
	two, err := Start(t.Context(), b, s, Options{Patience: 2 * time.Second})
	if err == nil {
		two.Stop(0)
	}
	if one.Err() != nil {
		t.Errorf("the first ended: %v", one.Err())
	}
	return WhyNotBeside(err), err
}

func TestSecondInstance(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fixed := l.Addr().String()
	l.Close()
	data := filepath.Join(t.TempDir(), "data")
	const begin = "the second instance did not start beside the first: "
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"port", []string{"-fixed", fixed}, begin + "listen tcp " + fixed + ": bind: address already in use (consider: port 0 for it, or no port)"},
		{"port", []string{"-fixed", fixed, "-wait"}, begin + "listen tcp " + fixed + ": bind: address already in use (consider: port 0 for it, or no port)"},
		{"port", []string{"-fixed", "127.0.0.1:0"}, ""},
		{"dir", []string{"-data", data}, begin + "open database: lock " + data + "/LOCK: resource temporarily unavailable (consider: {{.Dir}} as its data directory)"},
		{"dir", []string{"-data", "{{.Dir}}"}, ""},
	} {
		got, err := second(t, c.name, c.args...)
		if got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s %q: %q, want %q; error %v", c.name, c.args, got, c.want, err)
		}
	}
	// It hangs without a word.
	got, err := second(t, "dir", "-data", data, "-wait")
	wantError(t, err, "although the one beside it was ready much sooner")
	if !strings.HasPrefix(got, begin+"subject is not ready after ") || !strings.HasSuffix(got, "connection refused (consider: {{.Addr}} or {{.Dir}} for shared resources)") {
		t.Error(got)
	}
}

func TestWhyNotBeside(t *testing.T) {
	ended := func(lines string) *failure {
		return &failure{why: "subject ended: exit status 1", lines: lines, addr: "127.0.0.1:40001"}
	}
	both := ended("\tfatal: database is locked")
	both.told = told{port: true, dir: true}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{context.Canceled, ""},
		{&dyno.PlanError{Msg: "argument"}, ""},
		{errors.New("start subject: /x: no such file or directory"), ""},
		{&failure{why: "killed", limit: true}, ""},
		{&failure{why: "the subject was killed (consider: fewer other processes)"}, "the subject was killed (consider: fewer other processes)"},
		{ended("\tlisten tcp 127.0.0.1:40001: bind: address already in use"), ""},
		{errors.Join(ended("\tstarting\n\t2026/11/22 10:00:00 listen tcp :8080: bind: address already in use\n\tbye"), os.ErrClosed),
			"listen tcp :8080: bind: address already in use (consider: pass {{.Addr}} to the subject's arguments)"},
		{ended("\t" + `{"level":"fatal","error":"listen tcp :4000: bind: address already in use"}`),
			"listen tcp :4000: bind: address already in use (consider: pass {{.Addr}} to the subject's arguments)"},
		{ended("\tError: listen EADDRINUSE: address in use :::8080"), "Error: listen EADDRINUSE: address in use :::8080 (consider: pass {{.Addr}} to the subject's arguments)"},
		{ended("\t2026-11-22T10:00:00.5Z Cannot acquire directory lock on \"/var/db\".  Another process is using this Badger database."),
			"Cannot acquire directory lock on \"/var/db\".  Another process is using this Badger database. (consider: {{.Dir}} as its data directory)"},
		{both, "fatal: database is locked (consider: {{.Dir}} for the locked file, too)"},
		{&failure{why: "subject ended: exit status 1", out: "\tmsg=\"listen tcp :8080: bind: address already in use\"", lines: "\tflag -x is old", addr: "127.0.0.1:40001"},
			"listen tcp :8080: bind: address already in use (consider: pass {{.Addr}} to the subject's arguments)"},
		{ended("\tone\n\tall is lost"), "subject ended: exit status 1: all is lost (consider: {{.Addr}} or {{.Dir}} for shared resources)"},
		{ended("\tno block of memory is left in the clock"), "subject ended: exit status 1: no block of memory is left in the clock (consider: {{.Addr}} or {{.Dir}} for shared resources)"},
		{ended(""), "subject ended: exit status 1 (consider: {{.Addr}} or {{.Dir}} for shared resources)"},
		{ended("\t" + strings.Repeat("ä", 500)), "subject ended: exit status 1: " + strings.Repeat("ä", 200) + "… (consider: {{.Addr}} or {{.Dir}} for shared resources)"},
	} {
		want := c.want
		if want != "" {
			want = "the second instance did not start beside the first: " + want
		}
		if got := WhyNotBeside(c.err); got != want {
			t.Errorf("%v:\n%s, want\n%s", c.err, got, want)
		}
	}
}

// Who is killed at its own memory limit would be alone, too.
func TestOwnLimit(t *testing.T) {
	for limit, want := range map[int64]string{64 << 20: "", 0: "the machine, or a control group above the subject's, had no more"} {
		p := &Process{Tree: &guard.Tree{Done: make(chan struct{})}, stdout: lastlines.New(nil), stderr: lastlines.New(nil)}
		p.Alone, p.Status, p.Memory = true, statusKilled, cgroup.MemoryEnd{Kills: 1, Limit: limit, Reached: limit > 0}
		close(p.Done)
		err := p.Err()
		wantError(t, err, "the kernel killed the subject for lack of memory")
		if strings.Contains(err.Error(), "wrote nothing") {
			t.Error(err)
		}
		if got := WhyNotBeside(err); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

// Two instances of one executable do not meet: each has its probe, its directory, its control group.
func TestInstancesApart(t *testing.T) {
	s := dyno.Subject{Package: "testdata/service", Args: []string{"-addr", "{{.Addr}}"}, Env: map[string]string{"DATA": "{{.Dir}}"}}
	b := mustBuild(t, must(t, shared), s)
	const n = 4
	all := make([]*Process, n)
	errs := make([]error, n)
	done := make(chan bool)
	for i := range n {
		go func() {
			all[i], errs[i] = Start(t.Context(), b, s, Options{Trace: true})
			done <- true
		}()
	}
	for range n {
		<-done
	}
	if err := errors.Join(errs...); err != nil {
		for _, p := range all {
			if p != nil {
				p.Stop(0)
			}
		}
		t.Fatal(err)
	}
	for i, p := range all {
		defer p.Stop(0)
		if p.Socket == "" || len(p.Warnings) > 0 {
			t.Errorf("no probe: %q", p.Warnings)
		}
		for _, q := range all[:i] {
			if p.Socket == q.Socket || p.Addr == q.Addr || variable(p.env, "DATA") == variable(q.env, "DATA") {
				t.Errorf("two have the same: %s %s %s", p.Socket, p.Addr, variable(p.env, "DATA"))
			}
		}
	}
	all[0].Stop(time.Minute)
	if err := all[1].Pause(); err != nil {
		t.Error(err)
	}
	for _, p := range all[2:] {
		if err := hello(p.Socket); err != nil {
			t.Errorf("when others ended or are paused: %v", err)
		}
		get(t, p, "/healthz")
	}
	if err := all[1].Continue(); err != nil {
		t.Error(err)
	}
	if err := hello(all[1].Socket); err != nil {
		t.Errorf("after a pause: %v", err)
	}
}
