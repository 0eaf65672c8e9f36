//go:build unix

package store_test

import (
	"testing"

	"github.com/dynolab/dyno/store"
)

// A run is under way as long as somebody has it open for writing.
func TestUnderWay(t *testing.T) {
	d := create(t)
	for range 2 { // to ask does not change the answer
		if !store.UnderWay(d.Path) {
			t.Error("an open run is not under way")
		}
	}
	d.Close()
	if store.UnderWay(d.Path) {
		t.Error("a closed run is under way")
	}
	again, err := store.Resume(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !store.UnderWay(d.Path) || store.UnderWay(t.TempDir()) {
		t.Error("a resumed run is not under way, or a folder without a run is")
	}
}
