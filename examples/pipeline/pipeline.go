package main

import (
	"context"
	"strings"
	"sync"
	"unicode"
)

// A variant is one way to write the two stages that work. Both ways give the
// same strings.
type variant struct{ lower, title func(string) string }

var variants = map[string]variant{
	"slow": {lowerSlow, titleSlow},
	"fast": {strings.ToLower, strings.ToTitle},
}

// lowerSlow and titleSlow allocate and copy once for every letter: this is what
// the study's profile led to.
func lowerSlow(s string) string {
	var out string
	for _, letter := range s {
		out += string(unicode.ToLower(letter))
	}
	return out
}

func titleSlow(s string) string {
	var out string
	for _, letter := range s {
		out += string(unicode.ToTitle(letter))
	}
	return out
}

// start starts the pipeline over source and returns its end. Its goroutines
// live until the channel that it returns is closed, which is when all strings
// have come out of it, or soon after ctx has ended.
func start(ctx context.Context, source []string, v variant, workers int) <-chan string {
	lowered := fan(ctx, produce(ctx, source), v.lower, workers)
	return fan(ctx, lowered, v.title, workers)
}

func produce(ctx context.Context, source []string) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for _, s := range source {
			if !send(ctx, out, s) {
				return
			}
		}
	}()
	return out
}

// fan is one stage: workers that transform what they take from in, and the
// merging of what they make.
func fan(ctx context.Context, in <-chan string, transform func(string) string, workers int) <-chan string {
	made := make([]<-chan string, workers)
	for i := range made {
		made[i] = work(ctx, in, transform)
	}
	return merge(ctx, made)
}

func work(ctx context.Context, in <-chan string, transform func(string) string) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for s := range in {
			if !send(ctx, out, transform(s)) {
				return
			}
		}
	}()
	return out
}

func merge(ctx context.Context, in []<-chan string) <-chan string {
	out := make(chan string)
	var open sync.WaitGroup
	open.Add(len(in))
	for _, c := range in {
		go func() {
			defer open.Done()
			for s := range c {
				if !send(ctx, out, s) {
					return
				}
			}
		}()
	}
	go func() {
		open.Wait()
		close(out)
	}()
	return out
}

// send reports whether the string was taken; it is not when ctx has ended. Each
// sender closes its channel then, so those that range over one end, too.
func send(ctx context.Context, out chan<- string, s string) bool {
	select {
	case out <- s:
		return true
	case <-ctx.Done():
		return false
	}
}
