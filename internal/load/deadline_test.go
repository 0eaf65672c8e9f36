package load

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// What took longer than the deadline is late, to the nanosecond, and so is what
// failed, timed out, or was never sent.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := dyno.Fraction(1)
		n := 0
		l := dyno.Load{Concurrency: 1, Requests: 10, Deadline: seconds(0.03), Timeout: seconds(1), MaxFailures: &all}
		rec, err := runFake(t.Context(), l, Options{}, func(ctx context.Context, r *http1.Request) (int, error) {
			n++
			switch {
			case n <= 4: // in time, the last of them just so
				time.Sleep(time.Duration(n) * 7500 * time.Microsecond)
			case n <= 6:
				time.Sleep(30*time.Millisecond + 1)
			case n <= 8:
				return 503, nil
			default:
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 200, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Requests != 10 || rec.Failed != 4 || rec.Late != 6 {
			t.Errorf("%d requests, %d failed, %d late; want 10, 4, 6", rec.Requests, rec.Failed, rec.Late)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// The one connection serves 1/s: of 200 that are due 6 are sent, at 0 to 5 s,
		// and all but the first are answered more than 1.5 s after they were due.
		l := dyno.Load{Concurrency: 1, Rate: dyno.PerSecond(100), Duration: seconds(2), Timeout: seconds(3), Deadline: seconds(1.5)}
		rec, _ := runFake(t.Context(), l, Options{}, after(time.Second))
		if rec == nil || rec.Unsent != 194 || rec.Late != 199 {
			t.Fatalf("%+v; want 194 unsent and 199 late", rec)
		}
	})
}

// Late requests are counted on every engine: all of them if the deadline is
// nothing, those that failed if it is long.
func TestEnginesLate(t *testing.T) {
	var served atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1)%4 == 0 {
			w.WriteHeader(503)
		}
	})
	all := dyno.Fraction(1)
	each(t, h, func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), _ *atomic.Int64) {
		for deadline, want := range map[dyno.Duration]int64{0: 0, 1: 12, seconds(3600): 3} {
			served.Store(0)
			rec, err := run(dyno.Load{Concurrency: 1, Requests: 12, Deadline: deadline, MaxFailures: &all}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Late != want || rec.Requests != 12 {
				t.Errorf("deadline %v: %d of %d requests late, want %d", deadline, rec.Late, rec.Requests, want)
			}
		}
	})
}
