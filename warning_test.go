package dyno

import (
	"encoding/json"
	"slices"
	"testing"
)

// Results of older versions have warnings without a kind.
func TestWarningsOfOldResults(t *testing.T) {
	var ws Warnings
	if err := json.Unmarshal([]byte(`["3 of 9 requests failed: EOF (3)",{"kind":"steal","text":"stolen"}]`), &ws); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ws, Warnings{{Text: "3 of 9 requests failed: EOF (3)"}, {Kind: WarnSteal, Text: "stolen"}}) {
		t.Errorf("%+v", ws)
	}
	r := &Result{}
	if !ws[0].Is(WarnFailures, r) || ws[0].Is(WarnSaturated, r) || !ws[1].Is(WarnSteal, r) {
		t.Error("kinds are not told")
	}
	if data, err := json.Marshal(ws[1:]); err != nil || string(data) != `[{"kind":"steal","text":"stolen"}]` {
		t.Errorf("%s, %v", data, err)
	}
}
