package capacity

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// A search that goes on has the windows that it had, with what was not known.
func TestWindowIsKept(t *testing.T) {
	w := Window{
		Rate: 100.0 / 3, Length: 7 * time.Second, Whole: []Count{{700, 3}}, Parts: [][]Count{{{300, 1}, {400, 2}}}, Seen: []float64{0.1, math.NaN()},
		Behind: true, Steal: math.NaN(), Others: 0.25, Disturbed: true,
	}
	w.Warnings.Add(dyno.WarnNagle, "slow")
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got Window
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(got.Seen[1]) || !math.IsNaN(got.Steal) {
		t.Errorf("got %+v", got)
	}
	got.Seen[1], got.Steal, w.Seen[1], w.Steal = 0, 0, 0, 0
	if !reflect.DeepEqual(got, w) {
		t.Errorf("got  %+v\nwant %+v\nfrom %s", got, w, text)
	}
}
