// Package protocols has services that do not speak HTTP/1.1 or HTTP/2, each with a load written in Go.
package protocols

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var program string // dyno

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "dyno-protocols-*")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "dyno")
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		build := exec.Command("go", "build", "-o", program, "./cmd/dyno")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build dyno: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// A result is what the tests read of a line of results.jsonl.
type result struct {
	Setting string
	Err     string `json:"error"`
	Values  map[string]float64
	Latency struct{ Count int64 }
	Sent    struct {
		Engine   string
		Requests int64
	}
}

// dyno runs dyno in a directory and returns its results, and where they are.
func dyno(t *testing.T, dir string, args ...string) ([]result, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(program, append([]string{args[0], "--out", out}, args[1:]...)...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dyno %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	text, err := os.ReadFile(filepath.Join(out, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var r result
		if err := d.Decode(&r); err == io.EOF {
			return results, out
		} else if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
}

// check checks what every load has: requests of these steps and marks, and none that failed.
func check(t *testing.T, r *result, names ...string) {
	t.Helper()
	if r.Err != "" || r.Values["failures"] != 0 || r.Sent.Engine != "program" {
		t.Errorf("%s: error %q, %v of the requests failed, engine %q", r.Setting, r.Err, r.Values["failures"], r.Sent.Engine)
	}
	if r.Sent.Requests == 0 || r.Latency.Count != r.Sent.Requests || r.Values["p50-sec"] <= 0 {
		t.Errorf("%s: %d requests, a histogram of %d with p50 %v", r.Setting, r.Sent.Requests, r.Latency.Count, r.Values["p50-sec"])
	}
	var found []string
	for name := range r.Values {
		if step, ok := strings.CutSuffix(name, "-p50-sec"); ok && step != "service" {
			found = append(found, step)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, names) {
		t.Errorf("%s: steps and marks %q, want %q", r.Setting, found, names)
	}
}

// TestExamples runs the plan of each example, for less time than it says.
func TestExamples(t *testing.T) {
	for _, example := range []struct {
		dir   string
		names []string // of steps and marks, if there is more than one
	}{
		{"grpc", nil}, {"websocket", nil}, {"queue", []string{"consumed", "stored"}}, {"sql", []string{"add", "read"}}, {"http3", nil},
	} {
		t.Run(example.dir, func(t *testing.T) {
			t.Parallel()
			results, out := dyno(t, example.dir, "run", "-f", "dyno.yaml", "--repeat", "1", "-d", "1s", "-w", "0s")
			if len(results) != 2 {
				t.Fatalf("%d results of two settings", len(results))
			}
			for i := range results {
				check(t, &results[i], example.names...)
			}
			for _, name := range []string{"run.json", "summary.json", "bench.txt", "report.html",
				"trials/0001/latency.hlog", "trials/0001/requests.parquet", "trials/0002/latency.hlog", "trials/0002/requests.parquet"} {
				if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
					t.Errorf("%s: nothing in it (%v)", name, err)
				}
			}
		})
	}
}

// TestLoad loads a service that runs already: a stream of messages for each request, by the program here and by
// the one that dyno builds for load.grpc.
func TestLoad(t *testing.T) {
	t.Parallel()
	service := filepath.Join(t.TempDir(), "service.exe")
	if out, err := exec.Command("go", "build", "-o", service, "./grpc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(service, "-addr", addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	results, _ := dyno(t, "grpc", "load", "http://"+addr, "-n", "100", "-c", "2",
		"--load-program", "./loadtest", "--load-arg=-stream", "--load-arg=-length", "--load-arg=20")
	if len(results) != 1 || results[0].Sent.Requests != 100 {
		t.Fatalf("results: %+v", results)
	}
	check(t, &results[0], "each", "first sum")
	for method, marks := range map[string][]string{"chain.Hashes/Last": nil, "chain.Hashes/Each": {"chain.Hashes/Each", "first message"}} {
		results, _ := dyno(t, "grpc", "load", "http://"+addr, "-n", "100", "-c", "2", "--grpc-method", method, "--grpc-data", `{"length": 20}`)
		if len(results) != 1 || results[0].Sent.Requests != 100 {
			t.Fatalf("%s: %+v", method, results)
		}
		check(t, &results[0], marks...)
		if sent := results[0].Values["messages/s"]; (sent > 0) != (marks != nil) {
			t.Errorf("%s: %v messages/s", method, sent)
		}
	}
}

// TestRecipe finds the program of doc/recipes.md here, where it is compiled and run.
func TestRecipe(t *testing.T) {
	recipes, err := os.ReadFile("../../doc/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(recipes), "## Any protocol")
	_, program, _ = strings.Cut(program, "```go\n")
	program, _, found := strings.Cut(program, "```\n")
	source, err := os.ReadFile("sql/loadtest/main.go")
	if err != nil || !found || !strings.HasSuffix(string(source), program) {
		t.Errorf("the program of doc/recipes.md is not the end of sql/loadtest/main.go (%v):\n%s", err, program)
	}
}
