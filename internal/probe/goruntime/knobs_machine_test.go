//go:build machine && linux

package goruntime

import "testing"

// A position-independent build compiles the standard library once more.
func TestLongTraceSwitchPIE(t *testing.T) { testTraceSwitch(t, "pie") }
