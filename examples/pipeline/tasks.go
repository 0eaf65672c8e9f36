package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
)

// numbers is how many random numbers a task makes.
const numbers = 1000

// task makes random numbers, each by a generator of its own as the study's task
// does. It returns their sum, so that nothing can be left out.
func task(seed uint64) uint64 {
	var sum uint64
	for i := range uint64(numbers) {
		sum += rand.NewPCG(seed, i).Uint64()
	}
	return sum
}

// runTasks runs n tasks on a pool of workers, each of which is a goroutine or a
// goroutine with a thread of its own, and returns the sum of what they return.
// The pool is made for these tasks and ends with them. If ctx ends before, the
// tasks that have not begun are left out and its error is returned.
func runTasks(ctx context.Context, n, workers int, locked bool) (uint64, error) {
	queue := make(chan uint64, n)
	sums := make(chan uint64, workers)
	var pool sync.WaitGroup
	pool.Add(workers)
	for range workers {
		go func() {
			defer pool.Done()
			if locked {
				runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			}
			var sum uint64
			for seed := range queue {
				if ctx.Err() == nil {
					sum += task(seed)
				}
			}
			sums <- sum
		}()
	}
	for seed := range uint64(n) {
		queue <- seed
	}
	close(queue)
	pool.Wait()
	close(sums)
	var sum uint64
	for s := range sums {
		sum += s
	}
	return sum, ctx.Err()
}
