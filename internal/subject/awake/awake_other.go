//go:build !linux

package awake

import "errors"

const self = ""

func loops([]int) error { return errors.ErrUnsupported }
