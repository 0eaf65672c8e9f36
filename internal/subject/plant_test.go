//go:build linux

package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// What is planted is done in each request of a service that knows nothing of it.
func TestPlant(t *testing.T) {
	const requests = 20
	table := filepath.Join(t.TempDir(), "table")
	err := WritePlants(table, map[string]Plant{
		"none": {}, "spin": {Spins: 5_000_000}, "keep": {Retain: 1 << 20}, "hold": {Hold: 20 * time.Millisecond},
		"wait": {Delay: 20 * time.Millisecond, Share: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := dyno.Subject{Package: "testdata/service", Args: []string{"-addr", "{{.Addr}}"}, Plantable: true}
	built := mustBuild(t, must(t, shared), s)
	if !built.Injected {
		t.Errorf("the probe is not in it: %q", built.Warnings)
	}
	measure := func(token string) (cpu, rss float64, took time.Duration) {
		s.Env = map[string]string{PlantEnv: token, PlantTableEnv: table}
		p, err := Start(context.Background(), built, s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop(0)
		cpu, rss = usedBy(t, p.PID)
		began := time.Now()
		for range requests {
			r, err := http.Get("http://" + p.Addr + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		took = time.Since(began)
		c, m := usedBy(t, p.PID)
		return c - cpu, m - rss, took
	}
	cpu, rss, _ := measure("none")
	if spun, _, _ := measure("spin"); spun < cpu+requests*5_000_000/10e9 { // no CPU does a round in a tenth of a nanosecond
		t.Errorf("%d requests take %v s of CPU time, with a loop in each %v s", requests, cpu, spun)
	}
	if _, kept, _ := measure("keep"); kept < rss+requests*(1<<20)/4096/2 {
		t.Errorf("%d requests that retain 1 MiB each: %v pages more, without %v", requests, kept, rss)
	}
	for _, token := range []string{"hold", "wait"} {
		if _, _, took := measure(token); took < requests*20*time.Millisecond {
			t.Errorf("%s: %d requests took %v", token, requests, took)
		}
	}

	s.Env = map[string]string{PlantEnv: "nosuch", PlantTableEnv: table}
	if p, err := Start(context.Background(), built, s, Options{}); err == nil {
		p.Stop(0)
		t.Error("a service starts whose token is not in the table")
	} else {
		wantError(t, err, "dyno plant: the table has no nosuch")
	}
}

// usedBy returns the CPU time of a process in seconds, and its resident memory in pages.
func usedBy(t *testing.T, pid int) (cpu, rss float64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	number := func(i int) float64 {
		v, err := strconv.ParseFloat(fields[i-2], 64) // proc_pid_stat(5) counts from 1, the name is 2
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return (number(14) + number(15)) / 100, number(24)
}

// The user's tree and the toolchain stay as they are. The sum is that of the service without room for
// changes, the same in each build of one source.
func TestPlantBesideOthers(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", goMod, "main.go", "package main\n\nimport \"net/http\"\n\nfunc main() { http.ListenAndServe(\"\", nil) }\n")
	before := listing(t, dir)
	plain, planted := mustBuild(t, b, dyno.Subject{Package: dir}), mustBuild(t, b, dyno.Subject{Package: dir, Plantable: true})
	for _, built := range []*Built{plain, planted} {
		exe, err := os.ReadFile(built.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(exe), PlantTableEnv); got != (built == planted) || !built.Injected {
			t.Errorf("%s: planted %t, injected %t", built.Path, got, built.Injected)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the tree changed from %s to %s", before, after)
	}
	if planted.Sum != plain.Sum || len(plain.Sum) != 16 {
		t.Errorf("sums %s and %s", planted.Sum, plain.Sum)
	}
	if again := mustBuild(t, newBuilder(t), dyno.Subject{Package: dir}); again.Sum != plain.Sum {
		t.Errorf("built again, the sum is %s, not %s", again.Sum, plain.Sum)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport \"net/http\"\n\nfunc main() { http.ListenAndServe(\"x\", nil) }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if changed := mustBuild(t, newBuilder(t), dyno.Subject{Package: dir}); changed.Sum == plain.Sum {
		t.Error("another program has the same sum")
	}
	if planted.Go != plain.Go {
		t.Errorf("built by %s and by %s", planted.Go, plain.Go)
	}
}

func TestNotPlantable(t *testing.T) {
	b := newBuilder(t)
	for _, test := range []struct {
		s    dyno.Subject
		want string
	}{
		{dyno.Subject{Binary: "/bin/true"}, "already compiled (consider: its package"},
		{dyno.Subject{Package: tree(t, "go.mod", goMod, "main.go", helloMain)}, "does not import net/http"},
	} {
		test.s.Plantable = true
		_, err := b.Build(context.Background(), test.s)
		wantError(t, err, test.want)
		var cannot *PlantError
		if !errors.As(err, &cannot) {
			t.Errorf("%v is not a PlantError", err)
		}
	}
}
