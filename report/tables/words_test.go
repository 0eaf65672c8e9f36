package tables

import "testing"

func TestTwoDigits(t *testing.T) {
	if got := twoDigits(1) + " " + twoDigits(0.0995) + " " + twoDigits(0.003); got != "100% 10% 0.3%" {
		t.Error(got)
	}
}
