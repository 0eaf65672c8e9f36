package words

import "testing"

func TestMuch(t *testing.T) {
	for got, want := range map[string]string{
		much(1.24):  "24% higher",
		much(0.938): "6.2% lower",
		much(2.41):  "2.4 times as high",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
