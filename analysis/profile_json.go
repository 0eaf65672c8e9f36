package analysis

import (
	"encoding/json"

	"github.com/dynolab/dyno/stats"
)

type changeJSON struct {
	Base    number        `json:"base"`
	Value   number        `json:"value"`
	Diff    number        `json:"diff"`
	Lo      number        `json:"lo"`
	Hi      number        `json:"hi"`
	P       number        `json:"p"`
	Verdict stats.Verdict `json:"verdict"`
}

// MarshalJSON implements json.Marshaler; what cannot be said is null.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeJSON{number(c.Base), number(c.Value), number(c.Diff), number(c.Lo), number(c.Hi), number(c.P), c.Verdict})
}

type lineJSON struct {
	File string  `json:"file"`
	Line int     `json:"line"`
	In   string  `json:"in"`
	Diff float64 `json:"diff"`
	Via  string  `json:"via,omitempty"`
}

type functionChangeJSON struct {
	*Function
	Change Change    `json:"own-change"`
	Flat   Change    `json:"flat-change"`
	Cum    Change    `json:"cum-change"`
	Count  float64   `json:"count-diff,omitempty"`
	Share  number    `json:"share"`
	Line   *lineJSON `json:"at,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r FunctionChange) MarshalJSON() ([]byte, error) {
	j := functionChangeJSON{Function: r.Function, Change: r.Own, Flat: r.Flat, Cum: r.Cum, Count: r.Count, Share: number(r.Share)}
	if l := r.Line; l.File != "" {
		j.Line = &lineJSON{l.File, l.Line, l.In, l.Diff, l.Via}
	}
	return json.Marshal(j)
}

// MarshalJSON implements json.Marshaler.
func (d *ProfileDiff) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind       string           `json:"type"`
		Metric     string           `json:"metric"`
		Counts     string           `json:"counts,omitempty"`
		Base       string           `json:"base"`
		Setting    string           `json:"setting"`
		Order      string           `json:"order"`
		Pairs      int              `json:"pairs"`
		Negligible float64          `json:"negligible"`
		Total      Change           `json:"total"`
		Rows       []FunctionChange `json:"functions"`
	}{d.Kind, d.Metric, d.Counts, d.Base, d.Setting, d.Order, d.Pairs, d.Negligible, d.Total, d.Rows})
}

type meanJSON struct {
	Mean number `json:"mean"`
	Lo   number `json:"lo"`
	Hi   number `json:"hi"`
}

func meanOf(m stats.Mean) meanJSON { return meanJSON{number(m.Mean), number(m.Lo), number(m.Hi)} }

type classJSON struct {
	Name   string   `json:"name"`
	PerReq meanJSON `json:"cpu-sec/req"`
	Share  meanJSON `json:"share"`
}

// MarshalJSON implements json.Marshaler.
func (c ClassShare) MarshalJSON() ([]byte, error) {
	return json.Marshal(classJSON{c.Name, meanOf(c.PerReq), meanOf(c.Share)})
}

// MarshalJSON implements json.Marshaler.
func (c CPUShare) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Setting string       `json:"setting"`
		Trials  int          `json:"trials"`
		Total   meanJSON     `json:"cpu-sec/req"`
		GC      ClassShare   `json:"gc"`
		Classes []ClassShare `json:"classes"`
	}{c.Setting, c.Trials, meanOf(c.Total), c.GC, c.Classes})
}
