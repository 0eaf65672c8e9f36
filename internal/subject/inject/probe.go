package main

// dyno adds this file to the main package of a service, through go build -overlay. It does nothing
// unless DYNO_PROBE is set. Then it answers questions on the unix socket named there: a line
// "COMMAND [ARG]" gets "ok N" and N bytes, or "error MESSAGE"; before an "ok" there may be any
// number of "part N" and N bytes. It opens no port.
//
// It must compile beside any code, in any language version that Go 1.22 accepts: hence the names,
// the renamed imports and no newer built-in functions. "metrics" must not allocate, as dyno
// measures allocations per request.

import (
	dynoProbeBufio "bufio"
	dynoProbeBytes "bytes"
	dynoProbeErrors "errors"
	dynoProbeNet "net"
	dynoProbeOS "os"
	dynoProbeRuntime "runtime"
	dynoProbeDebug "runtime/debug"
	dynoProbeMetrics "runtime/metrics"
	dynoProbePprof "runtime/pprof"
	dynoProbeStrconv "strconv"
	dynoProbeStrings "strings"
	dynoProbeSync "sync"
	dynoProbeAtomic "sync/atomic"
	dynoProbeTime "time"
)

func init() {
	path := dynoProbeOS.Getenv("DYNO_PROBE")
	if path == "" {
		return
	}
	dynoProbeOS.Unsetenv("DYNO_PROBE") // it is not for children of this process
	l, err := dynoProbeNet.Listen("unix", path)
	if err != nil {
		dynoProbeOS.Stderr.WriteString("dyno probe: " + err.Error() + "\n")
		return
	}
	dynoProbeArm(true)
	go dynoProbeServe(l)
}

// A dynoProbeSentinel is garbage once a cycle: its finalizer revives it and reads what the cycle
// found live. The pointer keeps it out of the blocks of tiny objects.
type dynoProbeSentinel struct{ _ *int }

var (
	dynoProbeLiveSum   dynoProbeAtomic.Uint64 // bytes
	dynoProbeLiveCount dynoProbeAtomic.Uint64 // cycles

	// The finalizer's own.
	dynoProbeTicks uint
	dynoProbeLive  = []dynoProbeMetrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	dynoProbeCycle = []dynoProbeMetrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
)

var dynoProbeTicking struct {
	dynoProbeSync.Mutex
	on, armed bool
}

// dynoProbeArm turns the reading of each cycle on or off, and returns what it was.
func dynoProbeArm(on bool) (before bool) {
	t := &dynoProbeTicking
	t.Lock()
	defer t.Unlock()
	before, t.on = t.on, on
	if on && !t.armed {
		t.armed = true
		dynoProbeRuntime.SetFinalizer(&dynoProbeSentinel{}, dynoProbeTick)
	}
	return before
}

// dynoProbeEnds are for "gcends": the runtime remembers 256 ends and one live heap, and more cycles
// may pass between two questions. It is without pointers.
var dynoProbeEnds struct {
	dynoProbeSync.Mutex
	stats dynoProbeDebug.GCStats
	last  int64
	ring  [1 << 12]dynoProbeEnd // at n modulo its length
}

type dynoProbeEnd struct {
	n    int64
	at   int64  // nanoseconds since 1970; 0 if it is not known yet
	live uint64 // bytes; 0 if the finalizer has not seen it
}

// dynoProbeEndOf returns the entry of a cycle. The caller holds dynoProbeEnds.
func dynoProbeEndOf(n int64) *dynoProbeEnd {
	x := &dynoProbeEnds.ring[n%int64(len(dynoProbeEnds.ring))]
	if x.n != n {
		*x = dynoProbeEnd{n: n}
	}
	return x
}

// dynoProbeKeepEnds updates dynoProbeEnds, which the caller holds. It allocates the first time
// only.
func dynoProbeKeepEnds() {
	e := &dynoProbeEnds
	dynoProbeDebug.ReadGCStats(&e.stats)
	for i, end := range e.stats.PauseEnd { // the latest first
		n := e.stats.NumGC - int64(i)
		if n <= e.last {
			break
		}
		dynoProbeEndOf(n).at = end.UnixNano()
	}
	e.last = e.stats.NumGC
}

