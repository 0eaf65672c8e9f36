package kernel

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// The test binary is also the processes that the tests watch.
func TestMain(m *testing.M) {
	switch os.Getenv("PROBE_TEST_CHILD") {
	case "work":
		childWork()
	case "log":
		childLog()
	default:
		os.Exit(m.Run())
	}
}

// childWork does on each line of its input what the line says.
func childWork() {
	var keep []byte
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		switch in.Text() {
		case "grow":
			keep = make([]byte, 64<<20)
			for i := 0; i < len(keep); i += 4096 {
				keep[i] = 1
			}
		case "shrink":
			keep = nil
			debug.FreeOSMemory()
		case "spin": // in a thread that ends, which forgets its schedstat
			var spun sync.WaitGroup
			spun.Go(func() {
				runtime.LockOSThread()
				for start := selfCPU(); selfCPU()-start < 0.2; {
				}
			})
			spun.Wait()
		}
	}
	runtime.KeepAlive(keep)
}

func selfCPU() float64 {
	cpu, err := CPU(os.Getpid())
	if err != nil {
		panic(err)
	}
	return cpu
}

func child(t *testing.T, kind string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "PROBE_TEST_CHILD="+kind), env...)
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd
}

func TestProcWatch(t *testing.T) {
	cmd := child(t, "work")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := bufio.NewScanner(out)
	do := func(what string) {
		t.Helper()
		if fmt.Fprintln(in, what); !done.Scan() {
			t.Fatal("the child has ended")
		}
	}
	do("grow") // before the window: must not be its peak
	do("shrink")
	before, _, err := Resident(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	window := func(during ...string) probe.Reading {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := Proc{}.Watch(ctx, probe.Target{PID: cmd.Process.Pid, Every: time.Hour, Begun: func() {
			for _, what := range during {
				do(what)
			}
			cancel()
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	value := func(r probe.Reading, metric string) float64 {
		t.Helper()
		v, ok := r.Values.Get(metric)
		if !ok {
			t.Errorf("no %s", metric)
		}
		return v
	}
	if peak := value(window(), "rss-peak-B"); peak > before+16<<20 {
		t.Errorf("peak of a quiet window is %.0f, memory was %.0f", peak, before)
	}
	r := window("grow", "shrink", "spin") // the peak is between the samples
	if peak := value(r, "rss-peak-B"); peak < before+60<<20 || peak > before+100<<20 {
		t.Errorf("peak is %.0f where 64 MiB came to %.0f and went", peak, before)
	}
	if mean := value(r, "rss-mean-B"); mean > before+32<<20 {
		t.Errorf("mean memory is %.0f, at both samples it was near %.0f", mean, before)
	}
	cpu := value(r, "cpu-sec")
	if cpu < 0.2 || cpu > 2 {
		t.Errorf("0.2 s of work are %v s of CPU", cpu)
	}
	if sum := value(r, "cpu-user-sec") + value(r, "cpu-system-sec"); sum < 0.999*cpu || sum > 1.001*cpu {
		t.Errorf("user and system time are %v of %v s", sum, cpu)
	}
	if n := value(r, "threads"); n < 2 {
		t.Errorf("%v threads", n)
	}
	if s := seriesFrom(t, r, "minflt/s"); len(s.Value) != 1 || s.Value[0] <= 0 {
		t.Errorf("page faults %v", s.Value)
	}
	for _, metric := range []string{"rss-B", "fds"} {
		if s := seriesFrom(t, r, metric); s.Value[0] < 3 {
			t.Errorf("%s %v", metric, s.Value)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err = Proc{}.Watch(ctx, probe.Target{PID: cmd.Process.Pid, Every: time.Millisecond, Begun: func() { in.Close() }})
	if err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("the process ended, Watch returned %v", err)
	}
	if s := seriesFrom(t, r, "rss-B"); s.Value[0] < 1<<20 || value(r, "rss-peak-B") < 1<<20 {
		t.Errorf("what it saw of a process that ended is lost: %v, %v", s, r.Values)
	}
}

// Processes that are one subject are measured together: what each used and holds, and the pages of their one program
// once. The end of one of them ends the reading.
func TestProcWatchTree(t *testing.T) {
	var pids []int
	var do []func(what string)
	var first *exec.Cmd
	for range 3 {
		cmd := child(t, "work")
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := bufio.NewScanner(out)
		pids, first = append(pids, cmd.Process.Pid), cmp.Or(first, cmd)
		do = append(do, func(what string) {
			t.Helper()
			if fmt.Fprintln(in, what); !done.Scan() {
				t.Fatal("the child has ended")
			}
		})
	}
	watch := func(during func()) (probe.Reading, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return Proc{}.Watch(ctx, probe.Target{PID: pids[0], Also: pids[1:], Every: time.Hour, Begun: func() { during(); cancel() }})
	}
	for _, do := range do { // until they have begun
		do("spin")
	}
	alone := 0.0
	for _, pid := range pids {
		rss, _, err := Resident(pid)
		if err != nil {
			t.Fatal(err)
		}
		alone += rss
	}
	together, err := Together(pids...)
	if err != nil || together >= alone || together < alone/3 {
		t.Errorf("together %.0f bytes, each for itself %.0f, %v", together, alone, err)
	}
	r, err := watch(func() { do[1]("spin"); do[2]("spin"); do[0]("grow") })
	if err != nil {
		t.Fatal(err)
	}
	if cpu, _ := r.Values.Get("cpu-sec"); cpu < 0.4 || cpu > 2 {
		t.Errorf("0.2 s of work in two of them are %v s of CPU", cpu)
	}
	if peak, _ := r.Values.Get("rss-peak-B"); peak < together+60<<20 || peak > together+400<<20 { // the race detector has memory of its own for each byte
		t.Errorf("the peak is %.0f where 64 MiB came to %.0f", peak, together)
	}
	if n, _ := r.Values.Get("threads"); n < 6 {
		t.Errorf("%v threads of three processes", n)
	}
	if _, err := watch(func() { first.Process.Kill(); first.Wait() }); !errors.Is(err, ErrGone) {
		t.Errorf("one has ended: %v", err)
	}
}

func TestNoise(t *testing.T) {
	for _, test := range []struct {
		all     procfs.CPUStat
		own     float64
		subject float64
		beside  float64
		want    string
	}{
		{procfs.CPUStat{User: 6, System: 2, Idle: 12}, 2, 5, 0, ""},
		{procfs.CPUStat{User: 6, System: 2, Idle: 12}, 1, 2.4, 3, ""},
		{procfs.CPUStat{User: 6, System: 2, Idle: 12}, 1, 2.4, 0, "other processes used 23 % of the CPUs"},
		{procfs.CPUStat{User: 6, System: 2, Idle: 11, Steal: 1}, 3, 5, 0, "withheld 5 %"},
		{procfs.CPUStat{User: 1, SoftIRQ: 10, Idle: 9}, 0, 1, 0, ""},
		{procfs.CPUStat{User: 0.1, Idle: 0.1}, 0, 0, 0, ""}, // too short to tell
	} {
		_, got := noise{all: test.all, own: test.own, beside: map[int]float64{7: 3 + test.beside, 8: 5}}.since(noise{beside: map[int]float64{7: 3, 9: 1}}, test.subject)
		if len(got) > 1 || strings.Join(got.Texts(), "") == "" != (test.want == "") || !strings.Contains(strings.Join(got.Texts(), ""), test.want) {
			t.Errorf("%+v: %q, want %q", test, got, test.want)
		}
	}
	for stops, want := range map[float64]string{1: "", 40: "the limit of dyno's own control group, 0.5 of a CPU, stopped it in 20 % of its periods"} {
		limited := func(periods, stops float64) noise {
			return noise{throttled: cgroup.Throttling{Periods: periods, Throttled: stops}, limit: 0.5}
		}
		_, got := limited(300, 7+stops).since(limited(100, 7), 0)
		if text := strings.Join(got.Texts(), ""); text == "" != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%v stops: %q, want %q", stops, text, want)
		}
	}
	if n, err := readNoise(procfs.DefaultMountPoint, mayUse(os.Getpid()), []int{os.Getpid()}, nil); err != nil || n.beside[os.Getpid()] <= 0 || n.own <= 0 || n.all.Idle+n.all.User <= 0 {
		t.Errorf("%+v, %v", n, err)
	}
	idler := exec.Command("sleep", "60")
	if err := idler.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { idler.Process.Kill(); idler.Wait() }()
	pid := idler.Process.Pid
	if _, ok := must(readNoise(procfs.DefaultMountPoint, mayUse(os.Getpid()), nil, nil)).beside[pid]; ok {
		t.Error("an ordinary process is beside")
	}
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	if err := unix.SchedSetAttr(pid, &idle, 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := must(readNoise(procfs.DefaultMountPoint, mayUse(os.Getpid()), nil, nil)).beside[pid]; !ok {
		t.Error("a process that runs only where nothing else wants to is not beside")
	}
}

// On a machine of 8 CPUs, strangers fill one of the two that dyno and the subject may use. They are half of
// these, and an eighth of the machine. What they do on other CPUs disturbs nobody.
func TestNoiseOfTheCPUsThatMayBeUsed(t *testing.T) {
	for _, c := range []struct {
		name   string
		cpus   []int
		others float64
		steal  float64
	}{
		{"two CPUs, one of them disturbed", []int{2, 3}, 0.5, 0.05},
		{"two quiet CPUs", []int{0, 1}, 0, 0},
		{"all CPUs", []int{0, 1, 2, 3, 4, 5, 6, 7}, 0.225, 0.0125},
		{"a CPU that /proc/stat does not have", []int{2, 3, 9}, 0.225, 0.0125},
	} {
		var cpus unix.CPUSet
		for _, n := range c.cpus {
			cpus.Set(n)
		}
		before, after := must(readNoise("testdata/before", &cpus, nil, nil)), must(readNoise("testdata/after", &cpus, nil, nil))
		after.own = before.own // which is this process's, and not in the recording
		after.beside = nil
		values, _ := after.since(before, 4)
		if got := fmt.Sprintf("%.4f %.4f", values[0].Value, values[1].Value); got != fmt.Sprintf("%.4f %.4f", c.others, c.steal) {
			t.Errorf("%s: others and steal %s, want %.4f %.4f", c.name, got, c.others, c.steal)
		}
	}
}

func TestMayUse(t *testing.T) {
	if _, err := os.Stat("/proc/4194304"); err == nil { // above the largest process number
		t.Fatal("it is there")
	}
	mine := mayUse(os.Getpid())
	if mine.Count() == 0 || !within(mine, mayUse(os.Getpid(), 4194304)) || within(mayUse(4194304), mine) {
		t.Errorf("%v", mine)
	}
}

func must(n noise, err error) noise {
	if err != nil {
		panic(err)
	}
	return n
}

const (
	logWriters = 3
	logLines   = 4000
)

// childLog logs from several goroutines while the collector runs.
func childLog() {
	var logged sync.WaitGroup
	stop := make(chan bool)
	for w := range logWriters {
		logged.Go(func() {
			for i := range logLines {
				fmt.Fprintf(os.Stderr, "writer %d line %d of the log\n", w, i)
			}
		})
	}
	var collected sync.WaitGroup
	collected.Go(func() {
		for {
			runtime.GC()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	logged.Wait()
	close(stop)
	collected.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(m.NumGC)
}

// A real process, a real packet-mode pipe: all lines of trace and log.
func TestRealTornLines(t *testing.T) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_DIRECT|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe")
	defer r.Close()
	cmd := child(t, "log", "GODEBUG=gctrace=1,gcpacertrace=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, w
	err := cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var log, trace, raw bytes.Buffer
	x := gctrace.NewSplitter(&log, &trace)
	io.Copy(io.MultiWriter(x, &raw), struct{ io.Reader }{r})
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	x.Close()
	cycles := x.Take(nil)
	if got := fmt.Sprintln(len(cycles)); got != out.String() {
		t.Errorf("%s cycles, the program says %s", got, out.String())
	}
	var next [logWriters]int
	for line := range strings.Lines(log.String()) {
		var w, i int
		if _, err := fmt.Sscanf(line, "writer %d line %d of the log\n", &w, &i); err != nil || i != next[w] {
			t.Fatalf("log line %q: %v", line, err)
		}
		next[w]++
	}
	for _, n := range next {
		if n != logLines {
			t.Errorf("%d of %d log lines", n, logLines)
		}
	}
	torn := len(cycles)
	for line := range strings.Lines(raw.String()) {
		if strings.HasPrefix(line, "gc ") {
			torn--
		}
	}
	t.Logf("%d cycles, %d of their lines torn", len(cycles), torn)
}

func seriesFrom(t *testing.T, r probe.Reading, metric string) dyno.Series {
	t.Helper()
	for _, s := range r.Series {
		if s.Metric == metric {
			if len(s.At) != len(s.Value) {
				t.Errorf("series %s has %d times and %d values", metric, len(s.At), len(s.Value))
			}
			return s
		}
	}
	t.Errorf("no series %s", metric)
	return dyno.Series{}
}

// How long threads waited for a CPU is known of a process that is there, and of no other.
func TestWaited(t *testing.T) {
	before := waited(os.Getpid())
	if before < 0 || waited(os.Getpid()) < before {
		t.Errorf("this process has waited %v s, and less later", before)
	}
	if got := waited(1 << 30); got >= 0 {
		t.Errorf("a process that is not there has waited %v s", got)
	}
}
