package capacity

import (
	"encoding/json"

	"github.com/dynolab/dyno"
)

// MarshalJSON and UnmarshalJSON keep what is not known (NaN) as null.
func (w Window) MarshalJSON() ([]byte, error) {
	x := recorded{plain: plain(w), Steal: dyno.Number(w.Steal), Others: dyno.Number(w.Others)}
	for _, v := range w.Seen {
		x.Seen = append(x.Seen, dyno.Number(v))
	}
	return json.Marshal(x)
}

func (w *Window) UnmarshalJSON(text []byte) error {
	var x recorded
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	*w = Window(x.plain)
	w.Seen, w.Steal, w.Others = nil, float64(x.Steal), float64(x.Others)
	for _, v := range x.Seen {
		w.Seen = append(w.Seen, float64(v))
	}
	return nil
}

type plain Window // without its methods

// recorded has the fields that may be NaN before those of plain.
type recorded struct {
	plain
	Seen          []dyno.Number
	Steal, Others dyno.Number
}