func dynoProbeTick(s *dynoProbeSentinel) {
	t := &dynoProbeTicking
	t.Lock()
	defer t.Unlock()
	if t.armed = t.on; !t.on {
		return
	}
	if dynoProbeTicks%64 == 0 { // of 256; the finalizer may miss some
		dynoProbeEnds.Lock()
		dynoProbeKeepEnds()
		dynoProbeEnds.Unlock()
	}
	dynoProbeTicks++
	dynoProbeKeepLive()
	dynoProbeRuntime.SetFinalizer(s, dynoProbeTick)
}

// dynoProbeKeepLive does not allocate.
func dynoProbeKeepLive() {
	dynoProbeMetrics.Read(dynoProbeLive)
	v := dynoProbeLive[1].Value
	if v.Kind() != dynoProbeMetrics.KindUint64 || v.Uint64() == 0 {
		return
	}
	dynoProbeLiveSum.Add(v.Uint64())
	dynoProbeLiveCount.Add(1)
	// If a cycle ended between the two reads, the live bytes belong to another cycle: skip it.
	dynoProbeMetrics.Read(dynoProbeCycle)
	if n := dynoProbeCycle[0].Value.Uint64(); n == dynoProbeLive[0].Value.Uint64() {
		dynoProbeEnds.Lock()
		dynoProbeEndOf(int64(n)).live = v.Uint64()
		dynoProbeEnds.Unlock()
	}
}

func dynoProbeServe(l dynoProbeNet.Listener) {
	for {
		conn, err := l.Accept()
		if dynoProbeErrors.Is(err, dynoProbeNet.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors: the service's trouble, and it may pass
			dynoProbeTime.Sleep(50 * dynoProbeTime.Millisecond)
			continue
		}
		go dynoProbeNew().serve(conn)
	}
}

type dynoProbeConn struct {
	samples, brief []dynoProbeMetrics.Sample
	stats          dynoProbeRuntime.MemStats
	head           []byte
	body           []byte

	conn dynoProbeNet.Conn
	r    *dynoProbeBufio.Reader
	cpu  *dynoProbeBytes.Buffer // of the CPU profile that is being taken, or nil
}

func dynoProbeNew() *dynoProbeConn {
	c := &dynoProbeConn{}
	for _, d := range dynoProbeMetrics.All() {
		if dynoProbeStrings.HasPrefix(d.Name, "/godebug/") {
			continue
		}
		c.samples = append(c.samples, dynoProbeMetrics.Sample{Name: d.Name})
		if d.Kind != dynoProbeMetrics.KindFloat64Histogram {
			c.brief = append(c.brief, dynoProbeMetrics.Sample{Name: d.Name})
		}
	}
	return c
}

func (c *dynoProbeConn) serve(conn dynoProbeNet.Conn) {
	c.conn, c.r = conn, dynoProbeBufio.NewReaderSize(conn, 256)
	defer c.close()
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return
		}
		c.body = c.body[:0]
		if err := c.answer(dynoProbeBytes.TrimSpace(line)); err != nil {
			msg := dynoProbeStrings.Replace(err.Error(), "\n", " ", -1)
			c.head = append(append(append(c.head[:0], "error "...), msg...), '\n')
			c.body = c.body[:0]
		} else {
			c.head = append(c.head[:0], "ok "...)
			c.head = append(dynoProbeStrconv.AppendInt(c.head, int64(len(c.body)), 10), '\n')
		}
		if _, err := conn.Write(c.head); err != nil {
			return
		}
		if _, err := conn.Write(c.body); err != nil {
			return
		}
		if cap(c.body) > 1<<20 { // a profile: not to be kept in the service's heap
			c.body = nil
		}
	}
}

func (c *dynoProbeConn) close() {
	c.conn.Close()
	if c.cpu != nil {
		dynoProbePprof.StopCPUProfile()
	}
}

