package subject

import (
	"fmt"
	"slices"
	"testing"
)

// What go says is told as it comes; an error is what is left.
func TestTalk(t *testing.T) {
	var steps []string
	talk := &talk{tell: func(s string) { steps = append(steps, s) }}
	fmt.Fprint(talk, "go: downloading example.org/x v1.2.0\nexample.org/x/y\nmain")
	fmt.Fprint(talk, "\n# main\n./main.go:3:2: undefined: x\n")
	if want := []string{"downloading example.org/x v1.2.0", "compiling example.org/x/y", "compiling main"}; !slices.Equal(steps, want) {
		t.Errorf("told %q", steps)
	}
	if got, want := talk.String(), "go: downloading example.org/x v1.2.0\n# main\n./main.go:3:2: undefined: x\n"; got != want {
		t.Errorf("kept %q", got)
	}
}
