package goruntime

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
)

// mostCollections of a window are kept, in 30 MB: seven hours at ten a second.
const mostCollections = 1 << 18

// A gc line tells its start in whole milliseconds and comes some 0.1 ms after its end; on
// contended CPUs up to 1 ms.
const (
	stamp     = time.Millisecond
	lineDelay = time.Millisecond
	sameClock = 50 * time.Microsecond // what is less is rounding
)

// collections puts a window's cycles on dyno's clock, since the watch began.
//
// The runtime tells a cycle's start since the program began, cut to milliseconds, and its
// length, cut to two digits; the injected probe tells ends to the nanosecond, which place
// those cycles. Together they tell when the program began, which places the others. Both
// processes have the same monotonic clock.
type collections struct {
	list  []dyno.Collection
	rough []rough
	over  int // beyond mostCollections

	low, high time.Duration // the program began between them
	exact     bool          // an end was told; else low is not known
}

// A rough collection is one without a told end.
type rough struct {
	i              int // in the list
	begun, arrived time.Duration
}

// add takes a cycle whose line has arrived, and its end if told. It reports whether that
// end can be: a child that inherited standard error counts its cycles from 1, too.
func (cs *collections) add(c *gctrace.Cycle, arrived time.Duration, e ending, told bool) bool {
	if len(cs.list) == mostCollections {
		cs.over++
		return told
	}
	ended := e.at
	if len(cs.list) == 0 {
		cs.high = math.MaxInt64
	}
	least, spread := lengthOf(c)
	begun := c.Start
	high := min(cs.high, arrived-least-begun)
	if told {
		low := ended - least - spread - begun - stamp
		if cs.exact {
			low = max(low, cs.low)
		}
		if at := min(high, ended-least-begun); ended <= arrived && low <= at+sameClock {
			cs.low, high, cs.exact = low, at, true
		} else {
			told = false
		}
	}
	cs.high = high
	k := dyno.Collection{
		N: c.N, Start: ended - least - spread/2, End: ended, Uncertainty: spread / 2,
		SweepTerm: c.SweepTerm, MarkTerm: c.MarkTerm,
		Assist: c.Assist, Background: c.Background, Idle: c.Idle,
		HeapStart: c.HeapStart, HeapEnd: c.HeapEnd, Live: c.Live, Goal: c.Goal, Forced: c.Forced,
	}
	if told && e.live > 0 {
		k.Live = e.live
	}
	if !told {
		k.End, k.Uncertainty = least, spread // until place
		cs.rough = append(cs.rough, rough{len(cs.list), begun, arrived})
	}
	cs.list = append(cs.list, k)
	return told
}

// placed places the rough collections by when the program began, and returns all.
func (cs *collections) placed() []dyno.Collection {
	low := cs.low
	if n := len(cs.rough); !cs.exact && n > 0 {
		// The line that best bounds the program's begin came at most lineDelay
		// after its cycle's end. Two uniform parts of stamp were cut off: in one of
		// n cycles their sum is below 2.5/√n 19 times of 20.
		low = cs.high - lineDelay - time.Duration(min(1, 2.5/math.Sqrt(float64(n)))*float64(stamp))
	}
	for _, r := range cs.rough {
		k := &cs.list[r.i]
		least, spread := k.End, k.Uncertainty
		first, last := low+r.begun, max(cs.high, low)+r.begun+stamp // its start
		if latest := r.arrived - least; first > latest {            // of another process
			first, last = latest-stamp, latest
		} else {
			last = min(last, latest)
		}
		k.Start = (first + last) / 2
		first, last = first+least, min(last+least+spread, r.arrived) // its end
		k.End = (first + last) / 2
		k.Uncertainty = (last - first) / 2
	}
	cs.rough = nil
	return cs.list
}

// lengthOf is a cycle's least length, and how much more it may be: the runtime cuts times
// to two digits from 100 µs to 10 ms, else to whole milliseconds or microseconds
// (runtime/mgc.go, fmtNSAsMS).
func lengthOf(c *gctrace.Cycle) (least, spread time.Duration) {
	for _, d := range []time.Duration{c.SweepTerm, c.Mark, c.MarkTerm} {
		least += d
		switch {
		case d >= 10*time.Millisecond:
			spread += time.Millisecond
		case d >= time.Millisecond:
			spread += 100 * time.Microsecond
		case d >= 100*time.Microsecond:
			spread += 10 * time.Microsecond
		default:
			spread += time.Microsecond
		}
	}
	return least, spread
}

type ending struct {
	at   time.Duration // since the watch began
	live float64       // bytes that it marked; 0 if that is not known
}

type ender struct {
	c            *Client        // nil if the subject has no probe
	last, before int            // the latest cycle that it told of, now and the time before
	step         time.Duration  // of the wall clock against the monotonic one
	exact        bool           // it told what some cycle found live
	ends         map[int]ending // by number; those of the last two answers
}

// ask returns how the latest cycles ended, since start. The line of the last one, and what
// it found live, may come after the next question. A probe that fails is not asked again.
func (e *ender) ask(start time.Time) map[int]ending {
	maps.DeleteFunc(e.ends, func(n int, _ ending) bool { return n <= e.before })
	if e.c == nil {
		return e.ends
	}
	e.before = e.last
	after := e.last
	if e.exact && e.ends[after].live == 0 {
		after = max(0, after-1)
	}
	answer, err := e.c.Ask("gcends " + strconv.Itoa(after))
	if err == nil {
		// The probe's times are of the wall clock, which may be set.
		now := time.Now()
		step := time.Duration(now.UnixNano()-start.UnixNano()) - now.Sub(start)
		err = e.parse(string(answer), start.UnixNano()+int64(step))
		if (step - e.step).Abs() > sameClock {
			e.step = step
			clear(e.ends)
		}
	}
	if err != nil {
		e.close()
	}
	return e.ends
}

// parse reads lines of a cycle's number, nanoseconds since 1970, and bytes.
func (e *ender) parse(answer string, start int64) error {
	for line := range strings.Lines(answer) {
		var n int
		var ns int64
		var live uint64
		if _, err := fmt.Sscanf(line, "%d %d %d\n", &n, &ns, &live); err != nil {
			return fmt.Errorf("parse the end of a collection: %w", err)
		}
		e.ends[n] = ending{time.Duration(ns - start), float64(live)}
		e.exact = e.exact || live > 0
		e.last = max(e.last, n)
	}
	return nil
}

func (e *ender) close() {
	if e.c != nil {
		e.c.Close()
		e.c = nil
	}
}
