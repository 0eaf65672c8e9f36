//go:build machine && linux

package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/agent"
	"github.com/dynolab/dyno/internal/lab/cluster/conform"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
)

// lone is set in a process that is an agent at the address.
const lone = "DYNO_TEST_AGENT"

func init() {
	addr := os.Getenv(lone)
	if addr == "" {
		return
	}
	key, err := wire.TokenKey(token)
	if err != nil {
		panic(err)
	}
	l, err := key.Listen(addr)
	if err != nil {
		panic(err)
	}
	alone = func() {
		a := agent.Agent{Version: "v1", Log: slog.New(slog.DiscardHandler)}
		panic(a.Serve(context.Background(), l))
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// Agents that have a network namespace and an address each pass the suite, too.
func TestLongAgents(t *testing.T) {
	var addrs []string
	for i := range 2 {
		name, own, ours := fmt.Sprintf("dyno-test-%d", i), fmt.Sprintf("10.89.%d.2", i), fmt.Sprintf("10.89.%d.1", i)
		exec.Command("ip", "netns", "del", name).Run() // of a run that was killed
		ip(t, "netns", "add", name)
		t.Cleanup(func() { ip(t, "netns", "del", name) })
		ip(t, "link", "add", "dyno"+fmt.Sprint(i), "type", "veth", "peer", "name", "eth0", "netns", name)
		ip(t, "addr", "add", ours+"/24", "dev", "dyno"+fmt.Sprint(i))
		ip(t, "link", "set", "dyno"+fmt.Sprint(i), "up")
		for _, args := range [][]string{{"addr", "add", own + "/24", "dev", "eth0"}, {"link", "set", "eth0", "up"}, {"link", "set", "lo", "up"}, {"route", "add", "default", "via", ours}} {
			ip(t, append([]string{"-n", name}, args...)...)
		}
		addr := own + ":7761"
		cmd := exec.Command("ip", "netns", "exec", name, os.Args[0])
		cmd.Env = append(os.Environ(), lone+"="+addr)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		addrs = append(addrs, addr)
	}
	f := fleet(t, addrs...)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, _, err := f.Check(t.Context()); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	conform.Run(t, conform.Placement{
		Subject: subject(t), Program: program(t), On: dyno.On{Agents: addrs},
		Open: func(t *testing.T) (*lab.Lab, func() error) { return open(t, f) },
	})
}
