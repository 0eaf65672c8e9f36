package web

import (
	"bytes"
	"encoding/csv"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// liveMetrics are the series of a trial that followers are told of.
var liveMetrics = []string{"rss-B", "heap-B", "heap-live-B", "heap-goal-B", "mapped-B", "cpu-frac", "goroutines", "threads"}

// A current is a trial under way.
type current struct {
	dir     *store.Dir
	trial   *dyno.Trial
	place   os.FileInfo // its directory
	began   time.Time
	series  tail
	latency tail
	window  float64 // when the measured window began, seconds since 1970; 0 if not known
}

func newCurrent(dir *store.Dir, t *dyno.Trial, place os.FileInfo) *current {
	c := &current{dir: dir, trial: t, place: place, began: place.ModTime()}
	c.series = tail{path: dir.TrialFile(t.N, "series.csv"), recent: true}
	c.latency = tail{path: dir.TrialFile(t.N, "latency.hlog"), recent: true}
	files, _ := os.ReadDir(dir.TrialFile(t.N, ""))
	for _, f := range files { // some are made as it begins, and never written to
		if info, err := f.Info(); err == nil && info.ModTime().Before(c.began) {
			c.began = info.ModTime()
		}
	}
	return c
}

// phase is measuring once there is a latency or a reading of the window.
func (c *current) phase() string {
	for _, t := range []tail{c.latency, c.series} {
		if info, err := os.Stat(t.path); err == nil && info.Size() > 0 {
			return "measuring"
		}
	}
	return "starting"
}

// A second is what an interval of a latency log says; latencies are in seconds.
type second struct {
	Sec      float64 `json:"sec"` // its end, since the measured window began
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
	Max      float64 `json:"max"`
	Requests int64   `json:"requests"`
}

// tell tells what is new of a trial; all are those under way, itself among them.
func (c *current) tell(out *events, all []*current) {
	event := map[string]any{"trial": c.trial.N}
	if len(all) > 1 {
		beside := make([]int, len(all))
		for i, o := range all {
			beside[i] = o.trial.N
		}
		event["beside"], event["setting"] = beside, c.trial.Setting.Label()
	}
	if points := c.points(); len(points) > 0 {
		event := maps.Clone(event)
		event["points"] = points
		out.send("points", event)
	}
	if seconds := c.seconds(); len(seconds) > 0 {
		event["seconds"] = seconds
		out.send("latency", event)
	}
}

// points are the readings that were added to series.csv, by metric: seconds since the
// measured window began, and a value.
func (c *current) points() map[string][][2]float64 {
	points := map[string][][2]float64{}
	c.series.lines(func(line []byte) {
		f, err := csv.NewReader(bytes.NewReader(line)).Read()
		if err != nil || len(f) != 3 || !slices.Contains(liveMetrics, f[0]) {
			return
		}
		at, err1 := strconv.ParseFloat(f[1], 64)
		v, err2 := strconv.ParseFloat(f[2], 64)
		if err1 != nil || err2 != nil || math.IsNaN(at+v) || math.IsInf(at+v, 0) {
			return
		}
		points[f[0]] = append(points[f[0]], [2]float64{at, v})
	})
	return points
}

// seconds are the intervals that were added to latency.hlog.
func (c *current) seconds() (seconds []second) {
	var added bytes.Buffer
	c.latency.lines(func(line []byte) {
		added.Write(line)
		added.WriteByte('\n')
	})
	if added.Len() == 0 {
		return nil
	}
	if c.window == 0 {
		c.window = windowStart(c.latency.path)
	}
	for l, err := range hist.Lines(&added, time.Unix(0, 0)) {
		if err != nil {
			break // it was not a dyno that wrote this
		}
		seconds = append(seconds, second{
			Sec: math.Round((l.To.Seconds()-c.window)*1e3) / 1e3,
			P50: l.Quantile(0.5).Seconds(), P99: l.Quantile(0.99).Seconds(), Max: l.Max().Seconds(),
			Requests: l.Count(),
		})
	}
	return seconds
}

// windowStart returns the start of the first interval of a latency log, in seconds
// since 1970; 0 if absent near the start of the file.
func windowStart(path string) float64 {
	f, err := safe.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for l, err := range hist.Lines(io.LimitReader(f, recent), time.Unix(0, 0)) {
		if err == nil {
			return l.From.Seconds()
		}
	}
	return 0
}
