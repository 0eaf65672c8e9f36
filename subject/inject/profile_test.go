package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/probe"
)

var garbage []byte

// allocateHere allocates 64 MiB, which the heap's profile samples every 512 KiB.
func allocateHere() {
	for range 1024 {
		garbage = make([]byte, 64<<10)
	}
}

// contendHere makes goroutines wait for a lock until the runtime has seen it.
func contendHere() {
	waited := func() float64 {
		s := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
		metrics.Read(s)
		return s[0].Value.Float64()
	}
	var mu sync.Mutex
	for before := waited(); waited() == before; {
		var wg sync.WaitGroup
		mu.Lock()
		for range 100 {
			wg.Go(func() { mu.Lock(); mu.Unlock() })
		}
		time.Sleep(time.Millisecond)
		mu.Unlock()
		wg.Wait()
	}
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
	p, _ := probe.Named(dyno.ForProfile)
	r, err := p.Watch(ctx, probe.Target{Socket: path, Profile: dyno.ProfileNames, Begun: func() {
		allocateHere()
		contendHere()
		cancel()
	}})
	if err != nil || len(r.Warnings) > 0 || len(r.Files) != len(dyno.ProfileNames) {
		t.Fatalf("%d files, warnings %q, %v", len(r.Files), r.Warnings, err)
	}
	sums := map[string]int64{} // of the value shown first, of samples in this test
	for _, f := range r.Files {
		p, err := profile.ParseData(f.Data)
		if err == nil {
			err = p.CheckValid()
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		i, err := p.SampleIndexByName("")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			for _, line := range s.Location {
				switch name := line.Line[0].Function.Name; {
				case strings.HasSuffix(name, "allocateHere") && f.Name == "allocs.pb.gz",
					strings.Contains(name, "contendHere") && (f.Name == "mutex.pb.gz" || f.Name == "block.pb.gz"):
					sums[f.Name] += s.Value[i]
				case strings.Contains(name, "dynoProbe"):
					t.Errorf("%s has the probe's own %s", f.Name, name)
				}
			}
		}
	}
	if got := sums["allocs.pb.gz"]; got < 48<<20 || got > 80<<20 {
		t.Errorf("%d MiB were allocated in the window, want 64 within the error of sampling", got>>20)
	}
	for _, name := range []string{"mutex.pb.gz", "block.pb.gz"} {
		if sums[name] == 0 {
			t.Errorf("%s: nothing waited", name)
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
	p, _ := probe.Named(dyno.ForTrace)
	_, err = p.Watch(ctx, probe.Target{
		Socket: path, Length: time.Minute, Begun: cancel,
		Create: func(string) (io.WriteCloser, error) { return &f, nil },
	})
	if err != nil || !strings.HasPrefix(f.String(), "go 1.") || f.Len() < 500 {
		t.Errorf("%d bytes %.10q, %v", f.Len(), &f.Buffer, err)
	}
}
