package imprint

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// build makes a program in a folder of its own, and returns its imprint.
func build(t *testing.T, dir, text string, flags ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.22\n", "main.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append([]string{"build", "-o", "x", "-buildvcs=false"}, flags...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sum, err := Of(filepath.Join(dir, "x"), dir)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// A program has one imprint in two folders; another program, or other flags, have another.
func TestOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("executables are no ELF files here")
	}
	temp := t.TempDir()
	const text = "package main\n\nfunc main() { println(len(\"abc\")) }\n"
	first := build(t, filepath.Join(temp, "a"), text)
	if again := build(t, filepath.Join(temp, "b"), text); again != first {
		t.Error("the same program in two folders has two imprints")
	}
	if other := build(t, filepath.Join(temp, "c"), "package main\n\nfunc main() { println(len(\"abcd\")) }\n"); other == first {
		t.Error("another program has the same imprint")
	}
	if race := build(t, filepath.Join(temp, "d"), text, "-gcflags=-N -l"); race == first {
		t.Error("a program that was compiled otherwise has the same imprint")
	}
	plain := filepath.Join(temp, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if sum, err := Of(plain, temp); err != nil || len(sum) != 16 {
		t.Errorf("%q, %v", sum, err)
	}
	if _, err := Of(filepath.Join(temp, "none"), temp); err == nil {
		t.Error("no error")
	}
}
