package dyno

import "fmt"

// A PlanError is a mistake in a plan. Line and Column count from 1, or are 0 if it has no
// place in a file, as with a flag.
type PlanError struct {
	File         string
	Line, Column int
	Source       string // the line of the file, without its newline
	Msg          string

	Key []string // of the plan, where the mistake has no place yet: "load", "client", "loop", "0"
}

func (e *PlanError) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	if e.Source != "" {
		source, column := around(e.Source, e.Column)
		s += fmt.Sprintf("\n%5d | %s\n      | %*s", e.Line, source, column, "^")
	}
	return s
}

// around cuts a long line on both sides of a column. at is the column in the part that is left. A hostile plan may
// be one line of half a megabyte.
func around(line string, column int) (part string, at int) {
	const most, mark = 100, "…"
	chars := []rune(line)
	begin := max(0, min(column-most/2, len(chars)-most))
	end := min(begin+most, len(chars))
	part, at = string(chars[begin:end]), column-begin
	if begin > 0 {
		part, at = mark+part, at+1
	}
	if end < len(chars) {
		part += mark
	}
	return part, at
}

// Of says which key of the plan the mistake is in.
func (e *PlanError) Of(key ...string) *PlanError { e.Key = key; return e }

// PlanErrorf makes a mistake without a place.
func PlanErrorf(format string, args ...any) *PlanError {
	return &PlanError{Msg: fmt.Sprintf(format, args...)}
}
