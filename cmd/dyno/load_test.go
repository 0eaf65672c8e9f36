package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A load that could not begin has no report, which would say that it found nothing.
func TestLoadNotOpened(t *testing.T) {
	t.Setenv("DYNO_TOKEN", "")
	plan := filepath.Join(t.TempDir(), "dyno.yaml")
	if err := os.WriteFile(plan, []byte("on: {agents: [\"127.0.0.1:1\"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	status := run(t.Context(), []string{"load", "http://127.0.0.1:1/", "-f", plan, "-n", "10", "--json"}, &stdout, &stderr)
	if status != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), "no token for agents") {
		t.Errorf("status %d\n%s\n%s", status, &stderr, &stdout)
	}
}
