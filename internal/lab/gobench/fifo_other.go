//go:build !unix

package gobench

import (
	"errors"
	"os"
)

func makeFIFO(string) (*os.File, error) { return nil, errors.ErrUnsupported }
