package exectrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorded returns the traces in testdata by name.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.trace.gz")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	traces := map[string][]byte{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if traces[strings.TrimSuffix(filepath.Base(file), ".trace.gz")], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return traces
}

// The program in testdata/exectrace says what its requests wait for.
func TestReadTrace(t *testing.T) {
	for file, data := range recorded(t) {
		a, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		t.Logf("%s: %+v", file, a)
		if a.Requests != 103 || a.Collections != 3 || a.Stops < 6 {
			t.Errorf("%s: %d requests, %d collections, %d stops; want 103, 3, 6", file, a.Requests, a.Collections, a.Stops)
		}
		if a.Collecting <= 0 || a.Stopped <= 0 || a.Collecting+a.Stopped > a.Length {
			t.Errorf("%s: marking %v, stopped %v of %v", file, a.Collecting, a.Stopped, a.Length)
		}
		// 20 requests wait 2 ms each; the first of two that lock sleeps, too.
		for part, least := range map[Part]time.Duration{
			Sleeping: 80 * time.Millisecond, Channels: 40 * time.Millisecond, Network: 30 * time.Millisecond, Locking: 15 * time.Millisecond,
		} {
			if got := a.Time[part]; got < least || got > a.Length {
				t.Errorf("%s: %v %v, want %v or somewhat more", file, part, got, least)
			}
		}
		// Two goroutines cannot have spent more than the trace, and were idle
		// in much of it.
		if busy := a.Total(); busy > 2*a.Length*9/10 {
			t.Errorf("%s: requests took %v of twice %v", file, busy, a.Length)
		}
		for p, d := range a.Time {
			if d < 0 {
				t.Errorf("%s: %v took %v", file, Part(p), d)
			}
		}
	}
}

// Goroutines of functions that the user names are requests.
func TestReadTracePrefixes(t *testing.T) {
	a, err := Read(bytes.NewReader(recorded(t)["go1.26.8"]), "main.main.func8.") // two clients, three times
	if err != nil {
		t.Fatal(err)
	}
	if a.Requests != 103+6 {
		t.Errorf("%d requests", a.Requests)
	}
}

func TestReadTraceErrors(t *testing.T) {
	whole := recorded(t)["go1.26.8"]
	for _, test := range []struct{ text, want string }{
		{"", "EOF"},
		{"a page not found here", "it begins with"},
		{"go 1.21 trace\x00\x00\x00", "it was written by Go 1.21 (want Go 1.22 or later)"},
		{"go 1.99 trace\x00\x00\x00", "unsupported trace version"},
		{string(whole[:len(whole)/2]), "read execution trace"},
	} {
		if _, err := Read(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.20q: error %v, want %q", test.text, err, test.want)
		}
	}
}

func TestAttributionJSON(t *testing.T) {
	a := &Attribution{Trial: 7, Length: 2 * time.Second, Requests: 4}
	a.Time[Running], a.Time[Assisting] = 3*time.Millisecond, time.Millisecond
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"trial":7`, `"sec/req":0.001,"parts"`, `"gc-assist":{"sec/req":0.00025,"frac":0.25}`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	if data, err := json.Marshal(&Attribution{}); err != nil || !strings.Contains(string(data), `"running":{"sec/req":null,"frac":null}`) {
		t.Errorf("of nothing: %s, %v", data, err)
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, data := range recorded(f) {
		f.Add(data[:min(len(data), 64<<10)])
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if a.Requests < 0 || a.Collections < 0 {
			t.Errorf("%+v", a)
		}
	})
}
