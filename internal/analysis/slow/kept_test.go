package slow

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// A trial that was kept says the same as the trace.
func TestKept(t *testing.T) {
	for name, data := range recorded(t) {
		tr, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		trial := tr.Of(nil, 0.6)
		text, err := json.Marshal(trial)
		if err != nil {
			t.Fatal(err)
		}
		var kept *Trial
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(kept, trial) || len(kept.Slow.Cost) == 0 || len(kept.Slowest) == 0 {
			t.Errorf("%s: kept %+v, of %+v", name, kept, trial)
		}
	}
	for _, text := range []string{`{"Slow":{"Costs":[{"Part":"dancing"}]}}`, `{"Slow":{"Costs":[{"Part":""}]}}`, `{"Slowest":[{"Lanes":[{"Spans":[{"Part":7}]}]}]}`} {
		if err := json.Unmarshal([]byte(text), &Trial{}); err == nil {
			t.Errorf("%s is no trial", text)
		}
	}
}
