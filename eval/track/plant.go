//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/history"
)

// A change is planted at a commit.
type change struct {
	name string
	at   int
	to   int // last commit of a creep; else at
	log  float64
	mem  bool
}

// An alarm is a change that dyno calls shown.
type alarm struct {
	Metric, Shape, From, To string
	Ratio                   float64
	by                      int // commit at which it was told
}

// plant divides the history among six changes.
func (s *study) plant() {
	n := s.commits
	s.Work, s.Keeps = make([]int, n), make([]int, n)
	for i := range n {
		s.Work[i] = history.Turns
	}
	if s.none {
		return
	}
	sizes := []change{{name: "3 %", log: math.Log(1.03)}, {name: "5 %", log: math.Log(1.05)}, {name: "8 %", log: math.Log(1.08)}, {name: "better, 5 %", log: -math.Log(1.05)},
		{name: "creep of 20 times 0.5 %", log: 20 * math.Log(1.005)}, {name: "1 MiB more", mem: true}}
	s.rng.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	each := (n - 10) / len(sizes)
	work, keeps := float64(history.Turns), 0
	levels := make([]float64, n)
	for k, c := range sizes {
		c.at = 10 + k*each + s.rng.IntN(each/3)
		c.to = c.at
		if strings.HasPrefix(c.name, "creep") {
			c.to = c.at + 19
		}
		for i := c.at; i < n; i++ {
			levels[i] += c.log * float64(min(i-c.at+1, c.to-c.at+1)) / float64(c.to-c.at+1)
			if c.mem {
				s.Keeps[i] = keeps + 1<<20
			}
		}
		s.planted = append(s.planted, c)
	}
	for i := range n {
		s.Work[i] = int(math.Round(work * math.Exp(levels[i])))
	}
}

// hashing is the part of a request's time that is hashing.
const hashing = 0.95

// level is the logarithm of a metric of a commit, against the anchor.
func (s *study) level(metric string, i int) float64 {
	switch metric {
	case "cpu-sec/req", "p50-sec", "p99-sec":
		return math.Log1p(hashing * (float64(s.Work[i])/float64(s.Work[0]) - 1))
	case "rss-peak-B":
		return math.Log1p(float64(s.Keeps[i]) / max(s.base[metric], 4<<20))
	}
	return 0
}

// truth is the logarithm of the ratio that an alarm is about.
func (s *study) truth(a *alarm) float64 {
	return s.level(a.Metric, s.index(a.To)) - s.level(a.Metric, s.index(a.From))
}

// A point is a line of dyno's about a commit.
type point struct {
	Kind   string            `json:"kind"`
	At     time.Time         `json:"at"`
	Name   string            `json:"name"`
	Commit string            `json:"commit"`
	Anchor string            `json:"anchor"`
	Before string            `json:"before"`
	Same   bool              `json:"same,omitempty"`
	Blocks int               `json:"blocks"`
	Took   float64           `json:"took-sec,omitempty"`
	Host   string            `json:"host"`
	Logs   map[string]ratios `json:"logs,omitempty"`
}

type ratios struct {
	Anchor []float64 `json:"anchor"`
	Before []float64 `json:"before"`
}

