//go:build machine

package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}

// greedy keeps 1 MiB of every request's and, should nobody stop it, ends itself
// at 1.5 GiB.
const greedy = `package main

import (
	"net/http"
	"os"
)

var kept [][]byte

func main() {
	serving := make(chan bool, 1)
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {
		serving <- true
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		if kept = append(kept, b); len(kept) > 1536 {
			os.Exit(7)
		}
		<-serving
	})
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
`

// TestMachineGuard lets a subject allocate without end on a machine that claims
// to have 700 MiB left of 4 GiB, and runs a trial that is not to be stopped after it.
func TestMachineGuard(t *testing.T) {
	dir := t.TempDir()
	src, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "greedy")
	if err := os.WriteFile(src, []byte(greedy), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, release, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	trials := 0
	l.Dir = func(int) (string, error) {
		trials++
		return t.TempDir(), nil
	}
	now := l.Memory
	begin, _, err := now()
	if err != nil {
		t.Fatal(err)
	}
	l.Memory = func() (float64, float64, error) {
		left, _, err := now()
		return left - begin + 700<<20, 4 << 30, err
	}
	run := func(requests int) *dyno.Result {
		e := &dyno.Experiment{
			Subject: dyno.Subject{Binary: binary, Env: map[string]string{"GOGC": "off"}}, Repeats: 1,
			Load: dyno.Load{Requests: requests, Concurrency: 1},
		}
		if err := Check(e); err != nil {
			t.Fatal(err)
		}
		return l.Trial(t.Context(), e.Trials()[0])
	}
	r := run(100_000)
	t.Log(r.Err)
	if !strings.Contains(r.Err, "stopped the subject before it exhausted the machine's memory") {
		t.Errorf("error %q", r.Err)
	}
	if r := run(20); r.Err != "" {
		t.Errorf("after it: %s", r.Err)
	}
}
