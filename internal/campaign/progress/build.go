package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/report/layout"
)

// Build shows what the go command does while something is built.
type Build struct {
	Line
	compiled int
	now      string
}

// NewBuild shows the build of a subject, and says once that it begins.
func NewBuild(w io.Writer, of string) *Build {
	fmt.Fprintln(w, "building", of)
	b := new(Build)
	b.Open(w, sayEvery, func(time.Time) string { return b.line() })
	return b
}

// Step takes a line for each package that is compiled and each module that is downloaded, and for what is made ready for
// needs. What a seed has and took stays: each launch copies it.
func (b *Build) Step(step string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.HasPrefix(step, "seeded ") {
		b.say(layout.Clean(step))
	}
	if b.now = step; strings.HasPrefix(step, "compiling ") {
		b.compiled++
	}
}

// line is "" as long as go has said nothing.
func (b *Build) line() string {
	if b.now == "" {
		return ""
	}
	if b.compiled == 0 {
		return layout.Clean(b.now)
	}
	return layout.Count(b.compiled, "package") + " · " + layout.Clean(b.now)
}
