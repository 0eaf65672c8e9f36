package receipts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/receipt"
)

// changed rewrites the results of a run at GOGC=50, of which there are three.
func changed(t *testing.T, path string, change func(n int, result map[string]any)) {
	t.Helper()
	file := filepath.Join(path, "results.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	n := 0
	for line := range strings.Lines(string(text)) {
		var result map[string]any
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatal(err)
		}
		if result["setting"] == "GOGC=50" {
			change(n, result)
			n++
		}
		changed, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(changed)+"\n")
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Launches that die or fail their requests count against what was promised, whatever the others measured. What failed for another
// reason tells nothing.
func TestFailed(t *testing.T) {
	died := func(result map[string]any) { result["error"], result["died"] = "the service was killed", true }
	for name, c := range map[string]struct {
		change func(n int, result map[string]any)
		word   receipt.Word
		reason receipt.Reason
	}{
		"all died": {func(_ int, result map[string]any) { died(result) }, receipt.Missed, receipt.LaunchFailed},
		"one died": {func(n int, result map[string]any) {
			if n == 1 {
				died(result)
			}
		}, receipt.Missed, receipt.LaunchFailed},
		"requests failed": {func(_ int, result map[string]any) { result["values"].(map[string]any)["failures"] = 290 }, receipt.Missed, receipt.RequestsFailed},
		"one failed":      {func(_ int, result map[string]any) { result["values"].(map[string]any)["failures"] = 1 }, receipt.Held, ""},
		"never ready":     {func(_ int, result map[string]any) { result["error"] = "not ready" }, receipt.Untold, receipt.LaunchFailed},
		"void": {func(n int, result map[string]any) {
			if n == 1 {
				result["error"], result["void"] = "an agent was lost", true
			}
		}, receipt.Held, ""},
	} {
		path := copied(t, "2bb5b5f/vary")
		r := promised(t, path, 50)
		if _, err := receipts.Keep(path, r); err != nil {
			t.Fatal(err)
		}
		changed(t, path, c.change)
		after, err := receipts.Run(open(t, path), predict.Options{})
		if err != nil {
			t.Fatal(err)
		}
		outcomes := r.Against(after).Outcomes
		if len(outcomes) != 5 {
			t.Errorf("%s: %d outcomes", name, len(outcomes))
		}
		for _, o := range outcomes {
			if o.Word != c.word || o.Reason != c.reason {
				t.Errorf("%s: %s is %s %q, want %s %q", name, o.Metric, o.Word, o.Reason, c.word, c.reason)
			}
		}
	}
}
