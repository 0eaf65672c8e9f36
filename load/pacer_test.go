package load

import (
	"context"
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	for _, p := range []struct {
		name string
		new  func(context.Context) pacer
	}{
		{"platform", newPacer},
		{"timer", func(context.Context) pacer { return timerPacer{} }},
	} {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			pace := p.new(ctx)
			defer pace.close()
			for range 5 {
				until := time.Now().Add(2 * time.Millisecond)
				if !pace.wait(ctx, until) || time.Now().Before(until) {
					t.Fatal("woke before its time")
				}
			}
			if !pace.wait(ctx, time.Now().Add(-time.Second)) {
				t.Error("what is due already was refused")
			}
			woken := make(chan bool)
			go func() { woken <- pace.wait(ctx, time.Now().Add(time.Hour)) }()
			cancel()
			if <-woken {
				t.Error("the end of the context was reported as the due time")
			}
			if pace.wait(ctx, time.Now()) {
				t.Error("waited after the context ended")
			}
		})
	}
}
