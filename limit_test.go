package dyno

import (
	"testing"
)

func TestLimits(t *testing.T) {
	for _, x := range []struct {
		text string
		want CPUs
	}{{"0.5", 0.5}, {"2", 2}, {"10%", 0.1}, {" 250 %", 2.5}, {"none", 0}, {"0.01", 0.01}} {
		if got, err := ParseCPUs(x.text); err != nil || got != x.want {
			t.Errorf("ParseCPUs(%q) = %v, %v, want %v", x.text, got, err, x.want)
		}
	}
	for _, x := range []struct {
		text string
		want Size
		back string
	}{{"64MiB", 64 << 20, "64MiB"}, {"67108864", 64 << 20, "64MiB"}, {"1536KiB", 1536 << 10, "1536KiB"}, {"1GiB", 1 << 30, "1GiB"}, {"none", 0, "0B"}, {"1000B", 1000, "1000B"}} {
		if got, err := ParseSize(x.text); err != nil || got != x.want || got.String() != x.back {
			t.Errorf("ParseSize(%q) = %v, %v, want %v", x.text, got, err, x.want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "0.001", "1CPU", "NaN", "Inf"} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("ParseCPUs(%q) = %v", bad, got)
		}
	}
	for _, bad := range []string{"", "0", "-1", "64MB", "1.5GiB", "9999999TiB"} {
		if got, err := ParseSize(bad); err == nil {
			t.Errorf("ParseSize(%q) = %v", bad, got)
		}
	}
}
