//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"
)

const noiseArg = "-noise-child"

// startNoise starts a process that uses up to one and a half CPUs by fits and
// starts, until stop.
func startNoise(ctx context.Context) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, noiseArg)
	parent, err := cmd.StdinPipe() // which ends with this process, however it ends
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return func() { parent.Close(); cancel(); cmd.Wait() }, nil
}

// noise is the child: two goroutines that are busy for 5 to 500 ms, with numbers
// or with memory, and rest as long or thrice that.
func noise() {
	for i := range 2 {
		go func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			block := make([]byte, 16<<20)
			for {
				length := time.Duration(5+r.ExpFloat64()*100) * time.Millisecond
				length = min(length, 500*time.Millisecond)
				memory := r.IntN(2) == 0
				for began := time.Now(); time.Since(began) < length; {
					if memory {
						for j := 0; j < len(block); j += 64 {
							block[j]++
						}
					} else {
						x := uint64(1)
						for range 100_000 {
							x ^= x << 13
							x ^= x >> 7
						}
						block[0] += byte(x)
					}
				}
				time.Sleep(length * time.Duration(1+2*i))
			}
		}()
	}
	var b [1]byte
	os.Stdin.Read(b[:])
	os.Exit(0)
}
