//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// benchmarks are the 30 that are compared: all of encoding/json but those that
// take seconds to set up.
const benchmarks = `^Benchmark(Code.*|MarshalMap|Unicode.*|DecoderStream|Unmarshal.*|Issue.*|Unmapped|Encode.*|NumberIsValid.*)$|^BenchmarkMarshalBytes.*$/.|^BenchmarkTypeFieldsCache$/^(Miss|Hit)Types100$`

// spin is the planted slowdown: each turn takes about as long everywhere, and no
// compiler removes it.
const spin = `package json

var spun uint64 = 88172645463325252

//go:noinline
func spin(n int) {
	x := spun
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	spun = x
}
`

const spinTest = `package json

import "testing"

func BenchmarkSpin(b *testing.B) {
	for b.Loop() {
		spin(1000)
	}
}
`

// module makes a module of encoding/json and its benchmarks as they are in GOROOT,
// in a git repository whose revision "base" that is.
func module(dir string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	files, err := filepath.Glob(filepath.Join(src, "encoding/json/*.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Base(f)
		if strings.HasPrefix(name, "v2_") || strings.HasPrefix(name, "example_") || name == "fuzz_test.go" {
			continue
		}
		if err := copyFile(f, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	zstd, err := filepath.Glob(filepath.Join(src, "internal/zstd/*.go"))
	if err != nil {
		return err
	}
	for _, f := range zstd {
		if name := filepath.Base(f); !strings.HasSuffix(name, "_test.go") {
			if err := copyFile(f, filepath.Join(dir, "zstd", name)); err != nil {
				return err
			}
		}
	}
	const data = "internal/jsontest/testdata/golang_source.json.zst"
	if err := copyFile(filepath.Join(src, "encoding/json", data), filepath.Join(dir, data)); err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": "module example.org/json\n\ngo 1.26\n", "spin.go": spin, "spin_test.go": spinTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if err := git(dir, "init", "-q"); err != nil {
		return err
	}
	return commit(dir, "base")
}

// slow adds the revision "slow-NAME", in which that benchmark turns spin n times in
// each iteration.
func slow(dir, benchmark string, n int) error {
	if err := plant(filepath.Join(dir, "bench_test.go"), benchmark, n); err != nil {
		return err
	}
	if err := commit(dir, "slow-"+benchmark); err != nil {
		return err
	}
	return git(dir, "checkout", "-q", "base")
}

// copyFile copies a source file; what is internal to the standard library is
// replaced.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	for _, r := range [][2]string{
		{`"internal/zstd"`, `"example.org/json/zstd"`},
		{`"internal/testenv"`, ``},
		{`testenv.Builder() != ""`, `true`},
	} {
		text = bytes.ReplaceAll(text, []byte(r[0]), []byte(r[1]))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666)
}

// plant adds a call of spin to the loop of a benchmark, a plain one over b.N or
// one of RunParallel.
func plant(file, benchmark string, n int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), "func Benchmark"+benchmark+"(")
	if !ok {
		return fmt.Errorf("no Benchmark%s in %s", benchmark, file)
	}
	for _, loop := range []string{"for pb.Next() {\n", "for i := 0; i < b.N; i++ {\n"} {
		before, after, ok := strings.Cut(rest, loop)
		if ok && !strings.Contains(before, "\n}\n") {
			rest = before + loop + fmt.Sprintf("spin(%d)\n", n) + after
			return os.WriteFile(file, []byte(head+"func Benchmark"+benchmark+"("+rest), 0o666)
		}
	}
	return errors.New("no loop in Benchmark" + benchmark)
}

func commit(dir, tag string) error {
	for _, args := range [][]string{
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", tag},
		{"tag", tag},
	} {
		if err := git(dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func git(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
