package subject

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A subject that drains for long costs the time of one grace, not one for each launch, and the run says it once.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Ends
		began, said := time.Now(), []string(nil)
		for range 24 {
			said = append(said, e.stop(func(grace time.Duration) { time.Sleep(min(grace, 30*time.Second)) }).Texts()...)
		}
		if took, want := time.Since(began), stopGrace+23*lateGrace; took != want || len(said) != 1 || !strings.Contains(said[0], "did not end within 5s") {
			t.Errorf("%v (want %v), said %q", took, want, said)
		}
		e = Ends{}
		if said := e.stop(func(time.Duration) { time.Sleep(4 * time.Second) }); said != nil {
			t.Errorf("a subject that ended by itself: %q", said)
		}
	})
}
