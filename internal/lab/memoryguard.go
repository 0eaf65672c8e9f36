package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno"
)

// A memoryGuard keeps the subject of a trial from taking all memory of the machine.
type memoryGuard struct {
	lab    *Lab
	trial  int
	beside *besides                // nil if the trial runs alone
	stop   context.CancelCauseFunc // of the trial
	before float64                 // bytes left before the subject was started
	floor  float64                 // bytes that stay free

	watching sync.WaitGroup

	mu       sync.Mutex
	launched bool
	running  *Running // nil until the subject is ready
	err      error    // why it was stopped
}

const (
	guardFar  = 100 * time.Millisecond // how often memory is read: often near the floor, as a kernel can clear 10 GB/s
	guardNear = 10 * time.Millisecond
	nearFloor = 2 << 30 // bytes above it
)

// reserve returns the number of bytes of a total that have to stay free.
func reserve(total float64) float64 {
	return max(total/20, min(256<<20, total/8))
}

// guardMemory refuses a trial that would exhaust memory, and watches the others until end is
// called. The guard is nil where memory is not known.
func (l *Lab) guardMemory(ctx context.Context, t *dyno.Trial, beside *besides) (guarded context.Context, g *memoryGuard, err error) {
	if l.Memory == nil || !t.Subject.Launched() {
		return ctx, nil, nil
	}
	left, total, err := l.Memory()
	if err != nil {
		return ctx, nil, nil
	}
	if err := refuse(t, left, total); err != nil {
		return nil, nil, err
	}
	// Where little is left from the beginning, a small subject may run all the same.
	g = &memoryGuard{lab: l, trial: t.N, beside: beside, before: left, floor: min(reserve(total), left/2)}
	guarded, g.stop = context.WithCancelCause(ctx)
	g.watching.Go(func() { g.watch(guarded) })
	return guarded, g, nil
}

// end ends the watch and returns why the subject was stopped, or nil.
func (g *memoryGuard) end() error {
	if g == nil {
		return nil
	}
	g.stop(nil)
	g.watching.Wait()
	return g.err
}

// launch says that the subject is about to take memory.
func (g *memoryGuard) launch() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.launched = true
}

func (g *memoryGuard) ready(r *Running) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = r
	if g.err != nil && r.Kill != nil {
		r.Kill()
	}
}

func (g *memoryGuard) watch(ctx context.Context) {
	for {
		left, _, err := g.lab.Memory()
		if err == nil && left < g.floor && g.guilty(left) {
			return
		}
		wait := guardFar
		if left < g.floor+nearFloor {
			wait = guardNear
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// guilty stops the subject if it took most of what was used since the start, or is not ready yet.
// Of subjects side by side that took it together, it is the greatest.
func (g *memoryGuard) guilty(left float64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.launched {
		return false
	}
	others, greatest := g.others()
	used := g.before - left
	took := "it was not ready yet"
	if r := g.running; r != nil {
		rss, known := g.rss(r)
		if !known || rss < greatest || others+rss < used/2 {
			return false
		}
		took = "its resident memory was " + size(rss)
	} else if others > used/2 {
		return false
	}
	g.err = fmt.Errorf("dyno stopped the subject before it exhausted the machine's memory: %s, and %s was left (consider: GOMEMLIMIT, fewer requests or clients, a shorter load)",
		took, size(left))
	g.beside.exhausted(g.trial, g.err)
	g.stop(g.err)
	if g.running != nil && g.running.Kill != nil {
		g.running.Kill()
	}
	return true
}

// others returns the resident memory of the subjects beside, and of the greatest of them.
func (g *memoryGuard) others() (sum, greatest float64) {
	for _, r := range g.beside.alive() {
		if rss, known := g.rss(r); known && r != g.running {
			sum, greatest = sum+rss, max(greatest, rss)
		}
	}
	return sum, greatest
}

func (g *memoryGuard) rss(r *Running) (bytes float64, known bool) {
	if g.lab.RSS == nil || r.Target.PID == 0 {
		return 0, false
	}
	bytes, err := g.lab.RSS(r.Target.All()...)
	return bytes, err == nil
}

// refuse returns an error if the heap of the trial would outgrow the memory that is left: with
// GOGC=off it grows to GOMEMLIMIT.
func refuse(t *dyno.Trial, left, total float64) error {
	room := max(0, left-reserve(total))
	if promised(t) <= room {
		return nil
	}
	return fmt.Errorf("not started: with GOGC=off, the heap grows to GOMEMLIMIT=%s, but only %s of memory is left, and %s must stay free (consider: GOMEMLIMIT=%dMiB at most, or GOGC=100)",
		environment(t, "GOMEMLIMIT"), size(left), size(left-room), int(room)>>20)
}

// promised is to how many bytes the heap of a trial surely grows; 0 if that is not known.
func promised(t *dyno.Trial) float64 {
	limit, err := dyno.ParseSize(environment(t, "GOMEMLIMIT"))
	gogc := environment(t, "GOGC")
	if off := gogc == "off" || strings.HasPrefix(gogc, "-"); !off || err != nil {
		return 0
	}
	return float64(limit)
}

func environment(t *dyno.Trial, name string) string {
	v, ok := t.Subject.Env[name]
	if !ok {
		return os.Getenv(name)
	}
	return argument.ReplaceAllStringFunc(v, func(text string) string {
		return t.Subject.Arg[argument.FindStringSubmatch(text)[1]]
	})
}

var argument = regexp.MustCompile(`\{\{\s*\.arg\.(\w+)\s*\}\}`)

func size(bytes float64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
}

// Describe returns the kernel's release, the CPU model and the memory in bytes; zero values where unknown.
func Describe() (kernel, cpu string, memory int64) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	kernel = strings.TrimSpace(string(release))
	cpus, _ := os.ReadFile("/proc/cpuinfo") // procfs reads it on Linux only
	if _, rest, ok := strings.Cut(string(cpus), "\nmodel name\t: "); ok {
		cpu, _, _ = strings.Cut(rest, "\n")
	}
	if m, err := meminfo("/proc"); err == nil && m.MemTotalBytes != nil {
		memory = int64(*m.MemTotalBytes)
	}
	return kernel, cpu, memory
}

func meminfo(proc string) (info procfs.Meminfo, err error) {
	fs, err := procfs.NewFS(proc)
	if err == nil {
		info, err = fs.Meminfo()
	}
	return info, err
}

// memoryOf returns Hands.Memory: of the machine or, if it has less left, of a control group around
// this process. A call takes some 100 µs.
func memoryOf(proc string, group func() (left, limit float64)) func() (left, total float64, err error) {
	return func() (left, total float64, err error) {
		info, err := meminfo(proc)
		if err != nil {
			return 0, 0, fmt.Errorf("read memory of the machine: %w", err)
		}
		if info.MemAvailableBytes == nil || info.MemTotalBytes == nil {
			return 0, 0, errors.New("read memory of the machine: no MemAvailable")
		}
		left, total = float64(*info.MemAvailableBytes), float64(*info.MemTotalBytes)
		if l, limit := group(); l < left {
			left, total = l, min(limit, total)
		}
		return left, total, nil
	}
}
