package web

import (
	"os"
	"path/filepath"
	"testing"
)

// What is no summary fails, without a panic or an end that does not come.
func FuzzSummary(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x")
	made{failed: "no"}.run(f, path, false)
	data, err := os.ReadFile(filepath.Join(path, "summary.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, text := range []string{
		``, `{`, `{}`, `[]`, `{"settings":[{"setting":"a","values":{"x":{"center":1}}}],"metrics":[{"name":"x","primary":true}]}`,
		`{"a":"\\"}`, `{"a":"\\\""}`, `{"about":["\ud800"]}`, `{"failed":[[[[`, `{"x":]}`, `{"x":1,}`, `{"trials":1e99}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "summary.json"), data, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := readSummary(dir, "p50-sec")
		if err == nil && len(data) < 2 || err != nil && s != nil {
			t.Errorf("%v, %v", s, err)
		}
	})
}