// answer puts the answer into c.body.
func (c *dynoProbeConn) answer(line []byte) error {
	switch string(line) { // those that are asked in the measured window
	case "metrics brief":
		c.metrics(c.brief)
		return nil
	case "metrics exact":
		// Objects in a P's cached span are not counted before it is full; this flushes the caches.
		dynoProbeRuntime.ReadMemStats(&c.stats)
		c.metrics(c.samples)
		return nil
	}
	if after := dynoProbeBytes.TrimPrefix(line, []byte("gcends ")); len(after) < len(line) {
		return c.ends(string(after))
	}
	command, arg, _ := dynoProbeStrings.Cut(string(line), " ")
	switch command {
	case "hello":
		c.body = append(c.body, "go "+dynoProbeRuntime.Version()...)
	case "gc":
		dynoProbeRuntime.GC()
	case "free":
		dynoProbeDebug.FreeOSMemory()
	case "set":
		name, value, _ := dynoProbeStrings.Cut(arg, " ")
		return c.set(name, value)
	case "profile":
		return c.profile(arg)
	case "cpu":
		return c.cpuProfile(arg)
	case "trace":
		return c.trace(arg)
	default:
		return dynoProbeErrors.New("unknown command " + dynoProbeStrconv.Quote(command))
	}
	return nil
}

func (c *dynoProbeConn) Write(p []byte) (int, error) {
	c.body = append(c.body, p...)
	return len(p), nil
}

func (c *dynoProbeConn) uint(name string, v uint64) {
	c.body = append(append(c.body, name...), ' ')
	c.body = append(dynoProbeStrconv.AppendUint(c.body, v, 10), '\n')
}

func (c *dynoProbeConn) float(name string, v float64) {
	c.body = append(append(c.body, name...), ' ')
	c.body = append(dynoProbeStrconv.AppendFloat(c.body, v, 'g', -1, 64), '\n')
}

func (c *dynoProbeConn) metrics(samples []dynoProbeMetrics.Sample) {
	dynoProbeMetrics.Read(samples)
	c.uint("time u", uint64(dynoProbeTime.Now().UnixNano()))
	if dynoProbeCPU != nil {
		user, system := dynoProbeCPU()
		c.float("cpu/user:seconds f", user)
		c.float("cpu/system:seconds f", system)
	}
	c.uint("gc/live-sum:bytes u", dynoProbeLiveSum.Load())
	c.uint("gc/live-count:gc-cycles u", dynoProbeLiveCount.Load())
	for i := range samples {
		s := &samples[i]
		c.body = append(c.body, s.Name...)
		switch s.Value.Kind() {
		case dynoProbeMetrics.KindUint64:
			c.uint(" u", s.Value.Uint64())
		case dynoProbeMetrics.KindFloat64:
			c.float(" f", s.Value.Float64())
		case dynoProbeMetrics.KindFloat64Histogram:
			c.histogram(s.Value.Float64Histogram())
		default: // of a later Go
			c.body = c.body[:len(c.body)-len(s.Name)]
		}
	}
}

func (c *dynoProbeConn) histogram(h *dynoProbeMetrics.Float64Histogram) {
	c.body = append(c.body, " h"...)
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		c.body = append(c.body, ' ')
		c.body = dynoProbeStrconv.AppendFloat(c.body, h.Buckets[i], 'g', -1, 64)
		c.body = append(c.body, ',')
		c.body = dynoProbeStrconv.AppendFloat(c.body, h.Buckets[i+1], 'g', -1, 64)
		c.body = append(c.body, ',')
		c.body = dynoProbeStrconv.AppendUint(c.body, n, 10)
	}
	c.body = append(c.body, '\n')
}

// dynoProbeCPU returns the CPU time of the process in seconds; cpu.go sets it on Unix.
var dynoProbeCPU func() (user, system float64)

// ends writes a line for each cycle after one: its number, its end and what it found live.
func (c *dynoProbeConn) ends(after string) error {
	n, err := dynoProbeStrconv.ParseInt(after, 10, 64)
	if err != nil {
		return err
	}
	e := &dynoProbeEnds
	e.Lock()
	defer e.Unlock()
	dynoProbeKeepEnds()
	if oldest := e.last - int64(len(e.ring)); n < oldest {
		n = oldest
	}
	for n++; n <= e.last; n++ {
		if x := e.ring[n%int64(len(e.ring))]; x.n == n && x.at != 0 {
			c.body = append(dynoProbeStrconv.AppendInt(c.body, n, 10), ' ')
			c.body = dynoProbeStrconv.AppendInt(c.body, x.at, 10)
			c.uint("", x.live)
		}
	}
	return nil
}
