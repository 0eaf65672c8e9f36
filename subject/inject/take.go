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

func (c *dynoProbeConn) profile(args []string) error {
	if len(args) == 0 {
		return dynoProbeErrors.New("profile: no name")
	}
	p := dynoProbePprof.Lookup(args[0])
	if p == nil {
		return dynoProbeErrors.New("unknown profile " + dynoProbeStrconv.Quote(args[0]))
	}
	return p.WriteTo(c, 0)
}

func (c *dynoProbeConn) cpuProfile(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "start":
		to := new(dynoProbeBytes.Buffer)
		if err := dynoProbePprof.StartCPUProfile(to); err != nil {
			return err
		}
		c.cpu = to
		return nil
	case len(args) == 1 && args[0] == "stop":
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

// trace sends an execution trace in parts while it is recorded, as it would be part of the heap
// otherwise. It lasts as many seconds as args says, or until the next line or the connection's end.
func (c *dynoProbeConn) trace(args []string) error {
	length, err := dynoProbeLength(args)
	if err == nil {
		err = dynoProbeTrace.Start(dynoProbeParts{c.conn})
	}
	if err != nil {
		return err
	}
	c.conn.SetReadDeadline(dynoProbeTime.Now().Add(length))
	_, err = c.r.Peek(1)
	dynoProbeTrace.Stop()
	c.conn.SetDeadline(dynoProbeTime.Time{})
	if err == nil {
		c.r.ReadSlice('\n')
	}
	return nil
}

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

func dynoProbeLength(args []string) (dynoProbeTime.Duration, error) {
	seconds := 0.0
	if len(args) > 0 {
		seconds, _ = dynoProbeStrconv.ParseFloat(args[0], 64)
	}
	if !(seconds > 0 && seconds <= 86400) {
		return 0, dynoProbeErrors.New("want a number of seconds above 0")
	}
	return dynoProbeTime.Duration(seconds * float64(dynoProbeTime.Second)), nil
}

// dynoProbeBlock is the rate of the block profile, which the runtime does not tell.
var dynoProbeBlock dynoProbeAtomic.Int64

// set turns a knob and answers what it was.
func (c *dynoProbeConn) set(args []string) error {
	if len(args) != 2 {
		return dynoProbeErrors.New("set: want a name and a value")
	}
	on, off := args[1] == "on", args[1] == "off"
	v, err := dynoProbeStrconv.ParseInt(args[1], 10, 64)
	if err != nil && !on && !off {
		return err
	}
	before := int64(0)
	switch {
	case args[0] == "gogc" && off:
		before = int64(dynoProbeDebug.SetGCPercent(-1))
	case args[0] == "gogc" && !on:
		before = int64(dynoProbeDebug.SetGCPercent(int(v)))
	case args[0] == "memlimit" && off:
		before = dynoProbeDebug.SetMemoryLimit(1<<63 - 1)
	case args[0] == "memlimit" && !on && v >= 0:
		before = dynoProbeDebug.SetMemoryLimit(v)
	case args[0] == "procs" && v > 0:
		before = int64(dynoProbeRuntime.GOMAXPROCS(int(v)))
	case args[0] == "mutex" && !on && !off: // one of so many contentions is in the profile
		before = int64(dynoProbeRuntime.SetMutexProfileFraction(int(v)))
	case args[0] == "block" && !on && !off: // nanoseconds; shorter waits are in it now and then
		before = dynoProbeBlock.Swap(v)
		dynoProbeRuntime.SetBlockProfileRate(int(v))
	case args[0] == "tick" && (on || off):
		if dynoProbeArm(on) {
			before = 1
		}
	default:
		return dynoProbeErrors.New("set: bad value " + dynoProbeStrconv.Quote(args[1]) + " of " + args[0])
	}
	c.body = dynoProbeStrconv.AppendInt(c.body, before, 10)
	return nil
}
