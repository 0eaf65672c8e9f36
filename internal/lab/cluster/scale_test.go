package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/agent"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/load"
)

// fakes is set in a process of agents that send no load and tell what they would have measured.
const fakes = "DYNO_FAKE_AGENTS"

const fakeRate = 1000 // requests a second of each

func serveFakes() {
	key, err := wire.TokenKey(token)
	if err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(os.Getenv(fakes))
	for range n {
		l, err := key.Listen("127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		a := agent.Agent{Version: "v1", Log: slog.New(slog.DiscardHandler), Send: pretend}
		go a.Serve(context.Background(), l)
		fmt.Println(l.Addr())
	}
	os.Stdin.Read(make([]byte, 1)) // until the benchmark ends
	os.Exit(0)
}

// pretend tells a histogram of fakeRate requests every second, as a load does.
func pretend(ctx context.Context, _ string, l dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
	o.Meter.Enter("setup")
	if err := o.Begin(ctx); err != nil {
		return nil, err
	}
	began := o.At()
	rec := &load.Record{Start: began, Latency: hist.New(), Service: hist.New(), Lateness: hist.New()}
	time.Sleep(time.Until(began))
	rec.StartedLate = time.Since(began)
	o.Meter.Enter("measure")
	for second := time.Second; second <= time.Duration(l.Duration); second += time.Second {
		time.Sleep(time.Until(began.Add(second)))
		h := hist.New()
		for range fakeRate {
			h.Add(time.Duration(2e6 * (1 + rand.ExpFloat64())))
		}
		rec.Latency.Merge(h)
		rec.Requests += fakeRate
		o.Second(h, second-time.Second, second)
		o.Meter.Done.Store(rec.Requests)
	}
	rec.Service.Merge(rec.Latency)
	rec.Lateness.Merge(rec.Latency)
	rec.Elapsed, rec.Own = time.Duration(l.Duration), time.Duration(l.Duration)
	rec.Rate = fakeRate
	o.End()
	return rec, nil
}

// BenchmarkAgents is what a coordinator costs with so many agents: real sessions, each a connection, of
// agents in another process that only tell what they would have measured. The CPU time and the memory are
// the coordinator's alone.
//
//	go test -run '^$' -bench Agents -benchtime 1x ./lab/cluster
func BenchmarkAgents(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchAgents(b, n) })
	}
}

func benchAgents(b *testing.B, n int) {
	var files syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	files.Cur = files.Max
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", fakes, n))
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	f := &cluster.Fleet{Version: "v1", Late: 5 * time.Second}
	f.Key, _ = wire.TokenKey(token)
	for lines := bufio.NewScanner(out); len(f.Members) < n && lines.Scan(); {
		f.Members = append(f.Members, cluster.Member{Name: lines.Text()})
	}
	const seconds = 10
	for b.Loop() {
		runtime.GC()
		var ended, total time.Duration
		before := cpu()
		began := time.Now()
		o := load.Options{
			Meter: new(load.Meter), Second: func(*hist.Histogram, time.Duration, time.Duration) {},
			Begin: func(context.Context) error { b.ReportMetric(time.Since(began).Seconds(), "sec-to-ready"); return nil },
			End:   func() { ended = time.Since(began) },
		}
		rec, err := f.Load(context.Background(), "http://127.0.0.1:1", dyno.Load{Rate: dyno.PerSecond(fakeRate * float64(n)), Duration: dyno.Duration(seconds * time.Second), Concurrency: n}.Resolved(), nil, o)
		if err != nil {
			b.Fatal(err)
		}
		total = time.Since(began)
		if rec.Requests != int64(n*seconds*fakeRate) || rec.Latency.Count() != rec.Requests {
			b.Fatalf("%d requests, %d in the histogram", rec.Requests, rec.Latency.Count())
		}
		b.ReportMetric((cpu()-before).Seconds()*1000/float64(n)/seconds, "cpu-ms/agent/s")
		b.ReportMetric((total - ended).Seconds(), "sec-to-merge")
		b.ReportMetric(peak()/1024, "MiB-peak")
		b.ReportMetric(rec.StartedLate.Seconds()*1000, "start-late-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the greatest resident memory of this process so far, in KiB.
func peak() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	kb, _ := strconv.ParseFloat(strings.Fields(string(rest))[0], 64)
	return kb
}
