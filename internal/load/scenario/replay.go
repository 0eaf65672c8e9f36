package scenario

import (
	"net/http"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/traffic"
)

// A replay has the steps of a recording, by what answer is a success: they are few, though its requests may be millions.
type replay struct {
	recorded *traffic.Recording
	plain    *Step
	refused  [100]*Step // by status above 399; nil if no request was answered so
}

const replayName = "request"

// replay makes the loop one step that is each request of a recording in its place.
func (c *compiler) replay(l *dyno.Load) error {
	rec, err := traffic.Read(l)
	if err != nil {
		return err
	}
	plain, err := c.request(&dyno.Step{Name: replayName, Path: "/"}, true)
	if err != nil {
		return err
	}
	plain.Fixed, plain.recorded = nil, rec
	p := &replay{recorded: rec, plain: plain}
	for i := range rec.Len() {
		if at := rec.Status(i) - http.StatusBadRequest; at >= 0 && at < len(p.refused) && p.refused[at] == nil {
			p.refused[at] = &Step{Label: plain.Label, base: c.base, keep: plain.keep, Measured: true, Tally: plain.Tally, recorded: rec, also: rec.Status(i)}
		}
	}
	c.s.Recording = rec
	c.s.Loop = []*Step{{Label: replayName, Measured: true, replay: p}}
	return nil
}

// step returns the step of request n. A request that was refused when it was recorded may be refused again.
func (p *replay) step(n int) *Step {
	if at := p.recorded.Status(n) - http.StatusBadRequest; at >= 0 && at < len(p.refused) {
		return p.refused[at]
	}
	return p.plain
}

// renderRecorded is Render of request n of a recording.
func (s *Step) renderRecorded(r *http1.Request, n int) (err error) {
	q := s.recorded.Request(n)
	r.Method, r.Closes, r.KeepBody, r.KeepHeader = q.Method, false, s.keep, false
	if r.Target, err = http1.OriginForm(s.base, append(r.Target[:0], q.Target...)); err != nil {
		return err
	}
	r.Host = append(r.Host[:0], s.base.Host...)
	r.Body = append(r.Body[:0], q.Body...)
	fields := slices.Grow(r.Fields[:0], len(q.Headers)+1)[:len(q.Headers)+1] // keeps the values' memory
	named := false
	for i, h := range q.Headers {
		fields[i].Name, fields[i].Value = h.Name, append(fields[i].Value[:0], h.Value...)
		named = named || h.Name == "User-Agent"
	}
	last := &fields[len(q.Headers)]
	last.Name, last.Value = "User-Agent", append(last.Value[:0], "dyno"...)
	if named {
		fields = fields[:len(q.Headers)]
	}
	r.Fields = fields
	return nil
}
