//go:build machine

package protocols

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMachineStall knows the truth: of requests at a constant rate, a quarter wait for the end of a stall,
// and their waiting times are spread evenly over 0 to 500 ms.
func TestMachineStall(t *testing.T) {
	for _, dir := range []string{"grpc", "queue"} {
		t.Run(dir, func(t *testing.T) {
			got := map[string][]float64{}
			results, _ := dyno(t, dir, "run", "-f", "stall.yaml", "--repeat", "3")
			for _, r := range results {
				if r.Sent.Requests != 10000 || r.Values["failures"] != 0 {
					t.Fatalf("results: %+v", results)
				}
				for name := range stalled {
					got[name] = append(got[name], r.Values[name])
				}
			}
			for name, want := range stalled {
				slices.Sort(got[name])
				t.Logf("%s %.4f, want %.3f", name, got[name], want)
				if len(results) != 3 || math.Abs(got[name][1]/want-1) > 0.02 {
					t.Errorf("the median %s is %.4f, want %.3f within 2 %%", name, got[name][1], want)
				}
			}
		})
	}
}

// stalled are percentiles at the end of stall.yaml.
var stalled = map[string]float64{"p90-sec": 0.300, "p99-sec": 0.480}

// TestMachineSlowdown compares two revisions of the gRPC service: the second hashes a tenth more.
func TestMachineSlowdown(t *testing.T) {
	repo := twoRevisions(t)
	_, out := dyno(t, filepath.Join(repo, "grpc"), "run", ".", "--vary", "rev=HEAD~1,HEAD", "--load-program", "./loadtest", "--load-arg=-length", "--load-arg=10000",
		"-c", "4", "-d", "4s", "--repeat", "10", "--profile", "cpu", "--profile-repeat", "15", "--", "-addr", "{{.Addr}}")
	type place struct{ Func string }
	var summary struct {
		Settings []struct {
			Versus map[string]struct {
				Verdict       string
				Ratio, Lo, Hi float64
			}
			Why       []struct{ Causes []struct{ Places []place } }
			Functions []place
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err == nil {
		err = json.Unmarshal(text, &summary)
	}
	if err != nil || len(summary.Settings) != 2 {
		t.Fatalf("%d settings, %v", len(summary.Settings), err)
	}
	changed := summary.Settings[1]
	cpu := changed.Versus["cpu-sec/req"]
	t.Logf("CPU time per request: %.3f [%.3f, %.3f], %s", cpu.Ratio, cpu.Lo, cpu.Hi, cpu.Verdict)
	places := changed.Functions
	for _, w := range changed.Why {
		for _, c := range w.Causes {
			places = append(places, c.Places...)
		}
	}
	if cpu.Verdict != "worse" || cpu.Ratio < 1.05 || cpu.Ratio > 1.12 || !slices.Contains(places, place{"main.extend"}) {
		report, _ := exec.Command(program, "report", out).CombinedOutput()
		profile, _ := exec.Command(program, "profile", out).CombinedOutput()
		t.Errorf("want CPU time per request worse by 10 %%, and main.extend named, but these are: %v\n%s\n%s", places, report, profile)
	}
}

// twoRevisions is a repository with this module in two revisions. In the second one, function extend
// makes a tenth more sums than asked.
func twoRevisions(t *testing.T) string {
	repo := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(repo, "grpc"), os.DirFS("grpc")); err != nil {
		t.Fatal(err)
	}
	write := func(file string, text []byte) {
		if err := os.WriteFile(filepath.Join(repo, file), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	replaced := func(file, old, by string) []byte {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(text, []byte(old)) != 1 {
			t.Fatalf("%s: %q is there %d times, want once", file, old, bytes.Count(text, []byte(old)))
		}
		return bytes.Replace(text, []byte(old), []byte(by), 1)
	}
	git := func(args ...string) {
		args = append([]string{"-c", "user.name=dyno", "-c", "user.email=dyno@localhost", "-c", "commit.gpgsign=false"}, args...)
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	write("go.mod", replaced("go.mod", "=> ../..", fmt.Sprintf("=> %q", root)))
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", sums)
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	write("grpc/main.go", replaced("grpc/main.go", "for range n {", "for range n + n/10 {"))
	git("commit", "-qam", "two")
	return repo
}
