package slow

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// recorded are the traces of four versions of Go that package exectrace has. In each, 103 requests; ten pairs lock,
// sleep 2 ms and unlock.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../exectrace/testdata/*.trace.gz")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	traces := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if traces[filepath.Base(file)], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return traces
}

func TestRead(t *testing.T) {
	for name, data := range recorded(t) {
		tr, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := tr.served()
		if len(all) != 103 {
			t.Errorf("%s: %d requests, want 103", name, len(all))
		}
		locked, asleep, wrong := 0.0, 0.0, 0.0
		bodies := 0 // waits for the rest of a request's body
		for _, s := range all {
			y := tally{cost{}, map[Site]int{}, map[Site]float64{}}
			tr.spend(&y, s.goroutine, s.woken, s.done)
			c := y.cost
			if got, want := c.all(), float64(s.done-s.woken)/1e6; got < want*0.999 || got > want*1.001 {
				t.Errorf("%s: a request of %v ms has parts of %v ms", name, want, got)
			}
			for k, ns := range c {
				if k.Part == exectrace.Network && strings.HasPrefix(k.Site.Func, "main.main.") && k.Site.Via == "net.(*netFD).Read" {
					bodies++
				}
				if k.Part != exectrace.Locking || !strings.HasPrefix(k.Site.Func, "main.main.") {
					continue
				}
				locked += ns / 1e6
				if k.By.Part == exectrace.Sleeping && strings.HasPrefix(k.By.Site.Func, "main.main.") {
					asleep += ns / 1e6
				} else if k.By.Part.Waits() {
					wrong += ns / 1e6
				}
			}
		}
		if bodies == 0 {
			t.Errorf("%s: no request waits for its body in net.(*netFD).Read", name)
		}
		if locked < 15 || asleep < locked*0.8 || wrong > locked*0.05 {
			t.Errorf("%s: %.1f ms waiting for the lock, %.1f of it behind the sleep, %.1f behind another wait", name, locked, asleep, wrong)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range recorded(f) {
		f.Add(data[:min(len(data), 64<<10)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, s := range tr.served() {
			tr.spend(&tally{cost{}, map[Site]int{}, map[Site]float64{}}, s.goroutine, s.woken, s.done)
		}
	})
}
