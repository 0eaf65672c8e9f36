package export

import (
	"bytes"
	"testing"

	"github.com/dynolab/dyno"
)

func TestBenchName(t *testing.T) {
	for _, c := range []struct {
		name    string
		setting dyno.Setting
		want    string
	}{
		{"sessions", nil, "BenchmarkSessions"},
		{"", nil, "BenchmarkDyno"},
		{"run-2", nil, "BenchmarkRun%2D2"},
		{"run-2", dyno.Setting{{Factor: "GOGC", Value: "50"}}, "BenchmarkRun-2/GOGC=50"},
		{"été", dyno.Setting{{Factor: "GOGC", Value: "off"}}, "BenchmarkÉté/GOGC=off"},
		{"a", dyno.Setting{{Factor: "GOGC", Value: "1"}, {Factor: "rev", Value: "HEAD~1"}}, "BenchmarkA/GOGC=1/rev=HEAD~1"},
	} {
		if got := benchName(c.name, c.setting); got != c.want {
			t.Errorf("%q %s: got %s, want %s", c.name, c.setting, got, c.want)
		}
	}
}

// TestBenchEmpty: a trial without values would be a syntax error.
func TestBenchEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := Bench(&b, []*dyno.Result{{}, {Err: "failed"}}, "x"); err != nil || b.Len() != 0 {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
