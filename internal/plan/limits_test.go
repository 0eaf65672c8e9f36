package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
)

func TestLimitsReadBack(t *testing.T) {
	src := []byte("subject: {binary: ./x}\nlimits: {cpu: 10%, memory: 64MiB}\nvary:\n  limit.memory: [none, 128MiB]\n")
	e, err := plan.Parse("dyno.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Parse("run.json", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	for _, tr := range back.Trials() {
		want := dyno.Limits{CPU: 0.1}
		if tr.Setting[0].Value == "128MiB" {
			want.Memory = 128 << 20
		}
		if tr.Limits != want || !tr.Grouped {
			t.Errorf("%s has limits %v, grouped %v, want %v", tr.Setting, tr.Limits, tr.Grouped, want)
		}
	}
}

// Leaks are looked for where the window is long enough to tell, and where a forced
// collection does not change what the setting means.
func TestLooksForLeaks(t *testing.T) {
	for _, x := range []struct {
		plan   string
		leak   bool
		memory int // trials
	}{
		{"load: {duration: 10s}", false, 0},
		{"load: {duration: 10s, idle: 1s}", false, 1},
		{"load: {duration: 30s}", true, 0},
		{"load: {duration: 60s}", true, 1},
		{"memory: false\nload: {duration: 60s, idle: 1s}", true, 0},
		{"memory: true\nload: {requests: 10}", false, 1},
		{"load: {duration: 60s}\nvary: {GOGC: ['off']}", false, 1},
		{"load: {duration: 60s}\nvary: {GOGC: [100, 'off']}", false, 2}, // of all settings or of none
		{"slice: 1s\nvary: {GOGC: [100, 200]}", false, 0},
	} {
		e, err := plan.Parse("dyno.yaml", []byte("subject: {package: .}\nrepeat: 40\n"+x.plan+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", x.plan, err)
		}
		memory := 0
		for _, tr := range e.Trials() {
			switch {
			case tr.For == dyno.ForMemory:
				memory++
				if tr.Leak || tr.Load.Idle == 0 || tr.Load.Duration > dyno.LongWindow {
					t.Errorf("%s: trial for memory has leak %v, idle %v, duration %v", x.plan, tr.Leak, tr.Load.Idle, tr.Load.Duration)
				}
			case tr.Leak != x.leak:
				t.Errorf("%s: leak is %v", x.plan, tr.Leak)
			}
		}
		if memory != x.memory {
			t.Errorf("%s: %d trials for memory, want %d", x.plan, memory, x.memory)
		}
	}
}
