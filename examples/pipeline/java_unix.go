//go:build unix

package main

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

//go:embed Workers.java
var workers []byte

// becomeJava replaces this process by a Java virtual machine that does the
// same, so that whoever watches the process watches Java. The class is compiled
// once and kept in the user's cache directory: compiling it at each launch would
// count as Java's time and memory.
func becomeJava(o options) error {
	java, err := exec.LookPath("java")
	if err != nil {
		return fmt.Errorf("-kind java: %w (consider: install a JDK, 17 or newer)", err)
	}
	dir, err := compileJava()
	if err != nil {
		return fmt.Errorf("-kind java: %w", err)
	}
	n := o.pool
	if o.mode == "sleepers" {
		n = o.n
	}
	// Without nodelay its server answers some 40 ms late: head and body are two
	// writes, and the second waits for the first to be acknowledged.
	args := []string{java, "-Dsun.net.httpserver.nodelay=true", "-cp", dir, "Workers", o.addr, o.mode, strconv.Itoa(n)}
	if err := syscall.Exec(java, args, os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", java, err)
	}
	panic("unreachable")
}

// compileJava returns the directory that has the class.
func compileJava() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, "dyno-pipeline")
	dir := filepath.Join(base, fmt.Sprintf("%.8x", sha256.Sum256(workers)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(base, "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	src := filepath.Join(tmp, "Workers.java")
	if err := os.WriteFile(src, workers, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("javac", "-d", tmp, src).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile Workers.java: %w\n%s", err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // nobody else was faster
			return "", err
		}
	}
	return dir, nil
}
