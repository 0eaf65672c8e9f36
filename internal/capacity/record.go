package capacity

import (
	"encoding/json"
	"math"
)

// MarshalJSON and UnmarshalJSON keep what is not known (NaN) as null.
func (w Window) MarshalJSON() ([]byte, error) {
	x := recorded{plain: plain(w), Steal: orNull(w.Steal), Others: orNull(w.Others)}
	for _, v := range w.Seen {
		x.Seen = append(x.Seen, orNull(v))
	}
	return json.Marshal(x)
}

func (w *Window) UnmarshalJSON(text []byte) error {
	var x recorded
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	*w = Window(x.plain)
	w.Seen, w.Steal, w.Others = nil, orNaN(x.Steal), orNaN(x.Others)
	for _, v := range x.Seen {
		w.Seen = append(w.Seen, orNaN(v))
	}
	return nil
}

type plain Window // without its methods

// recorded has the fields that may be NaN before those of plain.
type recorded struct {
	plain
	Seen          []*float64
	Steal, Others *float64
}

func orNull(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