// draw writes the line of a commit that is not really measured. It takes a commit that was, and moves its blocks to the true level, with all that
// they deviate by. Every second time it mirrors the deviations about the mean of all commits, as a comparison of equals may come out either way.
// The blocks stay together: drawn one by one with replacement, their mean would vary twice as much as that of real commits.
func (s *study) draw(i int) error {
	from := s.points[s.rng.IntN(len(s.points))]
	p := point{Kind: "point", At: time.Now().UTC(), Name: from.Name, Commit: s.ids[i], Anchor: from.Anchor, Before: s.ids[i-1], Blocks: from.Blocks, Host: from.Host, Logs: map[string]ratios{}}
	if l, err := readLines(filepath.Join(s.dir, "lines")); err == nil && len(l.points) > 0 {
		p.Anchor = l.points[len(l.points)-1].Anchor
	}
	mirrored := s.rng.IntN(2) == 0
	moved := func(rest []float64, to, middle float64) (out []float64) {
		for _, x := range rest {
			if mirrored {
				x = 2*middle - x
			}
			out = append(out, to+x)
		}
		return out
	}
	for metric := range from.Logs {
		var all ratios
		for k := range s.points {
			r := s.rest(&s.points[k], metric)
			all.Anchor, all.Before = append(all.Anchor, r.Anchor...), append(all.Before, r.Before...)
		}
		r, is := s.rest(&from, metric), s.level(metric, i)
		p.Logs[metric] = ratios{
			moved(r.Anchor, is-s.level(metric, s.index(p.Anchor)), mean(all.Anchor)),
			moved(r.Before, is-s.level(metric, i-1), mean(all.Before)),
		}
	}
	s.raw[i] = s.base["cpu-sec/req"] * math.Exp(s.level("cpu-sec/req", i)) * s.weather()
	if s.kept.has(p.Commit) {
		return nil
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "lines", p.At.Format("2006-01")+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// rest is what the blocks of a measured commit deviated by from the truth.
func (s *study) rest(p *point, metric string) (r ratios) {
	of := func(logs []float64, other string) (rest []float64) {
		truly := s.level(metric, s.index(p.Commit)) - s.level(metric, s.index(other))
		for _, x := range logs {
			rest = append(rest, x-truly)
		}
		return rest
	}
	return ratios{of(p.Logs[metric].Anchor, p.Anchor), of(p.Logs[metric].Before, p.Before)}
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

// weather is how a plain figure of another day differs: as the real ones do among commits of one level.
func (s *study) weather() float64 {
	var rest []float64
	for i, x := range s.raw {
		if x > 0 && slices.ContainsFunc(s.points, func(p point) bool { return p.Commit == s.ids[i] }) {
			rest = append(rest, math.Log(x/s.base["cpu-sec/req"])-s.level("cpu-sec/req", i))
		}
	}
	return math.Exp(rest[s.rng.IntN(len(rest))])
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	if len(xs) == 0 {
		return math.NaN()
	}
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// The lines of a track, in the order of their times.
type lines struct {
	points []point
	shown  []shown // alarms
}

type shown struct {
	alarm
	Shown bool
	At    time.Time
}

func readLines(dir string) (l lines, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return l, fmt.Errorf("no lines in %s: %w", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return l, err
		}
		for line := range strings.Lines(string(data)) {
			var p point
			var a shown
			if json.Unmarshal([]byte(line), &p) == nil && p.Kind == "point" {
				l.points = append(l.points, p)
			} else if json.Unmarshal([]byte(line), &a) == nil && a.Shown {
				l.shown = append(l.shown, a)
			}
		}
	}
	slices.SortStableFunc(l.points, func(p, q point) int { return p.At.Compare(q.At) })
	return l, nil
}

func (l *lines) has(commit string) bool {
	return slices.ContainsFunc(l.points, func(p point) bool { return p.Commit == commit })
}

// told is the commit after which an alarm was told: that one, unless an earlier session told it.
func (l *lines) told(a *alarm, now int) (commit int) {
	for _, s := range l.shown {
		if s.Metric == a.Metric && s.From == a.From && s.To == a.To {
			commit = 0
			for _, p := range l.points {
				if p.At.Before(s.At) {
					commit++
				}
			}
			return commit
		}
	}
	return now
}

// rawValues are the medians over blocks of a commit's values.
func rawValues(file, rev string) (map[string]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string][]float64{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var r struct {
			Setting string
			For     string
			Values  map[string]float64
		}
		if json.Unmarshal(in.Bytes(), &r) == nil && r.Setting == "rev="+rev && r.For == "" {
			for metric, x := range r.Values {
				all[metric] = append(all[metric], x)
			}
		}
	}
	values := map[string]float64{}
	for metric, xs := range all {
		values[metric] = median(xs)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has no values of %s", file, rev)
	}
	return values, in.Err()
}
