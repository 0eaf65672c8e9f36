package slow

import (
	"bytes"
	"context"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// Regions and tasks of a consumer are requests, where they are asked for by their type.
func TestNamed(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	queue, over := make(chan int), make(chan struct{})
	_, given := trace.NewTask(context.Background(), "task") // another goroutine ends it, so it does not count
	go func() {
		defer close(over)
		defer given.End()
		for range 12 {
			ctx, task := trace.NewTask(context.Background(), "task")
			trace.WithRegion(ctx, "job", func() {
				trace.WithRegion(ctx, "job", func() { <-queue }) // within itself
				trace.WithRegion(ctx, "task", func() {})         // a part of the task
			})
			task.End()
		}
	}()
	for n := range 12 {
		time.Sleep(time.Millisecond)
		queue <- n
	}
	<-over
	trace.Stop()
	data := bytes.Clone(out.Bytes())
	for _, kind := range []string{"job", "task"} {
		tr, err := Read(bytes.NewReader(data), kind)
		if err != nil {
			t.Fatal(err)
		}
		all := tr.served()
		if len(all) != 12 {
			t.Errorf("%d requests of type %s, want 12", len(all), kind)
		}
		waited, took := 0.0, 0.0
		for _, s := range all {
			y := tally{cost{}, map[Site]int{}, map[Site]float64{}}
			tr.spend(&y, s.goroutine, s.woken, s.done)
			took += float64(s.done-s.woken) / 1e6
			for k, ns := range y.cost {
				if k.Part == exectrace.Channels && strings.Contains(k.Site.Func, "TestNamed.func1") && strings.HasSuffix(k.By.Site.Func, "TestNamed") {
					waited += ns / 1e6
				}
			}
		}
		if took < 10 || waited == 0 {
			t.Errorf("%s: %.2f of %.2f ms are the wait for the one that sleeps", kind, waited, took)
		}
	}
	if tr, err := Read(bytes.NewReader(data)); err != nil || len(tr.served()) != 0 {
		t.Errorf("nothing was asked for: %v, %v", tr.served(), err)
	}
}
