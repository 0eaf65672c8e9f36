package goruntime

import (
	"fmt"
	"strconv"

	"github.com/dynolab/dyno"
)

// Knobs turn what can be turned in a running subject: by the injected probe, and from
// outside the runtime's trace of collections.
type Knobs struct {
	pid    int
	client Client
	trace  traceSwitch
}

// OpenKnobs needs a process with an injected probe. The caller closes the Knobs.
func OpenKnobs(pid int, socket string) (*Knobs, error) {
	k := &Knobs{pid: pid, client: Client{Socket: socket}}
	if _, err := k.client.Ask("hello"); err != nil {
		return nil, err
	}
	return k, nil
}

// Close turns nothing back.
func (k *Knobs) Close() {
	k.client.Close()
	k.trace.close()
}

// Set gives GOGC, GOMEMLIMIT or GOMAXPROCS another level, written as in the variable.
func (k *Knobs) Set(factor, level string) error {
	name, ok := map[string]string{"GOGC": "gogc", "GOMAXPROCS": "procs", "GOMEMLIMIT": "memlimit"}[factor]
	if !ok {
		return fmt.Errorf("%s cannot be set while the subject runs", factor)
	}
	if factor == "GOMEMLIMIT" && level != "off" && level != "0" {
		n, err := dyno.ParseSize(level)
		if err != nil {
			return err
		}
		level = strconv.FormatInt(int64(n), 10)
	}
	_, err := k.client.Ask("set " + name + " " + level)
	return err
}

// Tick turns the injected probe's reading of each collection on or off.
func (k *Knobs) Tick(on bool) error {
	_, err := k.client.Ask("set tick " + map[bool]string{false: "off", true: "on"}[on])
	return err
}

// Trace turns the runtime's trace of collections on or off in a subject launched with
// gctrace=1. The error says why that cannot be done.
func (k *Knobs) Trace(on bool) error {
	if k.trace.file == nil {
		if err := k.trace.open(k.pid); err != nil {
			return fmt.Errorf("switch the GC trace of process %d: %w", k.pid, err)
		}
	}
	return k.trace.set(on)
}

// Collections is the number of collections since the subject began.
func (k *Knobs) Collections() (float64, error) {
	answer, err := k.client.Ask("metrics brief")
	if err != nil {
		return 0, err
	}
	s, err := parseSample(answer)
	return s.of(mCycles), err
}
