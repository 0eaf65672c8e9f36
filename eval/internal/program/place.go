package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// A Place is where a program of eval works.
type Place struct {
	Temp string // a temporary directory
	Dir  string // the directory that is kept, else Temp
	Dyno string // the dyno to measure
}

// NewPlace makes the directories of a program, keep among them if it is not empty, and builds dyno unless that is a path.
// The caller removes Temp, also after an error.
func NewPlace(ctx context.Context, name, keep, dyno string) (p Place, err error) {
	if p.Temp, err = os.MkdirTemp("", "dyno-"+strings.ReplaceAll(name, "/", "-")+"-"); err != nil {
		return p, err
	}
	p.Dir = p.Temp
	if keep != "" {
		if p.Dir, err = filepath.Abs(keep); err != nil {
			return p, err
		}
		if err := os.MkdirAll(p.Dir, 0o777); err != nil {
			return p, err
		}
	}
	p.Dyno, err = Dyno(ctx, dyno, p.Temp)
	return p, err
}
