//go:build unix

package safe_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/internal/safe"
)

// place makes a file of a kind that would keep its reader for ever, or take all memory or an hour.
func place(t *testing.T, path, kind string) {
	t.Helper()
	var err error
	switch kind {
	case "pipe":
		err = unix.Mkfifo(path, 0o600)
	case "hole":
		if err = os.WriteFile(path, nil, 0o600); err == nil {
			err = os.Truncate(path, 10<<30)
		}
	case "link":
		err = os.Symlink("/dev/zero", path)
	case "folder":
		err = os.Mkdir(path, 0o700)
	case "lines":
		err = os.WriteFile(path, bytes.Repeat([]byte("{}\n"), 10_001), 0o600)
	case "bomb": // 100 MiB of a profile
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		for range 100 {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBudgets(t *testing.T) {
	for _, x := range []struct{ name, kind, want string }{
		{"run.json", "pipe", "not a file of dyno's"}, {"run.json", "hole", "more than dyno reads"}, {"run.json", "link", "not a file of dyno's"},
		{"results.jsonl", "pipe", "not a file of dyno's"}, {"results.jsonl", "hole", "more than dyno reads"}, {"results.jsonl", "lines", "more than 10000 lines"},
		{"trials/0001/gc.csv", "hole", "more than dyno reads"}, {"trials/0001/gc.csv", "link", "not a file of dyno's"}, {"trials/0001/latency.hlog", "pipe", "not a file of dyno's"},
		{"trials/0001/series.parquet", "hole", "cut off"}, {"trials/0001/trace.out", "pipe", "not a file of dyno's"}, {"baseline.txt", "hole", "more than dyno reads"},
	} {
		path := filepath.Join(t.TempDir(), filepath.Base(x.name))
		place(t, path, x.kind)
		f, err := safe.Of(x.name).Open(path)
		if err == nil {
			f.Close()
		}
		if !strings.Contains(fmt.Sprint(err), x.want) {
			t.Errorf("%s, a %s: %v, want %s", x.name, x.kind, err, x.want)
		}
	}
	for kind, want := range map[string]string{"bomb": "too large a profile", "pipe": "not a file of dyno's", "hole": "too large a profile"} {
		path := filepath.Join(t.TempDir(), "cpu.pb.gz")
		place(t, path, kind)
		if _, err := new(safe.Profiles).ReadFile(path); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("a profile, a %s: %v, want %s", kind, err, want)
		}
	}
}

// What a user names may be a link or what a shell makes of <(command), but nothing without an end.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for kind, want := range map[string]string{"pipe": "without a writer", "hole": "more than dyno reads", "link": "not a file", "folder": "is a directory", "none": "no such file"} {
		path := filepath.Join(dir, kind)
		place(t, path, kind)
		if _, err := safe.Data.ReadFile(path); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("a %s: %v, want %s", kind, err, want)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("name: x\n"); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "stdin")
	if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", r.Fd()), link); err != nil {
		t.Fatal(err)
	}
	go w.Close() // as a command does when it is done
	if text, err := safe.Plan.ReadFile(link); string(text) != "name: x\n" || err != nil {
		t.Errorf("from a command: %q, %v", text, err)
	}
}
