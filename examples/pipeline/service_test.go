package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
)

// TestVariants holds the variants against each other. That no goroutine is left
// is what the bubbles of synctest see to: they do not end before.
func TestVariants(t *testing.T) {
	src := append(source(30, 10), source(3, 1)...)
	src = append(src, "ǆ Straße ΣΑΣ İ", "not \xff UTF-8", "")
	var want []string
	for _, name := range []string{"fast", "slow"} {
		for _, workers := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				for s := range start(t.Context(), src, variants[name], workers) {
					got = append(got, s)
				}
				slices.Sort(got)
				if want == nil {
					want = got
				}
				if len(got) != len(src) || !slices.Equal(got, want) {
					t.Errorf("%s, %d workers: %q, want %q", name, workers, got, want)
				}
			})
		}
	}
}

// TestCancel leaves the pipeline full, as the study does, and cancels it.
func TestCancel(t *testing.T) {
	for name, v := range variants {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			out := start(ctx, source(30, 10), v, 4)
			if s := <-out; s != strings.ToUpper(s) {
				t.Errorf("%s: %q came out", name, s)
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
			for range out {
			}
		})
	}
}

func TestSource(t *testing.T) {
	a, b := source(5000, 10), source(5000, 10)
	if !slices.Equal(a, b) {
		t.Error("two sources differ")
	}
	for _, s := range a {
		if len(s) != 10 {
			t.Fatalf("a string of %d letters", len(s))
		}
	}
	source(1, mostLen)
}

func TestTasks(t *testing.T) {
	want, err := runTasks(t.Context(), 50, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{3, 100} {
		for _, locked := range []bool{false, true} {
			if got, err := runTasks(t.Context(), 50, workers, locked); err != nil || got != want {
				t.Errorf("%d workers, locked %v: %d, %v, want %d", workers, locked, got, err, want)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runTasks(ended, 50, 3, false); err != context.Canceled {
		t.Errorf("of an ended context: %v", err)
	}
}

func TestSleepers(t *testing.T) {
	for _, locked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			wait := sleep(ctx, 20, locked)
			cancel()
			wait()
		})
	}
}

// kernel is what a machine with room for 9,000 threads says.
func kernel() fstest.MapFS {
	fs := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/loadavg":                      "0.70 0.48 0.98 2/1000 4711\n",
		"proc/sys/kernel/threads-max":       "192730\n",
		"proc/sys/kernel/pid_max":           "10000\n",
		"proc/sys/vm/max_map_count":         "65530\n",
		"proc/self/maps":                    strings.Repeat("a mapping\n", 30),
		"proc/self/limits":                  "Limit  Soft Limit  Hard Limit  Units\nMax processes             96365                96365                processes\n",
		"proc/self/cgroup":                  "8:pids:/a/b\n7:blkio:/\n0::/c\n",
		"sys/fs/cgroup/pids/a/b/pids.max":   "max\n",
		"sys/fs/cgroup/pids/a/pids.max":     "20000\n",
		"sys/fs/cgroup/pids/a/pids.current": "100\n",
	} {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

func TestRoomForThreads(t *testing.T) {
	if err := roomForThreads(fstest.MapFS{}, 20_000); err != nil {
		t.Errorf("where nothing is known: %v", err)
	}
	for _, c := range []struct{ file, text, limit string }{
		{"", "", "kernel.pid_max leaves 9000"},
		{"proc/sys/kernel/threads-max", "3000", "kernel.threads-max leaves 2000"},
		{"proc/sys/vm/max_map_count", "2030", "vm.max_map_count leaves 1000"},
		{"proc/self/limits", "Max processes   1500   unlimited   processes\n", "ulimit -u leaves 500"},
		{"sys/fs/cgroup/pids/a/pids.max", "5000", "pids.max of /sys/fs/cgroup/pids/a leaves 4900"},
		{"sys/fs/cgroup/c/pids.max", "50", "pids.max of /sys/fs/cgroup/c leaves 50"},
	} {
		fs := kernel()
		if c.file != "" {
			fs[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		}
		if err := roomForThreads(fs, 20_000); err == nil || !strings.Contains(err.Error(), c.limit) {
			t.Errorf("%s=%s: %v, want %s", c.file, c.text, err, c.limit)
		}
		if err := roomForThreads(fs, 8_800); (c.file == "") != (err == nil) {
			t.Errorf("%s=%s, 8800 threads: %v", c.file, c.text, err)
		}
	}
}

func TestOptions(t *testing.T) {
	good := options{mode: "run", variant: "slow", kind: "goroutines", workers: 1, n: 1, pool: 1}
	if err := good.check(nil); err != nil {
		t.Error(err)
	}
	for flag, bad := range map[string]func(*options){
		"-mode":    func(o *options) { o.mode = "walk" },
		"-variant": func(o *options) { o.variant = "" },
		"-kind":    func(o *options) { o.kind = "fibres" },
		"java":     func(o *options) { o.kind = "java" },
		"-workers": func(o *options) { o.workers = 0 },
		"-n":       func(o *options) { o.n = -1 },
		"-pool":    func(o *options) { o.pool = mostWorkers + 1 },
	} {
		o := good
		bad(&o)
		if err := o.check(nil); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%+v: %v, want a word about %s", o, err, flag)
		}
	}
	if good.check([]string{"x"}) == nil {
		t.Error("an argument was accepted")
	}
	for _, c := range []struct {
		mode, kind string
		want       int
	}{{"run", "threads", 0}, {"sleepers", "goroutines", 0}, {"sleepers", "threads", 7}, {"tasks", "java", 8}} {
		if got := (options{mode: c.mode, kind: c.kind, n: 7, pool: 8}).threads(); got != c.want {
			t.Errorf("%s of %s need %d threads, want %d", c.mode, c.kind, got, c.want)
		}
	}
}

func TestService(t *testing.T) {
	base := options{variant: "fast", workers: 2, kind: "threads", n: 3, pool: 3}
	for _, c := range []struct {
		mode, path string
		status     int
		want       string
	}{
		{"run", "/healthz", 200, `{"status":"ok"}`},
		{"run", "/run", 200, `{"strings":30,"bytes":300}`},
		{"run", "/run?n=5&len=100", 200, `{"strings":5,"bytes":500}`},
		{"run", "/run?n=0", 400, "want a number from 1 to"},
		{"run", "/run?len=100000000", 400, "want a number from 1 to"},
		{"run", "/tasks", 404, ""},
		{"sleepers", "/healthz", 200, `{"status":"ok"}`},
		{"tasks", "/tasks?n=10", 200, `{"tasks":10,"workers":3,"sum":`},
		{"tasks", "/tasks?n=x", 400, "want a number from 1 to"},
		{"tasks", "/run", 404, ""},
	} {
		o := base
		o.mode = c.mode
		srv := httptest.NewServer(routes(o))
		resp, err := srv.Client().Get(srv.URL + c.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("GET %s in mode %s: %d %s (%v), want %d %s", c.path, c.mode, resp.StatusCode, body, err, c.status, c.want)
		}
		srv.Close()
	}
}

// TestShutdown ends a service whose workers sleep; run returns when all have gone.
func TestShutdown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wait := sleep(ctx, 10, true)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, ln, routes(options{mode: "sleepers"})) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cancel()
	wait()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
