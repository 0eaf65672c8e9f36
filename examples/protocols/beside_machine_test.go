//go:build machine

package protocols

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMachineBeside asks one gRPC service that stalls with dyno, ghz and fortio, one after the other. The true p90
// is 300 ms, the true p99 480 ms. ghz and fortio count from when a request was sent. Tools that are not
// installed are left out.
func TestMachineBeside(t *testing.T) {
	dir := t.TempDir()
	service, addr := filepath.Join(dir, "service"), "127.0.0.1:39719"
	if out, err := exec.Command("go", "build", "-o", service, "./grpc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), service, "-addr", addr, "-stall")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			break
		} else if time.Since(began) > 10*time.Second {
			t.Fatal(err)
		}
	}
	const method = "chain.Hashes/Last"
	for _, way := range [][]string{
		{"--load-program", "./grpc/loadtest", "--load-arg=-length", "--load-arg=1"},
		{"--grpc-method", method, "--grpc-data", `{"length": 1}`},
	} {
		results, _ := dyno(t, ".", append([]string{"load", "http://" + addr, "-r", "500/s", "-d", "20s", "-c", "400"}, way...)...)
		v := results[0].Values
		t.Logf("dyno %-15s p90 %6.1f ms, p99 %6.1f ms", way[0], 1e3*v["p90-sec"], 1e3*v["p99-sec"])
	}
	for _, clients := range []string{"10", "50", "400"} {
		if p90, p99, err := ghz(t.Context(), addr, method, clients); err != nil {
			t.Logf("ghz: %v", err)
		} else {
			t.Logf("ghz    -c %-10s p90 %6.1f ms, p99 %6.1f ms", clients, p90, p99)
		}
		if p90, p99, err := fortio(t.Context(), addr, clients); err != nil {
			t.Logf("fortio: %v", err)
		} else {
			t.Logf("fortio -c %-10s p90 %6.1f ms, p99 %6.1f ms", clients, p90, p99)
		}
	}
}

func ghz(ctx context.Context, addr, method, clients string) (p90, p99 float64, err error) {
	text, err := exec.CommandContext(ctx, "ghz", "--insecure", "--call", method, "-d", `{"length": 1}`, "-r", "500", "-n", "10000",
		"-c", clients, "-O", "json", addr).Output()
	var doc struct {
		LatencyDistribution []struct {
			Percentage int
			Latency    float64 // ns
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	for _, l := range doc.LatencyDistribution {
		switch l.Percentage {
		case 90:
			p90 = l.Latency / 1e6
		case 99:
			p99 = l.Latency / 1e6
		}
	}
	return p90, p99, err
}

// fortio asks for the health of the service, as its releases without other modules can call no other method.
func fortio(ctx context.Context, addr, clients string) (p90, p99 float64, err error) {
	text, err := exec.CommandContext(ctx, "fortio", "load", "-quiet", "-grpc", "-qps", "500", "-t", "20s", "-c", clients, "-p", "90,99", "-r", "0.0001",
		"-json", "-", addr).Output()
	var doc struct {
		DurationHistogram struct {
			Percentiles []struct{ Percentile, Value float64 }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	for _, p := range doc.DurationHistogram.Percentiles {
		switch p.Percentile {
		case 90:
			p90 = p.Value * 1e3
		case 99:
			p99 = p.Value * 1e3
		}
	}
	if err == nil && p99 == 0 {
		err = fmt.Errorf("no percentiles in %q", text)
	}
	return p90, p99, err
}
