package flags

import "fmt"

// A Mistake is a mistake on the command line.
type Mistake struct{ err error }

func (e *Mistake) Error() string { return e.err.Error() }
func (e *Mistake) Unwrap() error { return e.err }

// Mistakef makes a Mistake in the way of fmt.Errorf.
func Mistakef(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }
