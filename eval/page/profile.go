package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// A place is a line of a function in the invented program's profiles.
type place struct {
	name, file string
	line       int64
}

var (
	placeMain    = place{"runtime.main", "/usr/local/go/src/runtime/proc.go", 290}
	placeServe   = place{"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", 2142}
	placeHandler = place{"main.(*server).patch", "/src/sessions/api.go", 88}
	placeMerge   = place{"main.merge", "/src/sessions/document.go", 31}
	placeAudit   = place{"main.(*audit).add", "/src/sessions/audit.go", 44}
	placeDecode  = place{"encoding/json.Unmarshal", "/usr/local/go/src/encoding/json/decode.go", 108}
	placeEncode  = place{"encoding/json.Marshal", "/usr/local/go/src/encoding/json/encode.go", 171}
	placeMalloc  = place{"runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", 1058}
	placeWrite   = place{"syscall.Syscall", "/usr/local/go/src/syscall/syscall_linux.go", 74}
	placeWorker  = place{"runtime.gcBgMarkWorker", "/usr/local/go/src/runtime/mgc.go", 1423}
	placeDrain   = place{"runtime.gcDrain", "/usr/local/go/src/runtime/mgcmark.go", 1217}
	placeAssist  = place{"runtime.gcAssistAlloc", "/usr/local/go/src/runtime/mgcmark.go", 485}
)

// A weighed is a stack, the leaf first, and its part of the whole.
type weighed struct {
	part  float64
	stack []place
}

// A drawing builds a profile from stacks.
type drawing struct {
	p     *profile.Profile
	known map[place]*profile.Location
}

func newDrawing(kind, unit string, period int64, types ...string) *drawing {
	p := &profile.Profile{PeriodType: &profile.ValueType{Type: kind, Unit: unit}, Period: period}
	for _, t := range types {
		typ, unit, _ := strings.Cut(t, "/")
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: typ, Unit: unit})
	}
	p.Mapping = []*profile.Mapping{{ID: 1, Start: 0x400000, Limit: 0x900000, File: "/tmp/sessions", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}}
	return &drawing{p: p, known: map[place]*profile.Location{}}
}

func (d *drawing) location(at place) *profile.Location {
	if l, ok := d.known[at]; ok {
		return l
	}
	id := uint64(len(d.known) + 1)
	fn := &profile.Function{ID: id, Name: at.name, SystemName: at.name, Filename: at.file, StartLine: max(at.line-7, 1)}
	l := &profile.Location{ID: id, Mapping: d.p.Mapping[0], Address: 0x400000 + id*16, Line: []profile.Line{{Function: fn, Line: at.line}}}
	d.p.Function = append(d.p.Function, fn)
	d.p.Location = append(d.p.Location, l)
	d.known[at] = l
	return l
}

func (d *drawing) add(stack []place, values ...int64) {
	s := &profile.Sample{Value: values}
	for _, at := range stack {
		s.Location = append(s.Location, d.location(at))
	}
	d.p.Sample = append(d.p.Sample, s)
}

func (d *drawing) write(path string) (err error) {
	if err := d.p.CheckValid(); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return d.p.Write(f)
}

// cpuStacks are where the CPU time goes when collections take such a share of it.
func cpuStacks(gc float64) []weighed {
	request := func(stack ...place) []place { return append(stack, placeServe) }
	rest := 1 - gc
	return []weighed{
		{0.22 * rest, request(placeDecode, placeMerge, placeHandler)},
		{0.17 * rest, request(placeEncode, placeHandler)},
		{0.12 * rest, request(placeMalloc, placeDecode, placeMerge, placeHandler)},
		{0.08 * rest, request(placeMalloc, placeAudit, placeHandler)},
		{0.06 * rest, request(placeMerge, placeHandler)},
		{0.05 * rest, request(placeAudit, placeHandler)},
		{0.26 * rest, request(placeWrite)},
		{0.04 * rest, []place{placeWrite, placeMain}},
		{0.8 * gc, []place{placeDrain, placeWorker}},
		{0.2 * gc, request(placeDrain, placeAssist, placeMalloc, placeDecode, placeMerge, placeHandler)},
	}
}

// writeProfiles writes what a trial for profiles takes.
func writeProfiles(path string, m *trialMaker) error {
	cpu, _ := m.result.Values.Get("cpu-sec/req")
	gc, _ := m.result.Values.Get("gc-cpu-frac")
	total := cpu * float64(m.result.Sent.Requests)
	if slices.Contains(m.trial.Profile, "cpu") {
		d := newDrawing("cpu", "nanoseconds", 1e7, "samples/count", "cpu/nanoseconds")
		d.p.TimeNanos, d.p.DurationNanos = m.start.UnixNano(), int64(m.result.Elapsed)
		for _, w := range cpuStacks(gc) {
			samples := int64(w.part*total*100*(0.95+0.1*m.rng.Float64()) + 0.5)
			d.add(w.stack, max(samples, 1), max(samples, 1)*1e7)
		}
		if err := d.write(filepath.Join(path, "cpu.pb.gz")); err != nil {
			return err
		}
	}
	if !slices.Contains(m.trial.Profile, "allocs") {
		return nil
	}
	d := newDrawing("space", "bytes", 512<<10, "alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes")
	for _, w := range cpuStacks(0) {
		bytes := int64(w.part * m.of.alloc * float64(m.result.Sent.Requests))
		d.add(w.stack, bytes/64, bytes, 0, 0)
	}
	return d.write(filepath.Join(path, "allocs.pb.gz"))
}

// writeLeakProfiles writes the heap and the goroutines before and after the window.
func writeLeakProfiles(path string, m *trialMaker) error {
	for _, when := range []struct {
		name string
		at   time.Duration
	}{{"before", 0}, {"after", m.result.Elapsed}} {
		d := newDrawing("space", "bytes", 512<<10, "alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes")
		d.p.TimeNanos = m.start.Add(when.at).UnixNano()
		put := func(bytes float64, stack ...place) {
			d.add(stack, int64(bytes/64), int64(bytes), int64(bytes/64), int64(bytes))
		}
		put(m.of.live*0.7, placeDecode, placeMerge, placeHandler, placeServe)
		put(m.of.live*0.3, placeEncode, placeHandler, placeServe)
		put(m.of.leak*when.at.Seconds(), placeAudit, placeHandler, placeServe)
		if err := d.write(filepath.Join(path, "heap-"+when.name+".pb.gz")); err != nil {
			return err
		}
		g := newDrawing("goroutine", "count", 1, "goroutine/count")
		g.add([]place{placeServe}, int64(m.of.clients))
		g.add([]place{placeMain}, 12)
		if err := g.write(filepath.Join(path, "goroutine-"+when.name+".pb.gz")); err != nil {
			return err
		}
	}
	return nil
}
