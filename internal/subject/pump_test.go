//go:build linux

package subject

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// BenchmarkStderr measures what a program that collects garbage without pause
// (GOGC=0) notices of its GC trace being read: collections per second with
// stderr read by a pump, written to a file, and with no trace at all, as shares
// of those with stderr on /dev/null; and how much longer a collection takes when
// it is traced and read. They take turns, and the medians are compared:
//
//	go test -run '^$' -bench Stderr -benchtime 20x ./subject
func BenchmarkStderr(b *testing.B) {
	built := mustBuild(b, must(b, shared), dyno.Subject{Package: "testdata/churn", NoInject: true})
	file := filepath.Join(b.TempDir(), "stderr")
	vars := map[string]string{"GOGC": "0"}
	writes := 0
	churn := func(redirect string, trace bool) float64 {
		debug := ""
		if trace {
			debug = "gctrace=1"
		}
		env := environ(vars, "/", "", debug)
		var out []byte
		path, args := built.Path, []string{built.Path, "100000"}
		if redirect != "" {
			path, args = "/bin/sh", []string{"sh", "-c", `exec "$0" "$1" 2>"$2"`, built.Path, "100000", redirect}
		}
		status, err := guard.Run(b.Context(), guard.Job{Path: path, Args: args, Env: env, Dir: "/"}, guard.IO{
			Stdout: writerFunc(func(p []byte) { out = append(out, p...) }),
			Stderr: lastlines.New(writerFunc(func([]byte) { writes++ })),
		})
		if err != nil {
			b.Fatal(err)
		}
		var cycles, seconds float64
		if _, err := fmt.Sscan(string(out), &cycles, &seconds); err != nil {
			b.Fatalf("%v: %s", err, status)
		}
		return cycles / seconds
	}
	var rates [4][]float64
	for range b.N {
		for i, redirect := range []string{os.DevNull, file, "", os.DevNull} {
			rates[i] = append(rates[i], churn(redirect, i < 3))
		}
	}
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	null := median(rates[0])
	b.ReportMetric(null, "cycles/s")
	b.ReportMetric(median(rates[1])/null, "file/null")
	b.ReportMetric(median(rates[2])/null, "read/null")
	none := median(rates[3])
	b.ReportMetric(none/null, "untraced/null")
	b.ReportMetric((1/median(rates[2])-1/none)*1e6, "µs/cycle")
	b.ReportMetric(float64(writes)/float64(b.N), "writes/op")
}

// BenchmarkStart is a launch of the service until it is ready, and its end.
func BenchmarkStart(b *testing.B) {
	built, s := service(b, "")
	for range b.N {
		p, err := Start(context.Background(), built, s, Options{})
		if err != nil {
			b.Fatal(err)
		}
		p.Stop(0)
	}
}
