//go:build machine

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A query that became eleven is found, and the statement is named.
func TestMachineStatements(t *testing.T) {
	dyno, dir := filepath.Join(t.TempDir(), "dyno"), filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", dyno, "./cmd/dyno").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(dyno, "run", "-f", "dyno.yaml", "--repeat", "6", "-d", "1s", "-w", "200ms", "--out", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), `"select name from products where id = $1" 0 → 10 per request`) {
		t.Errorf("the statement is not named:\n%s", out)
	}
	text, err := exec.Command(dyno, "report", dir, "--json").Output()
	var summary struct {
		Settings []struct {
			Setting string
			Values  map[string]struct{ Center float64 }
		}
	}
	if err != nil || json.Unmarshal(text, &summary) != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, want := range []float64{1, 11} {
		if got := summary.Settings[i].Values["db-statements/req"].Center; got != want {
			t.Errorf("%s: %v statements per request, want %v", summary.Settings[i].Setting, got, want)
		}
	}
}
