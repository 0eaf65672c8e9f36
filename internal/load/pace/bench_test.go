package pace

import (
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkQueue plays a schedule of 100,000 a second with clients that do nothing: CPU time per call.
func BenchmarkQueue(b *testing.B) {
	p := New(b.Context())
	defer p.Close()
	zero := time.Now()
	q := &Queue{Schedule: &every{step: 10 * time.Microsecond, left: b.N},
		Limit: time.Hour, Zero: zero, Now: func() time.Duration { return time.Since(zero) }, Pacer: p}
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	var all sync.WaitGroup
	late := make([]time.Duration, 256)
	for i := range 256 {
		all.Go(func() {
			wake := NewWake()
			for {
				due, ok := q.Take(b.Context(), wake)
				if !ok {
					return
				}
				late[i] += q.Now() - due.At
			}
		})
	}
	all.Wait()
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := func(u *syscall.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }
	b.ReportMetric(float64(cpu(&after)-cpu(&before))/float64(b.N), "cpu-ns/op")
	var sum time.Duration
	for _, d := range late {
		sum += d
	}
	b.ReportMetric(float64(sum)/float64(b.N), "late-ns/op")
}

// every is a constant schedule of so many times.
type every struct {
	mu   sync.Mutex
	step time.Duration
	next time.Duration
	left int
}

func (e *every) Claim() (Due, bool) { return e.ClaimBy(1 << 62) }

func (e *every) ClaimBy(now time.Duration) (Due, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == 0 || e.next > now {
		return Due{}, false
	}
	e.left--
	e.next += e.step
	return Due{At: e.next - e.step}, true
}

func (e *every) Drop() {}
