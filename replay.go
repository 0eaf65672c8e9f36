package dyno

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Recording describes the file of a replay, as far as decisions before the load depend on it. It is a part
// of the plan. Package load/traffic reads the file.
type Recording struct {
	Bytes        int      `json:"bytes,omitempty"`         // of the file that were read: a log may grow
	Requests     int      `json:"requests,omitempty"`      // that can be sent again
	Length       Duration `json:"length,omitempty"`        // from the first to a little after the last, as recorded
	Peak         int      `json:"peak,omitempty"`          // requests per second in the densest tenth of a second
	Left         []string `json:"left_out,omitempty"`      // what cannot be sent again: numbers, each with the reason
	Secrets      int      `json:"secrets,omitempty"`       // headers that were left out, as their names say that they are secret
	Filtered     bool     `json:"filtered,omitempty"`      // secret headers are no more in it, as it was written for agents
	WholeSeconds bool     `json:"whole_seconds,omitempty"` // all times were; requests are spread over their seconds
}

// Warnings are the doubts about a load that replays a recording.
func (l *Load) Warnings() (ws Warnings) {
	r := l.Recording
	if l.Replay == "" || r == nil {
		return nil
	}
	name := filepath.Base(l.Replay)
	if len(r.Left) > 0 {
		ws.AddOf(WarnReplay, "left out", "the replay of %s leaves out %s", name, strings.Join(r.Left, "; "))
	}
	if r.Secrets > 0 {
		ws.AddOf(WarnReplay, "secrets", "the replay of %s leaves out %d headers that look secret, such as Authorization and Cookie (consider: --replay-secrets)", name, r.Secrets)
	}
	if r.WholeSeconds {
		ws.AddOf(WarnReplay, "times", "%s has times in whole seconds, so its requests are spread at random over their seconds (consider: a log format with fractions of a second)", name)
	}
	return ws
}

// Open reports whether requests are due by a schedule: that of a rate, or of a recording.
func (l *Load) Open() bool { return l.Rate.Open() || l.Replay != "" }

// Pace returns the speed of a replay as a multiple of the recorded one.
func (l *Load) Pace() float64 {
	if l.Speed == 0 {
		return 1
	}
	return float64(l.Speed)
}

// Length returns how long an open load lasts by its rate or its recording; 0 means for ever.
func (l *Load) Length() time.Duration {
	if l.Replay != "" && l.Recording != nil {
		return time.Duration(float64(l.Recording.Length) / l.Pace())
	}
	return l.Rate.Length()
}

// Peak is the highest rate of an open load, in requests per second.
func (l *Load) Peak() float64 {
	if l.Replay != "" && l.Recording != nil {
		return float64(l.Recording.Peak) * l.Pace()
	}
	return l.Rate.Max()
}

// replayed describes what an open load replays.
func (l *Load) replayed() string {
	s := "the requests of " + filepath.Base(l.Replay)
	if l.Pace() != 1 {
		s += fmt.Sprintf(" at %v × their speed", l.Speed)
	}
	all := l.Length().Round(10 * time.Millisecond)
	switch {
	case l.Recording == nil:
		return s
	case l.Requests > 0:
		return s + fmt.Sprintf(", the first %d of %d", l.Requests, l.Recording.Requests)
	case time.Duration(l.Duration) < l.Length():
		return s + fmt.Sprintf(", for the first %v of %v", l.Duration, all)
	}
	return s + fmt.Sprintf(", %d in %v", l.Recording.Requests, all)
}

// Speed is the speed of a replay as a multiple of the recorded one.
type Speed float64

// mostSpeed is low enough that times which differ in a recording differ in its replay.
const mostSpeed = 1e5

// ParseSpeed reads "2", "0.5" or "2x".
func ParseSpeed(s string) (Speed, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "x"), 64)
	if err != nil || !(v >= 1/mostSpeed && v <= mostSpeed) || math.IsNaN(v) {
		return 0, fmt.Errorf("bad speed %q (want for example 2, twice as fast as recorded)", s)
	}
	return Speed(v), nil
}
