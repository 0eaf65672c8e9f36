package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/profiles"
)

var garbage []byte

// allocateHere allocates 64 MiB, which the heap's profile samples every 512 KiB.
func allocateHere() {
	for range 1024 {
		garbage = make([]byte, 64<<10)
	}
}

// contendHere makes goroutines wait for a lock until the runtime has recorded it.
func contendHere() {
	recorded := func(name string) int64 {
		var b bytes.Buffer
		pprof.Lookup(name).WriteTo(&b, 0)
		p, err := profile.ParseData(b.Bytes())
		if err != nil {
			panic(err)
		}
		return sum(p, "contendHere")
	}
	mutex, block := recorded("mutex"), recorded("block")
	var mu sync.Mutex
	for recorded("mutex") == mutex || recorded("block") == block {
		var wg sync.WaitGroup
		mu.Lock()
		for range 100 {
			wg.Go(func() { mu.Lock(); mu.Unlock() }) //lint:ignore SA2001 waiting is the point
		}
		time.Sleep(time.Millisecond)
		mu.Unlock()
		wg.Wait()
	}
}

// sum adds the values that are shown first, of samples in which a function is.
func sum(p *profile.Profile, function string) (total int64) {
	i, err := p.SampleIndexByName("")
	if err != nil {
		panic(err)
	}
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(line profile.Line) bool { return strings.Contains(line.Function.Name, function) })
		}) {
			total += s.Value[i]
		}
	}
	return total
}

// The two sides of the socket understand each other, and what happens in the
// window is what the profiles have.
func TestProfilesOfTheWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { dynoProbeServe(l) })
	defer func() { l.Close(); served.Wait() }()

	defer func() {
		runtime.SetMutexProfileFraction(0)
		runtime.SetBlockProfileRate(0)
		dynoProbeBlock.Store(0)
	}()

	allocateHere() // before the window
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := profiles.Profiles{}.Watch(ctx, probe.Target{Socket: path, Profile: dyno.ProfileNames, Begun: func() {
		allocateHere()
		contendHere()
		cancel()
	}})
	if err != nil || len(r.Warnings) > 0 || len(r.Files) != len(dyno.ProfileNames) {
		t.Fatalf("%d files, warnings %q, %v", len(r.Files), r.Warnings, err)
	}
	for _, f := range r.Files {
		p, err := profile.ParseData(f.Data)
		if err == nil {
			err = p.CheckValid()
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if own := sum(p, "dynoProbe"); own != 0 {
			t.Errorf("%s has %d of the probe's own", f.Name, own)
		}
		switch f.Name {
		case "allocs.pb.gz":
			if got := sum(p, "allocateHere"); got < 48<<20 || got > 80<<20 {
				t.Errorf("%d MiB were allocated in the window, want 64 within the error of sampling", got>>20)
			}
		case "mutex.pb.gz", "block.pb.gz":
			if sum(p, "contendHere") <= 0 {
				t.Errorf("%s: nothing waited", f.Name)
			}
		}
	}
}

type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

func TestTraceOfTheWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { dynoProbeServe(l) })
	defer func() { l.Close(); served.Wait() }()
	var f file
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = profiles.Trace{}.Watch(ctx, probe.Target{
		Socket: path, Length: time.Minute, Begun: cancel,
		Create: func(string) (io.WriteCloser, error) { return &f, nil },
	})
	if err != nil || !strings.HasPrefix(f.String(), "go 1.") || f.Len() < 500 {
		t.Errorf("%d bytes %.10q, %v", f.Len(), &f.Buffer, err)
	}
}

// A stuck conn takes half of what is written, as one whose reader has stopped.
type stuck struct {
	net.Conn
	closed bool
}

func (c *stuck) Write(p []byte) (int, error)      { return len(p) / 2, os.ErrDeadlineExceeded }
func (c *stuck) SetWriteDeadline(time.Time) error { return nil }
func (c *stuck) Close() error                     { c.closed = true; return nil }

// After a part that was cut off nothing more may come: its length would be wrong.
func TestTraceEndsWithItsReader(t *testing.T) {
	var c stuck
	if _, err := (dynoProbeParts{&c}).Write([]byte("go 1.")); err == nil || !c.closed {
		t.Errorf("%v; closed: %v", err, c.closed)
	}
}
