package program

import (
	"testing"
	"time"
)

// Impatient shortens waits for a test.
func Impatient(t *testing.T) {
	p, d := patience, parting
	patience, parting = time.Second, time.Second
	t.Cleanup(func() { patience, parting = p, d })
}
