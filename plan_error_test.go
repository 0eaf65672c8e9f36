package dyno

import (
	"strings"
	"testing"
)

// A mistake in a long line shows what is around it.
func TestPlanErrorLongLine(t *testing.T) {
	for _, at := range []int{1, 40, 60, 5000, 99_990, 100_001} {
		line := []rune(strings.Repeat("é", 100_000) + "x")
		line[at-1] = '*'
		text := (&PlanError{File: "dyno.yaml", Line: 1, Column: at, Source: string(line), Msg: "no"}).Error()
		lines := strings.Split(text, "\n")
		source, caret := []rune(lines[1]), []rune(lines[2])
		if len(source) > 120 || source[len(caret)-1] != '*' || caret[len(caret)-1] != '^' {
			t.Errorf("column %d:\n%s", at, text[:min(len(text), 1000)])
		}
	}
}
