//go:build machine && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// flushGo works for 2 ms of each 100 ms without any request if FLUSH=1. A request takes some 0.3 ms.
const flushGo = `package main

import (
	"crypto/sha256"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

var sink atomic.Uint32

func main() {
	if os.Getenv("FLUSH") == "1" {
		go func() {
			for {
				for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
				}
				time.Sleep(98 * time.Millisecond)
			}
		}()
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var sum [32]byte
		for range 2000 {
			sum = sha256.Sum256(sum[:])
		}
		sink.Store(uint32(sum[0]))
		w.Write([]byte("ok\n"))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`

// A setting that works while it rests makes a run go on alone, with the reason; others stay side by side.
func TestLongBackground(t *testing.T) {
	src := t.TempDir()
	for name, text := range map[string]string{"main.go": flushGo, "go.mod": "module example.com/svc\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reason := regexp.MustCompile(`settings run one after the other: FLUSH=1 uses ([\d.]+) % of a CPU without any request`)
	for vary, alone := range map[string]bool{"FLUSH=0,1": true, "FLUSH=0,none": false} {
		t.Run(vary, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			cmd := exec.Command("dyno", "run", src, "--vary", vary, "-r", "300/s", "-d", "2s", "--repeat", "2", "--out", out)
			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			figure := reason.FindSubmatch(said)
			switch {
			case alone && figure == nil:
				t.Errorf("what works in its rests is not said to run alone:\n%s", said)
			case alone:
				// 2 % is meant. A busy machine gives a loop of wall time less, but never more.
				if percent, err := strconv.ParseFloat(string(figure[1]), 64); err != nil || percent > 3 {
					t.Errorf("FLUSH=1 is said to use %s %% of a CPU, want about 2", figure[1])
				}
			case strings.Contains(string(said), "one after the other"):
				t.Errorf("a service without background work does not stay side by side:\n%s", said)
			}
			text, err := os.ReadFile(filepath.Join(out, "results.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			last := map[int]dyno.Result{} // of each trial the last counts
			for line := range strings.Lines(string(text)) {
				var r dyno.Result
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				last[r.Trial.N] = r
			}
			for n, r := range last {
				if r.Err != "" || (r.Turns == 0) != alone {
					t.Errorf("trial %d: error %q, %d turns", n, r.Err, r.Turns)
				}
			}
			if len(last) != 4 {
				t.Errorf("%d trials have a result, want 4", len(last))
			}
		})
	}
}
