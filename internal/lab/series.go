package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/probe"
)

// seriesFile is known to package store, which converts it after the trial.
const seriesFile = "series.csv"

const (
	seriesFlush = time.Second      // how long a point waits in memory, and is lost with a dyno that is killed
	seriesHold  = 10 * time.Second // how long the first points wait at most
)

// A seriesLog writes the points of all probes to a file as they are read, so that they take no memory and
// survive dyno. If several probes have one series, it writes that of the most trusted one. Rates begin with
// the second point, so the first points wait until each probe has given two.
type seriesLog struct {
	path string // "" if nothing is written

	mu      sync.Mutex
	columns map[string]*column // by metric
	held    []point            // the first, until settled
	settled bool
	buf     bytes.Buffer // lines that are not written yet
	lines   *csv.Writer  // to buf
	timer   *time.Timer
	file    *os.File // nil before the first line
	err     error    // the first
	ended   bool
}

type column struct {
	name  string
	trust int // of the most trusted probe that gave a point
}

type point struct {
	of    *column
	trust int
	at    time.Duration
	value float64
}

func newSeriesLog(dir string) *seriesLog {
	l := &seriesLog{columns: map[string]*column{}}
	l.lines = csv.NewWriter(&l.buf)
	if dir != "" {
		l.path = filepath.Join(dir, seriesFile)
	}
	return l
}

// of is the Target.Sample of a probe.
func (l *seriesLog) of(name string) func(metric string, at time.Duration, v float64) {
	trust := probe.Trust(name)
	return func(metric string, at time.Duration, v float64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.path == "" || l.err != nil || l.ended {
			return
		}
		c, ok := l.columns[metric]
		if !ok {
			c = &column{lineEnds.Replace(metric), trust}
			l.columns[metric] = c
		}
		c.trust = min(c.trust, trust)
		p := point{c, trust, at, v}
		if !l.settled {
			l.held = append(l.held, p)
			return
		}
		l.add(p)
	}
}

// A service may choose any name, but a record is one line.
var lineEnds = strings.NewReplacer("\r", " ", "\n", " ")

// begin is called when all probes have begun; they read at intervals of every.
func (l *seriesLog) begin(every time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(min(2*every+seriesFlush, seriesHold), l.tick)
}

func (l *seriesLog) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.ended {
		l.flush()
	}
}

// add makes a line of a point, unless another probe is trusted more.
func (l *seriesLog) add(p point) {
	if p.trust > p.of.trust {
		return
	}
	if l.timer == nil && !l.ended {
		l.timer = time.AfterFunc(seriesFlush, l.tick)
	}
	l.lines.Write([]string{p.of.name, strconv.FormatFloat(p.at.Seconds(), 'f', 6, 64), strconv.FormatFloat(p.value, 'g', -1, 64)})
}

// flush writes what has waited; after an error nothing more.
func (l *seriesLog) flush() {
	l.settled = true
	for _, p := range l.held {
		l.add(p)
	}
	l.held = nil
	l.lines.Flush()
	if l.buf.Len() == 0 || l.err != nil {
		return
	}
	if l.file == nil {
		if l.file, l.err = logs.Create(l.path); l.err == nil {
			_, l.err = l.file.WriteString("metric,sec,value\n")
		}
	}
	if l.err == nil {
		_, l.err = l.buf.WriteTo(l.file)
	}
}

// close ends the file; again it does nothing. The error is a doubt: the series are cut off.
func (l *seriesLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.flush()
	if l.file != nil {
		if err := l.file.Close(); l.err == nil {
			l.err = err
		}
	}
	if l.err != nil {
		return fmt.Errorf("the series are incomplete: %w (consider: more room for the run directory, or a longer probes.every)", l.err)
	}
	return nil
}
