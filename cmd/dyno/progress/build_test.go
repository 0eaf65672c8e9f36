package progress

import (
	"strings"
	"testing"
)

func TestBuildLine(t *testing.T) {
	var w strings.Builder
	b := NewBuild(&w, "./cmd/server")
	defer b.Close()
	if got := b.line(); got != "" || w.String() != "building ./cmd/server\n" {
		t.Errorf("at first %q, %q", got, &w)
	}
	for _, step := range []string{"downloading example.org/x v1.2.0", "compiling example.org/x", "compiling example.org/x/\x1by"} {
		b.Step(step)
	}
	if got := b.line(); got != "2 packages · compiling example.org/x/·y" {
		t.Errorf("then %q", got)
	}
}
