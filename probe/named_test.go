package probe

import (
	"testing"

	"github.com/dynolab/dyno"
)

func TestNamed(t *testing.T) {
	for _, name := range dyno.ProbeNames {
		p, ok := Named(name)
		if !ok {
			t.Fatalf("no probe %s", name)
		}
		begun := false
		if _, err := p.Watch(t.Context(), Target{PID: -1, Begun: func() { begun = true }}); err == nil || begun {
			t.Errorf("%s watches nothing: error %v, begun %v", name, err, begun)
		}
	}
	if _, ok := Named("vibes"); ok {
		t.Error("there is a probe vibes")
	}
}
