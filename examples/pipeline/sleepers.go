package main

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// nap is how long a sleeper sleeps before it turns over.
const nap = 10 * time.Minute

// sleep makes n sleepers, each of which is a goroutine, or a goroutine that has
// a thread of the operating system to itself. It returns when all of them are
// there and about to sleep. They sleep until ctx ends; wait returns when the
// last has gone.
func sleep(ctx context.Context, n int, locked bool) (wait func()) {
	var there, gone sync.WaitGroup
	there.Add(n)
	gone.Add(n)
	for range n {
		go func() {
			defer gone.Done()
			if locked {
				runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			}
			there.Done()
			for {
				select {
				case <-time.After(nap):
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	there.Wait()
	return gone.Wait
}
