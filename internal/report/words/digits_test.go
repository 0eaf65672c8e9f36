package words

import "testing"

func TestTwoDigits(t *testing.T) {
	if got := TwoDigits(1) + " " + TwoDigits(0.0995) + " " + TwoDigits(0.003); got != "100% 10% 0.3%" {
		t.Error(got)
	}
}
