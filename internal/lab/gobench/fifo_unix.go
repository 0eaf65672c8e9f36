//go:build unix

package gobench

import (
	"fmt"
	"os"
	"syscall"
)

// makeFIFO makes a FIFO and opens it, for writing what another process reads.
func makeFIFO(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	// For reading, too: else opening waits for a reader.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		os.Remove(path)
	}
	return f, err
}
