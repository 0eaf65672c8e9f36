package slow

import (
	"encoding/json"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

type whyJSON struct {
	Quantile dyno.Number `json:"quantile"`
	Trials   []trialJSON `json:"trials"`
	Excess   stats.Mean  `json:"excess-sec"`
	Lines    []lineJSON  `json:"lines"`
}

type trialJSON struct {
	Trial    int         `json:"trial"`
	Block    int         `json:"block"`
	Length   float64     `json:"length-sec"`
	Cut      bool        `json:"cut,omitempty"`
	Known    bool        `json:"preempted,omitempty"`
	Sent     int         `json:"sent,omitempty"`
	Requests int         `json:"requests"`
	Tracing  int         `json:"left-out,omitempty"`
	Matched  bool        `json:"matched"`
	Slow     int         `json:"slow"`
	Quantile dyno.Number `json:"quantile-sec"`
	Typical  dyno.Number `json:"typical-sec"`
	Mean     dyno.Number `json:"slow-sec"`
	Client   *clientJSON `json:"client,omitempty"`
}

type clientJSON struct {
	Typical dyno.Number `json:"typical-sec"`
	Slow    dyno.Number `json:"slow-sec"`
	InDyno  dyno.Number `json:"in-dyno-sec"`
	Waking  dyno.Number `json:"waking-sec"`
	Service dyno.Number `json:"service-sec"`
	Leaving dyno.Number `json:"leaving-sec"`
}

type lineJSON struct {
	Part    string      `json:"part"`
	Site    *Site       `json:"site,omitempty"`
	Typical dyno.Number `json:"typical-sec"`
	Slow    dyno.Number `json:"slow-sec"`
	Excess  stats.Mean  `json:"excess-sec"`
	By      []byJSON    `json:"by,omitempty"`
	Joined  []Site      `json:"joined,omitempty"`
}

type byJSON struct {
	Part   string      `json:"part,omitempty"`
	Site   *Site       `json:"site,omitempty"`
	Other  bool        `json:"other-request,omitempty"`
	Idle   bool        `json:"idle,omitempty"`
	Excess dyno.Number `json:"sec"`
}

// leastJSON is the share of the excess that a line has at least, to be in JSON.
const leastJSON = 0.001

func siteJSON(s Site) *Site {
	if s == (Site{}) {
		return nil
	}
	return &s
}

func bysJSON(bys []By, least float64) (out []byJSON) {
	for _, b := range bys {
		if b.Excess > least || b.Excess < -least {
			j := byJSON{Site: siteJSON(b.Site), Other: b.Other, Idle: b.Idle, Excess: dyno.Number(b.Excess)}
			if !b.Idle {
				j.Part = b.Part.String()
			}
			out = append(out, j)
		}
	}
	return out
}

// MarshalJSON implements json.Marshaler; doc/format.md describes it.
func (w *Why) MarshalJSON() ([]byte, error) {
	j := whyJSON{Quantile: dyno.Number(w.Quantile), Excess: w.Excess}
	for _, t := range w.Trials {
		x := trialJSON{
			t.N, t.Block, t.Length.Seconds(), t.Cut, t.Preempted, t.Sent, t.Requests, t.Tracing, t.Matched, t.Slow.N,
			dyno.Number(t.At), dyno.Number(t.Typical.Mean), dyno.Number(t.Slow.Mean), nil,
		}
		if c := t.Client; t.Matched {
			x.Client = &clientJSON{dyno.Number(c.Typical), dyno.Number(c.Slow), dyno.Number(c.InDyno), dyno.Number(c.Waking), dyno.Number(c.Service), dyno.Number(c.Leaving)}
		}
		j.Trials = append(j.Trials, x)
	}
	least := leastJSON * w.Excess.Mean
	for _, l := range w.Lines {
		if l.Excess.Mean > least || l.Excess.Mean < -least {
			j.Lines = append(j.Lines, lineJSON{
				l.Part.String(), siteJSON(l.Site), dyno.Number(l.Typical), dyno.Number(l.Slow), l.Excess, bysJSON(l.By, least), l.Joined,
			})
		}
	}
	return json.Marshal(j)
}

type changeJSON struct {
	Quantile dyno.Number `json:"quantile"`
	Blocks   int         `json:"blocks"`
	Base     dyno.Number `json:"base-sec"`
	At       shiftJSON   `json:"change-sec"`
	Near     dyno.Number `json:"near-sec"`
	Moves    []moveJSON  `json:"moves"`
}

type shiftJSON struct {
	Diff     dyno.Number `json:"diff"`
	Lo       dyno.Number `json:"lo"`
	Hi       dyno.Number `json:"hi"`
	Adjusted dyno.Number `json:"p-adjusted"`
}

type moveJSON struct {
	Part   string      `json:"part"`
	Func   string      `json:"func,omitempty"`
	Site   *Site       `json:"site,omitempty"`
	Change shiftJSON   `json:"change-sec"`
	In     dyno.Number `json:"in-func-sec,omitzero"`
	Sure   bool        `json:"sure"`
	By     []byJSON    `json:"by,omitempty"`
}

func shiftOf(s stats.Shift) shiftJSON {
	return shiftJSON{dyno.Number(s.Diff), dyno.Number(s.Lo), dyno.Number(s.Hi), dyno.Number(s.Adjusted)}
}

// MarshalJSON implements json.Marshaler; doc/format.md describes it.
func (c *Change) MarshalJSON() ([]byte, error) {
	j := changeJSON{dyno.Number(c.Quantile), c.Blocks, dyno.Number(c.Level), shiftOf(c.At), dyno.Number(c.Near), nil}
	for _, m := range c.Moves {
		least := leastJSON * c.Level
		if m.Sure || m.Shift.Diff > least || m.Shift.Diff < -least {
			j.Moves = append(j.Moves, moveJSON{m.Part.String(), m.Func, siteJSON(m.Site), shiftOf(m.Shift), dyno.Number(m.In), m.Sure, bysJSON(m.By, least)})
		}
	}
	return json.Marshal(j)
}
