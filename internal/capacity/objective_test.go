package capacity

import (
	"testing"
	"time"
)

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]struct {
		share float64
		limit time.Duration
	}{
		"p99 < 30ms": {0.01, 30 * time.Millisecond}, "p99_9 <= 1.5s": {0.001, 1500 * time.Millisecond}, "p50 < 5ms": {0.5, 5 * time.Millisecond},
		"failures < 0.1%": {0.001, 0},
	} {
		o, err := ParseObjective(text)
		if err != nil || o.Share != want.share || o.Limit != want.limit || o.String() != text {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
	for _, bad := range []string{"p99 > 3ms", "p99 == 3ms", "change(p99) < 3%", "p99 < 3%", "p99 < 0s", "p98 < 3ms", "failures < 3", "failures < 0%", "failures < 100%", "failures == 0", "max < 3s", "p99"} {
		if o, err := ParseObjective(bad); err == nil {
			t.Errorf("%s is taken as %+v", bad, o)
		}
	}
}
