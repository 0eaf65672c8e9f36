//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const heyModule = "github.com/rakyll/hey@v0.1.4"

// seconds are those of a generator in a round.
const seconds = 2

func (b *bench) findTools(ctx context.Context) (err error) {
	if b.wrk, err = exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is not installed (consider: apt-get install wrk)")
	}
	if _, err := b.output(ctx, "go", "install", heyModule); err != nil {
		return fmt.Errorf("install hey: %w", err)
	}
	b.hey = filepath.Join(b.temp, "hey")
	return nil
}

// output runs a command; what go installs goes to the temporary directory.
func (b *bench) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "GOBIN="+b.temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, program.LastLine(stderr.String()))
	}
	return string(out), nil
}

// alternate launches the service itself, built without dyno, and lets dyno load, wrk and hey load
// it by turns.
func (b *bench) alternate(ctx context.Context, r *row) error {
	if err := b.install(ctx, r.service); err != nil {
		return err
	}
	url, stop, err := b.launch(ctx, r.service)
	if err != nil {
		return err
	}
	defer stop()
	script, err := r.wrkScript(b.temp)
	if err != nil {
		return err
	}
	for i := range b.rounds + 1 {
		var now round
		if now.dyno, err = b.byDyno(ctx, r.service, url); err != nil {
			return err
		}
		if now.wrk, err = b.byWrk(ctx, r.service, url, script); err != nil {
			return err
		}
		if now.hey, err = b.byHey(ctx, r.service, url); err != nil {
			return err
		}
		if i > 0 { // the first warms the service up
			r.rounds = append(r.rounds, now)
		}
	}
	return nil
}

// install builds the service in a module that requires it: go install refuses modules with replacements.
func (b *bench) install(ctx context.Context, s service) error {
	dir, err := os.MkdirTemp(b.temp, "module-")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-C", dir, "mod", "init", "example.invalid/scratch"},
		{"-C", dir, "get", s.module()},
		{"-C", dir, "build", "-mod=mod", "-o", filepath.Join(b.temp, executable(s.pkg)), s.pkg},
	} {
		if _, err := b.output(ctx, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) launch(ctx context.Context, s service) (url string, stop func(), err error) {
	dir, err := os.MkdirTemp(b.temp, "service-")
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	for name, text := range s.files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(place(text, port, dir)), 0o666)); err != nil {
			return "", nil, err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.temp, executable(s.pkg)))
	for _, a := range s.args {
		cmd.Args = append(cmd.Args, place(a, port, dir))
	}
	cmd.Env = append(os.Environ(), s.factor+"="+s.levels[0])
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+place(value, port, dir))
	}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() }
	url = "http://127.0.0.1:" + port
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(url + cmp.Or(s.ready, s.path)); err == nil {
			resp.Body.Close()
			if resp.StatusCode < 300 {
				return url + s.path, stop, nil
			}
		}
	}
	stop()
	return "", nil, fmt.Errorf("launch %s: it was not ready", s.name)
}

// executable is what go install names a package's program: the last part of its path that is no version.
func executable(pkg string) string {
	parts := strings.Split(pkg, "/")
	last := parts[len(parts)-1]
	if _, err := strconv.Atoi(strings.TrimPrefix(last, "v")); err == nil && last[0] == 'v' {
		last = parts[len(parts)-2]
	}
	return last
}

func (b *bench) byDyno(ctx context.Context, s service, url string) (figure, error) {
	args := []string{"load", url, "-c", strconv.Itoa(s.clients), "-d", strconv.Itoa(seconds) + "s", "--json"}
	if s.body != "" {
		args = append(args, "-X", s.method, "--body", s.body, "-H", "Content-Type: application/json")
	}
	out, err := b.output(ctx, b.dyno, args...)
	if err != nil {
		return figure{}, err
	}
	var sum struct {
		Settings []struct {
			Values map[string]struct{ Center *float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &sum); err != nil || len(sum.Settings) != 1 {
		return figure{}, fmt.Errorf("read dyno's JSON: %w", err)
	}
	values := sum.Settings[0].Values
	p50, rate := values["p50-sec"].Center, values["req/s"].Center
	if p50 == nil || rate == nil {
		return figure{}, errors.New("read dyno's JSON: no p50-sec or req/s")
	}
	return figure{*p50, *rate}, nil
}

// wrkScript writes the request for wrk; "" if it is a GET.
func (s service) wrkScript(dir string) (string, error) {
	if s.body == "" {
		return "", nil
	}
	path := filepath.Join(dir, s.name+".lua")
	text := fmt.Sprintf("wrk.method = %q\nwrk.body = %q\nwrk.headers[\"Content-Type\"] = \"application/json\"\n", s.method, s.body)
	return path, os.WriteFile(path, []byte(text), 0o666)
}

func (b *bench) byWrk(ctx context.Context, s service, url, script string) (figure, error) {
	args := []string{"-t2", "-c", strconv.Itoa(s.clients), "-d", strconv.Itoa(seconds) + "s", "--latency"}
	if script != "" {
		args = append(args, "-s", script)
	}
	out, err := b.output(ctx, b.wrk, append(args, url)...)
	if err != nil {
		return figure{}, err
	}
	return parseWrk(out)
}

func (b *bench) byHey(ctx context.Context, s service, url string) (figure, error) {
	args := []string{"-c", strconv.Itoa(s.clients), "-z", strconv.Itoa(seconds) + "s"}
	if s.body != "" {
		args = append(args, "-m", s.method, "-d", s.body, "-T", "application/json")
	}
	out, err := b.output(ctx, b.hey, append(args, url)...)
	if err != nil {
		return figure{}, err
	}
	return parseHey(out)
}
