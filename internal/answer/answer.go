// Package answer is the envelope of all answers of dyno as JSON, and writes them: summary.json, capacity.json, tune.json,
// certificates and predictions.
//
// It owns the keys that all of them have, and their order. What an answer has beside them is its own package's.
package answer

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// An Envelope is what an answer begins with; its document embeds it. S is a setting of it, an object with setting and levels
// at least, see [Setting]. N is a note: a text, but of predictions an object.
type Envelope[S, N any] struct {
	Kind        string          `json:"kind"`   // of the answer; that of summary.json says what was measured, and is older than the envelope
	Schema      int             `json:"schema"` // of this kind
	Dyno        string          `json:"dyno"`   // version
	Plan        json.RawMessage `json:"plan"`   // as run directories have it, without credentials; null if there was none
	Made        time.Time       `json:"made"`
	Settings    List[S]         `json:"settings"` // what it is about, the baseline first
	Notes       List[N]         `json:"notes"`    // what was left out, and why
	Interrupted bool            `json:"interrupted"`
}

// A Setting is what each of an envelope's has.
type Setting struct {
	Name   string       `json:"setting"`
	Levels dyno.Setting `json:"levels"`
}

// SettingOf is a setting that has no more than its name and levels.
func SettingOf(s dyno.Setting) Setting { return Setting{s.String(), s} }

// SettingNamed is the setting of a name such as "GOGC=50 GOMEMLIMIT=1GiB", whose values have no spaces.
func SettingNamed(name string) Setting {
	s := Setting{Name: name}
	for word := range strings.FieldsSeq(name) {
		factor, value, _ := strings.Cut(word, "=")
		s.Levels = append(s.Levels, dyno.Level{Factor: factor, Value: value})
	}
	return s
}

// A List is never null.
type List[T any] []T

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) { return json.Marshal(append([]T{}, l...)) }

// A Head is what an answer begins with that its own package does not know.
type Head struct {
	Dyno        string           // version
	Plan        *dyno.Experiment // without credentials; nil if there is none
	Made        time.Time
	Interrupted bool // it did not come to its end
}

// New makes the envelope of an answer of some kind.
func New[S, N any](kind string, schema int, h Head, settings []S, notes []N) Envelope[S, N] {
	return Envelope[S, N]{
		Kind: kind, Schema: schema, Dyno: h.Dyno, Plan: PlanOf(h.Plan), Made: h.Made, Settings: settings, Notes: notes, Interrupted: h.Interrupted,
	}
}

// PlanOf is a plan as envelopes have it; nil of none.
func PlanOf(e *dyno.Experiment) json.RawMessage {
	if e == nil {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil { // of a plan that could be read it never is
		return nil
	}
	return text
}

// An Estimate is a value with its interval; null where it is not known.
type Estimate struct {
	Value dyno.Number `json:"value"`
	Lo    dyno.Number `json:"lo"`
	Hi    dyno.Number `json:"hi"`
}

// Write writes an answer, or anything else, as indented JSON. The error is w's.
func Write(w io.Writer, document any) error {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
