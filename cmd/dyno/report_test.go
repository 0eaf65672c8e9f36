package main

import (
	"testing"
	"time"
)

func TestParseStrip(t *testing.T) {
	for text, want := range map[string]strip{
		"7": {7, 0, 0}, "12@2s..2.5s": {12, 2 * time.Second, 2500 * time.Millisecond}, "1@0s..500ms": {1, 0, 500 * time.Millisecond},
	} {
		if got, err := parseStrip(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "7@", "7@2s", "7@2s..1s", "7@-1s..1s", "7@a..b", "7@1s..1s"} {
		if got, err := parseStrip(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
