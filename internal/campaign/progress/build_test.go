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
	b.Step("downloading example.org/x v1.2.0")
	b.Step("compiling example.org/x")
	if got := b.line(); got != "1 package · compiling example.org/x" {
		t.Errorf("of the first package %q", got)
	}
	b.Step("compiling example.org/x/\x1by")
	if got := b.line(); got != "2 packages · compiling example.org/x/·y" {
		t.Errorf("then %q", got)
	}
	b.Step("seeded db: 69 MB in 1.2 s")
	if !strings.HasSuffix(w.String(), "\nseeded db: 69 MB in 1.2 s\n") {
		t.Errorf("what a seed took does not stay: %q", &w)
	}
}
