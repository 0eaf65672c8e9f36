package main

// This part of the probe takes profiles and traces and turns knobs, outside of measured windows.

import (
	dynoProbeBytes "bytes"
	dynoProbeErrors "errors"
	dynoProbeNet "net"
	dynoProbeRuntime "runtime"
	dynoProbeDebug "runtime/debug"
	dynoProbePprof "runtime/pprof"
	dynoProbeTrace "runtime/trace"
	dynoProbeStrconv "strconv"
	dynoProbeAtomic "sync/atomic"
	dynoProbeTime "time"
)

func (c *dynoProbeConn) profile(name string) error {
	p := dynoProbePprof.Lookup(name)
	if p == nil {
		return dynoProbeErrors.New("unknown profile " + dynoProbeStrconv.Quote(name))
	}
	return p.WriteTo(c, 0)
}

func (c *dynoProbeConn) cpuProfile(what string) error {
	switch what {
	case "start":
		to := new(dynoProbeBytes.Buffer)
		if err := dynoProbePprof.StartCPUProfile(to); err != nil {
			return err
		}
		c.cpu = to
		return nil
	case "stop":
		if c.cpu == nil {
			return dynoProbeErrors.New("no CPU profile was started")
		}
		dynoProbePprof.StopCPUProfile()
		c.body = c.cpu.Bytes()
		c.cpu = nil
		return nil
	}
	return dynoProbeErrors.New("cpu: want start or stop")
}

// trace sends an execution trace in parts while it is recorded, since the whole would be a part of the heap.
// It ends after that many seconds, with the next line, or with the connection. A CPU profile runs beside it,
// unless the service takes one itself, so that the trace has samples of what runs; its own output goes nowhere.
func (c *dynoProbeConn) trace(seconds string) error {
	length, err := dynoProbeStrconv.ParseFloat(seconds, 64)
	if err != nil || !(length > 0 && length <= 86400) {
		return dynoProbeErrors.New("want a number of seconds above 0")
	}
	if err := dynoProbeTrace.Start(dynoProbeParts{c.conn}); err != nil {
		return err
	}
	if dynoProbePprof.StartCPUProfile(dynoProbeNowhere{}) == nil {
		defer dynoProbePprof.StopCPUProfile()
	}
	c.conn.SetReadDeadline(dynoProbeTime.Now().Add(dynoProbeTime.Duration(length * float64(dynoProbeTime.Second))))
	_, err = c.r.Peek(1)
	dynoProbeTrace.Stop()
	c.conn.SetDeadline(dynoProbeTime.Time{})
	if err == nil {
		c.r.ReadSlice('\n')
	}
	return nil
}

type dynoProbeNowhere struct{}

func (dynoProbeNowhere) Write(p []byte) (int, error) { return len(p), nil }

type dynoProbeParts struct{ conn dynoProbeNet.Conn }

func (w dynoProbeParts) Write(p []byte) (int, error) {
	// A reader that stalls must not fill the memory of the service.
	w.conn.SetWriteDeadline(dynoProbeTime.Now().Add(10 * dynoProbeTime.Second))
	head := append(dynoProbeStrconv.AppendInt([]byte("part "), int64(len(p)), 10), '\n')
	_, err := w.conn.Write(head)
	n := 0
	if err == nil {
		n, err = w.conn.Write(p)
	}
	if err != nil { // the tracer would go on, and what came next would not be in its place
		w.conn.Close()
	}
	return n, err
}

// dynoProbeBlock is the rate of the block profile, which the runtime does not tell.
var dynoProbeBlock dynoProbeAtomic.Int64

// dynoProbeWords are the values that are no numbers.
var dynoProbeWords = map[string]int64{"gogc off": -1, "memlimit off": 1<<63 - 1, "tick off": 0, "tick on": 1}

// set turns a knob and answers what it was.
func (c *dynoProbeConn) set(name, value string) (err error) {
	v, ok := dynoProbeWords[name+" "+value]
	if !ok {
		if v, err = dynoProbeStrconv.ParseInt(value, 10, 64); err != nil {
			return err
		}
	}
	before := int64(0)
	switch {
	case name == "gogc":
		before = int64(dynoProbeDebug.SetGCPercent(int(v)))
	case name == "memlimit" && v >= 0:
		before = dynoProbeDebug.SetMemoryLimit(v)
	case name == "procs" && v > 0:
		before = int64(dynoProbeRuntime.GOMAXPROCS(int(v)))
	case name == "mutex": // one of so many contentions is in the profile
		before = int64(dynoProbeRuntime.SetMutexProfileFraction(int(v)))
	case name == "block": // nanoseconds; shorter waits are in it now and then
		before = dynoProbeBlock.Swap(v)
		dynoProbeRuntime.SetBlockProfileRate(int(v))
	case name == "tick":
		if dynoProbeArm(v == 1) {
			before = 1
		}
	default:
		return dynoProbeErrors.New("set: bad value " + dynoProbeStrconv.Quote(value) + " of " + name)
	}
	c.body = dynoProbeStrconv.AppendInt(c.body, before, 10)
	return nil
}
