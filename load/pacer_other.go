//go:build !linux

package load

import "context"

func newPacer(context.Context) pacer { return timerPacer{} }
