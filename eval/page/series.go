package main

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
)

// series writes series.csv as the probes' points come: what is read every second,
// and what each collection tells.
func (m *trialMaker) series(cs []dyno.Collection) (err error) {
	f, err := os.Create(m.dir.TrialFile(m.trial.N, "series.csv"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	w.WriteString("metric,sec,value\n") // Flush says what went wrong
	var line []byte
	point := func(metric string, at time.Duration, v float64) {
		line = append(append(line[:0], metric...), ',')
		line = append(strconv.AppendFloat(line, at.Seconds(), 'f', 6, 64), ',')
		line = append(strconv.AppendFloat(line, v, 'g', -1, 64), '\n')
		w.Write(line)
	}
	next, end := 0, m.result.Elapsed
	for at := time.Duration(0); at <= end+time.Second; at += time.Second {
		at := min(at, end)
		for ; next < len(cs) && cs[next].Start <= at; next++ {
			c := &cs[next]
			point("heap-live-B", c.End, c.Live)
			point("heap-start-B", c.End, c.HeapStart)
			point("heap-true-B", c.End, c.Live-(c.HeapEnd-c.HeapStart)/20)
		}
		m.sample(at, point)
	}
	return w.Flush()
}

// sample is what is read every second.
func (m *trialMaker) sample(at time.Duration, point func(string, time.Duration, float64)) {
	s, rng := m.of, m.rng
	live := s.liveAt(at)
	goal := s.goal(live)
	alloc, slow := s.rush(at)
	rss := s.resident(live) * (0.97 + 0.005*rng.Float64() + 0.01*(alloc-1)/10)
	point("rss-B", at, rss)
	point("vsz-B", at, 1.9e9)
	point("mem-frac", at, rss/25e9)
	point("mapped-B", at, rss-3*mib)
	point("heap-B", at, live+(goal-live)*rng.Float64())
	point("heap-goal-B", at, goal)
	point("threads", at, float64(8+rng.IntN(2)))
	point("goroutines", at, float64(12+s.clients+int(4*(slow-1))+rng.IntN(3)))
	point("fds", at, float64(11+s.clients))
	if at == 0 { // rates begin with the second reading
		return
	}
	point("cpu-frac", at, s.cpu*s.rate*(0.95+0.1*rng.Float64())*slow)
	point("alloc-B/s", at, s.alloc*s.rate*alloc*(0.98+0.04*rng.Float64()))
	point("minflt/s", at, 40*rng.Float64())
	point("majflt/s", at, 0)
}
