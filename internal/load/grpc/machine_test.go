//go:build machine

package grpc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
)

// The program has tests of its own, which need the modules of grpc-go: from a proxy, or from the module cache.
func TestMachineProgram(t *testing.T) {
	dir := written(t, &dyno.Load{GRPC: &dyno.GRPC{Method: "grpc.testing.TestService/UnaryCall"}})
	text, err := os.ReadFile("_program/program_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program_test.go"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mod", "verify"}, {"mod", "tidy", "-diff"}, {"vet", "./..."}, {"test", "-count=1", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}
