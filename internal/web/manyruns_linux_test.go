package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A list of 200 runs reads of each what a row needs, once. How long that takes eval/page
// measures.
func TestManyRuns(t *testing.T) {
	root := many(t, 200)
	var most int64
	for _, name := range []string{"run.json", "summary.json"} {
		info, err := os.Stat(filepath.Join(root, "sessions-000", name))
		if err != nil {
			t.Fatal(err)
		}
		most += info.Size()
	}
	most += 16 << 10 // the first result of each setting
	s := site(t, root)
	before := bytesRead(t)
	w := get(t, s, "/")
	cold := bytesRead(t) - before
	want(t, w, 200, "200 shown", "sessions-199", "done")
	if cold > 200*most {
		t.Errorf("the list read %d bytes of each run, want at most %d", cold/200, most)
	}
	before = bytesRead(t)
	want(t, get(t, s, "/"), 200, "200 shown")
	if warm := bytesRead(t) - before; warm > 200*100 {
		t.Errorf("the second list read %d bytes of each run again", warm/200)
	}
}

// bytesRead is how many bytes this process has read of files.
func bytesRead(t *testing.T) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
