// Package track follows a program over its commits: it reads what was measured of each, puts the commits on one line, finds where the line may
// have changed, and says when a change is shown.
//
// It only thinks. Its caller keeps the lines, knows the history of the repository, and measures.
package track

import (
	"encoding/json"
	"slices"
	"time"
)

// Kinds of lines. Lines of other kinds are not read.
const (
	kindStart = "track"
	kindPoint = "point"
	kindAlarm = "alarm"
)

// A Start is a line that begins a track: what is measured, and against which commit.
type Start struct {
	Kind   string          `json:"kind"`
	At     time.Time       `json:"at"`
	Name   string          `json:"name"`
	Plan   json.RawMessage `json:"plan"`           // of one setting; the package is relative to the repository's top
	Anchor string          `json:"anchor"`         // commit
	Tree   string          `json:"tree,omitempty"` // of the anchor
	Dyno   string          `json:"dyno"`
}

// A Point is a line about one commit, which was measured side by side with the anchor and with the commit before.
type Point struct {
	Kind       string            `json:"kind"`
	At         time.Time         `json:"at"`
	Name       string            `json:"name"`
	Commit     string            `json:"commit"`
	Tree       string            `json:"tree"` // of the commit: a rewritten history has the same trees
	Title      string            `json:"title,omitempty"`
	Anchor     string            `json:"anchor"`
	Before     string            `json:"before,omitempty"` // a commit; "" if that is the anchor, or none was measured
	BeforeTree string            `json:"before-tree,omitempty"`
	Same       bool              `json:"same,omitempty"` // its program is that of the commit before, so nothing was measured
	Blocks     int               `json:"blocks"`
	Took       float64           `json:"took-sec"`
	Host       string            `json:"host"` // in words: that of one line is not compared with that of another
	Dyno       string            `json:"dyno"`
	Logs       map[string]Ratios `json:"logs,omitempty"` // by metric
}

// Ratios are the logarithms of the ratios in each block.
type Ratios struct {
	Anchor []float64 `json:"anchor,omitempty"` // the commit against the anchor
	Before []float64 `json:"before,omitempty"` // the commit against the one before
}

// An Alarm is a line about a possible change that was looked at on fresh blocks. Most are no change.
type Alarm struct {
	Kind   string    `json:"kind"`
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Metric string    `json:"metric"`
	Shape  Shape     `json:"shape"`
	From   string    `json:"from"` // commit without the change
	To     string    `json:"to"`   // commit with it
	Shown  bool      `json:"shown"`
	Ratio  float64   `json:"ratio"` // of To over From; 0 if not known
	Lo     float64   `json:"lo"`    // its 95 % interval
	Hi     float64   `json:"hi"`
	P      float64   `json:"p"`
	Blocks int       `json:"blocks"`
	Alpha  float64   `json:"alpha"` // the error that it was allowed
	Worse  bool      `json:"worse,omitempty"`

	FromTree string `json:"from-tree,omitempty"` // of the commits: a rewritten history has the same trees
	ToTree   string `json:"to-tree,omitempty"`

	Why      string `json:"why,omitempty"` // nothing was measured, such as a commit that cannot be built
	Searched bool   `json:"searched,omitempty"`
	Commit   string `json:"commit,omitempty"` // that changed it, if that is known
	Tree     string `json:"tree,omitempty"`   // of Commit
	Title    string `json:"title,omitempty"`
	Function string `json:"function,omitempty"` // which the change is in, as far as profiles and the source say
	Run      string `json:"run,omitempty"`      // directory of the fresh blocks, on the machine that measured them
}

// A Shape is how a line changes.
type Shape string

// The shapes of changes.
const (
	Step  Shape = "step"  // at one commit
	Creep Shape = "creep" // over many, none of which is shown to have changed it
)

// Metrics are those that a track follows, in the order of its tables. Less is better in all of them.
func Metrics() []string {
	return []string{"cpu-sec/req", "alloc-B/req", "rss-peak-B", "p50-sec", "p99-sec"}
}

// A Log is all lines of one track, in the order of time.
type Log struct {
	Start  Start   // the last one
	Starts []Start // all
	Points []Point
	Alarms []Alarm
	Names  []string // of all tracks that there are, sorted
}

// Read reads the lines of the track of a name. "" is the only one there is; without it, or if there are several, the log has only Names.
func Read(lines []json.RawMessage, name string) *Log {
	l := &Log{}
	var heads []struct{ Kind, Name string }
	for _, line := range lines {
		var head struct{ Kind, Name string }
		_ = json.Unmarshal(line, &head) // what is no line of ours has no kind
		heads = append(heads, head)
		if head.Kind == kindStart && !slices.Contains(l.Names, head.Name) {
			l.Names = append(l.Names, head.Name)
		}
	}
	slices.Sort(l.Names)
	if name == "" && len(l.Names) == 1 {
		name = l.Names[0]
	}
	if !slices.Contains(l.Names, name) {
		return l
	}
	for i, line := range lines {
		if heads[i].Name != name {
			continue
		}
		switch heads[i].Kind {
		case kindStart:
			var s Start
			if json.Unmarshal(line, &s) == nil {
				l.Start, l.Starts = s, append(l.Starts, s)
			}
		case kindPoint:
			var p Point
			if json.Unmarshal(line, &p) == nil {
				l.Points = append(l.Points, p)
			}
		case kindAlarm:
			var a Alarm
			if json.Unmarshal(line, &a) == nil {
				l.add(a)
			}
		}
	}
	return l
}

// add takes an alarm. A second line about one look, which says what a search found, stands for the first.
func (l *Log) add(a Alarm) {
	i := slices.IndexFunc(l.Alarms, func(o Alarm) bool {
		return o.Metric == a.Metric && o.From == a.From && o.To == a.To && o.At.Equal(a.At)
	})
	switch {
	case i < 0:
		l.Alarms = append(l.Alarms, a)
	case a.Searched:
		l.Alarms[i] = a
	}
}

// Line is a line of the ledger.
func (s Start) Line() (json.RawMessage, error) { s.Kind = kindStart; return json.Marshal(s) }

// Line is a line of the ledger.
func (p Point) Line() (json.RawMessage, error) { p.Kind = kindPoint; return json.Marshal(p) }

// Line is a line of the ledger.
func (a Alarm) Line() (json.RawMessage, error) { a.Kind = kindAlarm; return json.Marshal(a) }
