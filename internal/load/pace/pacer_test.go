package pace

import (
	"context"
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	for _, p := range []struct {
		name string
		new  func(context.Context) Pacer
	}{
		{"platform", New},
		{"timer", func(context.Context) Pacer { return Timer{} }},
	} {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := p.new(ctx)
			defer p.Close()
			for range 5 {
				until := time.Now().Add(2 * time.Millisecond)
				if !p.Wait(ctx, until) || time.Now().Before(until) {
					t.Fatal("woke before its time")
				}
			}
			if !p.Wait(ctx, time.Now().Add(-time.Second)) {
				t.Error("what is due already was refused")
			}
			woken := make(chan bool)
			go func() { woken <- p.Wait(ctx, time.Now().Add(time.Hour)) }()
			cancel()
			if <-woken {
				t.Error("the end of the context was reported as the due time")
			}
			if p.Wait(ctx, time.Now()) {
				t.Error("waited after the context ended")
			}
		})
	}
}
