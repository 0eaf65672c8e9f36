package main

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/store"
)

const goVersion = "go1.26.8"

// A trialMaker makes the files and the result of one trial.
type trialMaker struct {
	dir   *store.Dir
	trial dyno.Trial
	of    *service
	start time.Time
	rng   *rand.Rand
	steps []string
	rev   string
	limit int // requests that are made at most; 0 means the window's

	all, service, second *hist.Histogram
	log                  *hist.Log
	logged               time.Duration
	result               *dyno.Result
	statuses             map[int]int64
	last                 time.Duration
}

// add makes the trial and stores it. dress, if not nil, changes the result, or adds
// files to the trial's directory, before that.
func (m *trialMaker) add(dress func(*dyno.Result, string) error) (err error) {
	path, err := m.dir.TrialDir(m.trial.N)
	if err != nil {
		return err
	}
	f, err := os.Create(m.dir.TrialFile(m.trial.N, "latency.hlog"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m.start = m.start.Truncate(time.Millisecond)
	if m.log, err = hist.NewLog(f, m.start); err != nil {
		return err
	}
	m.all, m.service, m.second = hist.New(), hist.New(), hist.New()
	m.statuses = map[int]int64{}
	m.logged = 0
	m.result = &dyno.Result{Trial: m.trial, Start: m.start, Subject: goVersion + " " + m.rev, Latency: m.all}
	cs := m.of.collections(m.rng)
	if err := m.keep(cs); err != nil {
		return err
	}
	cs = slices.DeleteFunc(cs, func(c dyno.Collection) bool { return c.End > m.last })
	m.result.Elapsed = m.last
	m.result.Collections = cs
	if err := m.series(cs); err != nil {
		return err
	}
	m.sum(cs)
	m.snapshots()
	if m.trial.For == dyno.ForProfile {
		if err := writeProfiles(path, m); err != nil {
			return err
		}
	}
	if m.trial.Leak {
		if err := writeLeakProfiles(path, m); err != nil {
			return err
		}
	}
	if dress != nil {
		if err := dress(m.result, path); err != nil {
			return err
		}
	}
	return m.dir.Add(m.result)
}

// keep makes the requests, and counts and logs them on the way into their file.
func (m *trialMaker) keep(cs []dyno.Collection) error {
	var failed error
	n := 0
	err := m.dir.WriteRequests(m.trial.N, func(yield func(dyno.Request, error) bool) {
		m.of.requests(m.rng, m.steps, cs, func(r dyno.Request) bool {
			if failed = m.count(&r); failed != nil {
				yield(r, failed)
				return false
			}
			n++
			return yield(r, nil) && n != m.limit
		})
	})
	if err != nil {
		return err
	}
	return m.line(m.last)
}

// count is what the load would do with a request.
func (m *trialMaker) count(r *dyno.Request) error {
	for r.Due >= m.logged+time.Second {
		if err := m.line(m.logged + time.Second); err != nil {
			return err
		}
	}
	res := &m.result.Sent
	res.Requests++
	res.BytesIn += r.Bytes
	m.statuses[r.Status]++
	m.last = max(m.last, r.Done)
	if r.Failed {
		return nil
	}
	d := r.Done - r.Due
	m.all.Add(d)
	m.second.Add(d)
	m.service.Add(r.Done - r.Sent)
	slow := res.Slowest
	if len(slow) < 10 || d > slow[9].Done-slow[9].Due {
		slow = append(slow, *r)
		slices.SortStableFunc(slow, func(a, b dyno.Request) int { return cmp.Compare(b.Done-b.Due, a.Done-a.Due) })
		res.Slowest = slow[:min(len(slow), 10)]
	}
	return nil
}

// line writes what was counted since the last line.
func (m *trialMaker) line(to time.Duration) error {
	if to <= m.logged {
		return nil
	}
	err := m.log.Add(m.second, m.logged, to)
	m.second.Reset()
	m.logged = to
	return err
}

// sum fills in what the lab makes of a trial.
func (m *trialMaker) sum(cs []dyno.Collection) {
	r, s := m.result, m.of
	sec := r.Elapsed.Seconds()
	n := float64(r.Sent.Requests)
	ok := float64(m.all.Count())
	r.Sent.Engine, r.Sent.Statuses, r.Sent.BytesOut = "loop", m.statuses, r.Sent.Requests*90
	add := func(metric string, v float64) { r.Values = append(r.Values, dyno.Value{Metric: metric, Value: v}) }
	for _, q := range dyno.Percentiles {
		add(q.Metric, m.all.Quantile(q.Share).Seconds())
		if !s.closed {
			add("service-"+q.Metric, m.service.Quantile(q.Share).Seconds())
		}
	}
	add("max-sec", m.all.Max().Seconds())
	add("min-sec", m.all.Min().Seconds())
	add("mean-sec", m.all.Mean())
	add("stddev-sec", m.all.Stddev())
	add("req/s", ok/sec)
	add("sent/s", n/sec)
	add("failures", n-ok)
	if n > ok {
		r.Failures = map[string]int{"status 503": int(n - ok)}
	}
	add("generator-cpu-frac", 0.08+0.02*m.rng.Float64())
	var stw, longest, gc, assist, wall time.Duration
	live := 0.0
	for i := range cs {
		c := &cs[i]
		stw += c.SweepTerm + c.MarkTerm
		longest = max(longest, c.SweepTerm, c.MarkTerm)
		gc += c.Background + c.Assist
		assist += c.Assist
		wall += c.End - c.Start
		live += c.Live
	}
	cpu := s.cpu*n*(1+0.01*m.rng.NormFloat64()) + gc.Seconds()
	add("cpu-sec/req", cpu/n)
	add("alloc-B/req", s.alloc*(1+0.001*m.rng.NormFloat64()))
	add("allocs/req", 202)
	add("minflt/req", 0.11*m.rng.Float64())
	add("sched-p99-sec", 0.0003*(1+0.2*m.rng.Float64()))
	add("gomaxprocs", 2)
	add("gc-cycles", float64(len(cs)))
	if len(cs) > 0 {
		add("req/gc", n/float64(len(cs)))
		add("heap-live-B", live/float64(len(cs)))
	}
	add("gc-cpu-frac", gc.Seconds()/cpu)
	add("gc-cpu-sec/req", gc.Seconds()/n)
	add("gc-assist-frac", assist.Seconds()/cpu)
	add("gc-wall-frac", wall.Seconds()/sec)
	add("stw-max-sec", longest.Seconds())
	add("stw-total-sec", stw.Seconds())
	end := s.liveAt(r.Elapsed)
	add("heap-peak-B", s.goal(end))
	peak := s.resident(end) * (1 + 0.005*m.rng.NormFloat64())
	add("rss-peak-B", peak)
	add("rss-mean-B", (peak+s.resident(s.live))/2*0.97)
	add("ready-sec", 0.08+0.01*m.rng.Float64())
	add("threads", 9)
	add("goroutines", float64(12+s.clients))
	add("fds", float64(11+s.clients))
	r.Values.Sort()
	if m.rng.IntN(6) == 0 {
		r.Warnings.Add(dyno.WarnOthers, "other processes used %d %% of the CPUs during this trial", 12+m.rng.IntN(20))
	}
}

// resident is the memory of the process with so much of a live heap.
func (s *service) resident(live float64) float64 { return s.goal(live)*1.08 + 13*mib }

// snapshots say where the memory was.
func (m *trialMaker) snapshots() {
	snap := func(stage string, at time.Duration, live, dead float64) dyno.Snapshot {
		heap := m.of.goal(live)
		sn := dyno.Snapshot{
			Stage: stage, At: at, File: 7.2 * mib, Live: live, Dead: dead, Unused: 0.06 * heap, Idle: max(heap-live-dead, 0) + 0.5*mib,
			Released: 4 * mib, Stacks: 0.6 * mib, Metadata: 3 * mib, Other: 2 * mib, Goroutines: float64(12 + m.of.clients),
		}
		sn.RSS = sn.Mapped() + sn.File
		return sn
	}
	end := m.of.liveAt(m.result.Elapsed)
	ss := []dyno.Snapshot{snap(dyno.StageReady, -5*time.Second, m.of.live*0.9, 0)}
	if m.trial.Leak {
		ss = append(ss, snap(dyno.StageBefore, -10*time.Millisecond, m.of.live, 0))
	}
	ss = append(ss, snap(dyno.StageEnd, m.result.Elapsed+time.Millisecond, end, end*m.of.gogc/100*0.6))
	if m.trial.Leak {
		ss = append(ss, snap(dyno.StageAfter, m.result.Elapsed+20*time.Millisecond, end, 0))
	}
	if idle := time.Duration(m.trial.Load.Idle); idle > 0 {
		ss = append(ss, snap(dyno.StageIdle, m.result.Elapsed+idle, end, 0))
		m.result.Values = append(m.result.Values, dyno.Value{Metric: "rss-idle-B", Value: ss[len(ss)-1].RSS})
		m.result.Values.Sort()
	}
	m.result.Memory = ss
}
