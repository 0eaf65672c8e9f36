//go:build unix

package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// put writes a file of a run, in place of what is there.
func put(t *testing.T, path string, data []byte) {
	t.Helper()
	os.Remove(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// bomb is n bytes of the same, of which gzip makes a thousandth.
func bomb(t *testing.T, text []byte, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range n / len(text) {
		z.Write(text)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unfit are ways to make a run directory that would keep its reader for ever, or
// take all memory.
var unfit = map[string]func(t *testing.T, path string){
	"a pipe for requests":    func(t *testing.T, p string) { pipe(t, p, "trials/0001/requests.parquet") },
	"a pipe for latencies":   func(t *testing.T, p string) { pipe(t, p, "trials/0001/latency.hlog") },
	"a pipe for a profile":   func(t *testing.T, p string) { pipe(t, p, "trials/0001/cpu.pb.gz") },
	"a pipe for the results": func(t *testing.T, p string) { pipe(t, p, "results.jsonl") },
	"zeros without end":      func(t *testing.T, p string) { link(t, p, "trials/0001/series.parquet", "/dev/zero") },
	"a trial elsewhere":      func(t *testing.T, p string) { link(t, p, "trials/0001", "/") },
	"all trials elsewhere":   func(t *testing.T, p string) { link(t, p, "trials", "/") },
	"results with a hole":    func(t *testing.T, p string) { hole(t, p, "results.jsonl") },
	"a plan with a hole":     func(t *testing.T, p string) { hole(t, p, "run.json") },
	"a summary with a hole":  func(t *testing.T, p string) { hole(t, p, "summary.json") },
	"a series with a hole":   func(t *testing.T, p string) { hole(t, p, "trials/0001/series.csv") },
	"a log with a hole":      func(t *testing.T, p string) { hole(t, p, "trials/0001/latency.hlog") },
	"many short results": func(t *testing.T, p string) {
		put(t, filepath.Join(p, "results.jsonl"), bytes.Repeat([]byte(`{"trial":1,"latency":{}}`+"\n"), 10_001))
	},
	"many repeats": func(t *testing.T, p string) { plan(t, p, `"repeat": 6`, `"repeat": 1000000000`) },
	"many blocks, as many as it takes": func(t *testing.T, p string) {
		plan(t, p, `"repeat": 6`, `"vary": {"A": ["1"`+strings.Repeat(`,"1"`, 2499)+`]}`)
	},
	"many settings": func(t *testing.T, p string) {
		levels := `["1"` + strings.Repeat(`,"1"`, 99) + "]"
		plan(t, p, `"repeat": 6`, fmt.Sprintf(`"repeat": 6, "vary": {"A": %[1]s, "B": %[1]s, "C": %[1]s}`, levels))
	},
	"a profile of zeros": func(t *testing.T, p string) {
		put(t, filepath.Join(p, "trials/0001/cpu.pb.gz"), bomb(t, make([]byte, 1<<20), 80<<20))
	},
	"a profile of nothing": func(t *testing.T, p string) {
		put(t, filepath.Join(p, "trials/0001/cpu.pb.gz"), bomb(t, []byte("\x12\x00"), 4_000_010))
	},
	"a profile of before the window": func(t *testing.T, p string) {
		put(t, filepath.Join(p, "trials/0001/heap-before.pb.gz"), bomb(t, make([]byte, 1<<20), 80<<20))
	},
	"a footer of gigabytes": func(t *testing.T, p string) {
		put(t, filepath.Join(p, "trials/0001/requests.parquet"), []byte("PAR1\xff\xff\xff\x7fPAR1"))
	},
	"a parquet file cut off": func(t *testing.T, p string) { put(t, filepath.Join(p, "trials/0001/requests.parquet"), []byte("PAR1")) },
}

func pipe(t *testing.T, path, name string) {
	name = filepath.Join(path, name)
	put(t, name, nil)
	os.Remove(name)
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, path, name, to string) {
	name = filepath.Join(path, name)
	os.RemoveAll(name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// hole makes a file longer, which takes no room.
func hole(t *testing.T, path, name string) {
	name = filepath.Join(path, name)
	if _, err := os.Stat(name); err != nil {
		put(t, name, nil)
	}
	if err := os.Truncate(name, 10<<30); err != nil {
		t.Fatal(err)
	}
}

func plan(t *testing.T, path, from, to string) {
	name := filepath.Join(path, "run.json")
	data, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(data, []byte(from)) {
		t.Fatalf("%v, no %s in %s", err, from, data)
	}
	put(t, name, bytes.Replace(data, []byte(from), []byte(to), 1))
}

// A run that would keep its reader for ever, or take all memory, is not read, and
// the others are shown as ever.
func TestUnfit(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "good"), false)
	s := site(t, root)
	s.read.profile = func(*store.Dir, string, string) (profiles.Sum, error) { return profiles.Sum{}, io.EOF }
	for name, spoil := range unfit {
		bad := filepath.Join(root, "bad")
		os.RemoveAll(bad)
		made{}.run(t, bad, false)
		spoil(t, bad)
		for _, target := range []string{"/runs/bad/", "/runs/bad/detail", "/runs/bad/live", "/runs/bad/pprof/" + s.pass() + "/cpu/GOGC=100/top"} {
			large := strings.HasPrefix(name, "a profile") // which only these two read:
			reads := !large || target == "/runs/bad/" || strings.Contains(target, "pprof")
			if w := get(t, s, target); reads && w.Code != 500 {
				t.Errorf("%s: %s: status %d", name, target, w.Code)
			}
		}
		want(t, get(t, s, "/"), 200, "good", "bad")
		want(t, get(t, s, "/runs/good/"), 200)
		want(t, get(t, s, "/runs/bad/files/"), 200)
	}
}

// What dyno makes is fit, also while it is being made.
func TestFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	made{trials: 3, silent: true}.run(t, path, true)
	put(t, filepath.Join(path, "trials/0004/series.csv"), []byte("metric,at_sec,value\n"))
	var b bytes.Buffer
	if err := recorded(t, "search-cpu-go1.22.12").Write(&b); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(path, "trials/0004/cpu.pb.gz"), b.Bytes())
	link(t, path, "trials/0004/etc", "/etc") // which nobody reads
	if err := safe.Fit(path); err != nil {
		t.Error(err)
	}
	if err := safe.FitProfiles(path); err != nil {
		t.Error(err)
	}
}

// A log that begins with a hole, or never has a line, does not fill the memory.
func TestWindowStartHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "latency.hlog")
	put(t, path, nil)
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Fatal(err)
	}
	if got := windowStart(path); got != 0 {
		t.Error(got)
	}
	var b bytes.Buffer
	log, err := hist.NewLog(&b, time.Unix(12, 0))
	if err != nil {
		t.Fatal(err)
	}
	for at := 500 * time.Millisecond; at < 3*time.Second; at += time.Second {
		if err := log.Add(hist.New(), at, at+time.Second); err != nil {
			t.Fatal(err)
		}
	}
	put(t, path, b.Bytes())
	if got := windowStart(path); got != 12.5 {
		t.Error(got)
	}
}
