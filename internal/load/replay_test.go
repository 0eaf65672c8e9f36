package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// arrivals are irregular times of requests, with a burst and a pause.
var arrivals = func() (all []time.Duration) {
	at := time.Duration(0)
	for i := range 300 {
		all = append(all, at)
		switch {
		case i == 100:
			at += 5 * time.Second
		case i > 100 && i < 150: // at the same time
		default:
			at += time.Duration(i%7+1) * 3700 * time.Microsecond
		}
	}
	return all
}()

// recording writes a log of GET /0, /1 ... at arrivals; every tenth was answered with 404.
func recording(t testing.TB) string {
	var log strings.Builder
	for i, at := range arrivals {
		status := 200
		if i%10 == 0 {
			status = 404
		}
		fmt.Fprintf(&log, `{"time":%q,"method":"GET","path":"/%d","status":%d}`+"\n", time.Unix(1_700_000_000, 1).Add(at).UTC().Format(time.RFC3339Nano), i, status)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, []byte(log.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// A diary is when a service had which request, since its begin.
type diary struct {
	mu   sync.Mutex
	had  map[string]time.Duration
	some []string
}

func (d *diary) serve(begin time.Time, took time.Duration) service {
	d.had = map[string]time.Duration{}
	return func(_ context.Context, r *http1.Request) (int, error) {
		d.mu.Lock()
		d.had[string(r.Target)] = time.Since(begin)
		d.some = append(d.some, string(r.Target))
		d.mu.Unlock()
		time.Sleep(took)
		if strings.HasSuffix(string(r.Target), "0") {
			return 404, nil
		}
		return 200, nil
	}
}

// Each request is sent at its own time, whichever of the clients takes it, and a recorded 404 is no failure.
func TestReplayKeepsTimes(t *testing.T) {
	for _, speed := range []dyno.Speed{0, 1, 20, 0.5, 3} {
		t.Run(fmt.Sprint(speed), func(t *testing.T) {
			l := dyno.Load{Replay: recording(t), Speed: speed}
			synctest.Test(t, func(t *testing.T) {
				var d diary
				rec, err := runFake(t.Context(), l, Options{}, d.serve(time.Now(), 20*time.Millisecond))
				if err != nil || rec.Requests != 300 || rec.Failed != 0 || rec.Unsent != 0 || rec.Lateness.Max() != 0 || len(rec.Warnings) != 0 {
					t.Fatalf("%+v, %v", rec, err)
				}
				for i, at := range arrivals {
					want := time.Duration(float64(at) / l.Pace())
					if got := d.had[fmt.Sprintf("/%d", i)]; got != want {
						t.Errorf("request %d came at %v, want %v", i, got, want)
					}
				}
			})
		})
	}
}

func TestReplayIsCut(t *testing.T) {
	for _, c := range []struct {
		name string
		load dyno.Load
		want int64
	}{
		{"duration", dyno.Load{Duration: seconds(0.5), Speed: 2}, int64(slices.IndexFunc(arrivals, func(at time.Duration) bool { return at >= time.Second }))},
		{"duration, longer than the recording", dyno.Load{Duration: seconds(500)}, 300},
		{"requests", dyno.Load{Requests: 120}, 120},
		{"all requests", dyno.Load{Requests: 300}, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.load.Replay = recording(t)
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				rec, err := runFake(t.Context(), c.load, Options{}, after(time.Millisecond))
				if err != nil || rec.Requests != c.want || rec.Saturated != "" {
					t.Fatalf("%d requests, saturated %q, %v; want %d", rec.Requests, rec.Saturated, err, c.want)
				}
				if took := time.Since(begin); took > arrivals[299]+time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A warm-up plays the beginning, and the window begins with it again.
func TestReplayWarmup(t *testing.T) {
	l := dyno.Load{Replay: recording(t), Warmup: seconds(0.2)}
	synctest.Test(t, func(t *testing.T) {
		var d diary
		rec, err := runFake(t.Context(), l, Options{}, d.serve(time.Now(), time.Millisecond))
		if err != nil || rec.Requests != 300 {
			t.Fatalf("%d requests, %v", rec.Requests, err)
		}
		warm := slices.IndexFunc(arrivals, func(at time.Duration) bool { return at >= 200*time.Millisecond })
		if len(d.some) != 300+warm || !slices.Equal(d.some[:warm], d.some[warm:2*warm]) || d.some[0] != "/0" {
			t.Errorf("%d requests, %q", len(d.some), d.some[:2*warm])
		}
	})
}

// Parts of several generators are the whole, each request once and at its time.
func TestReplayInParts(t *testing.T) {
	l := dyno.Load{Replay: recording(t), Speed: 4}
	synctest.Test(t, func(t *testing.T) {
		var d diary
		s := d.serve(time.Now(), time.Millisecond)
		var all sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = runFake(t.Context(), l, Options{Part: Part{Index: i, Of: len(errs)}}, s)
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil || len(d.some) != 300 {
			t.Fatalf("%d requests, %v", len(d.some), err)
		}
		for i, at := range arrivals {
			if got := d.had[fmt.Sprintf("/%d", i)]; got != at/4 {
				t.Errorf("request %d came at %v, want %v", i, got, at/4)
			}
		}
	})
}

// Side by side, all settings meet the same requests, each at its place in the run's own time.
func TestReplaySideBySide(t *testing.T) {
	l := dyno.Load{Replay: recording(t), Speed: 2}
	synctest.Test(t, func(t *testing.T) {
		diaries := make([]diary, 2)
		var plays []func(o Options) (*Record, error)
		for i := range diaries {
			plays = append(plays, func(o Options) (*Record, error) {
				return runFake(t.Context(), l, o, diaries[i].serve(time.Now(), time.Millisecond))
			})
		}
		recs, errs := beside(t.Context(), 1, 50*time.Millisecond, plays...)
		for i, rec := range recs {
			if errs[i] != nil || rec.Requests != 300 || rec.Failed+rec.Unsent != 0 || rec.Lateness.Max() != 0 || rec.Saturated != "" {
				t.Fatalf("%+v, %v", rec, errs[i])
			}
			if own := rec.Own; own < arrivals[299]/2 || own > arrivals[299]/2+10*time.Millisecond {
				t.Errorf("it took %v of the run's own time, want %v", own, arrivals[299]/2)
			}
		}
		one, other := diaries[0].some, diaries[1].some
		slices.Sort(one) // those of a burst come in any order
		slices.Sort(other)
		if !slices.Equal(one, other) {
			t.Error("settings met different requests")
		}
	})
}

// A recording is sent alike by each engine, with its headers and bodies.
func TestReplayOnEngines(t *testing.T) {
	const monkeys = "\n🐵🙈🙉\n"
	name := filepath.Join(t.TempDir(), "requests.gor")
	text := "1 a 1795636366000000001 0\nPOST /form HTTP/1.1\r\nHost: a.example\r\nX-T: 1\r\nContent-Length: 3\r\n\r\n{{n" + monkeys +
		"1 b 1795636366000000001 0\nGET /a HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\n\r\n" + monkeys
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	each(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("X-T"), r.Header.Get("User-Agent"), string(b)}, " "))
		if r.Host == "a.example" {
			t.Error("the recorded host was sent")
		}
	}), func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), _ *atomic.Int64) {
		if !e.open {
			return
		}
		mu.Lock()
		got = nil
		mu.Unlock()
		rec, err := run(dyno.Load{Replay: name}, nil)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(got)
		if want := []string{"GET /a  x ", "POST /form 1 dyno {{n"}; err != nil || rec.Requests != 2 || !slices.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})
}
