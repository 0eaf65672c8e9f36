package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// stalls hold requests back in the first 500 ms of every 2 s.
type stalls struct {
	began time.Time

	mu      sync.Mutex
	waiting []chan struct{} // requests that came in a stall, in their order
}

func (s *stalls) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.WriteBufferSize(512), // an early answer is sent before the later ones are there
		grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			s.wait()
			return next(ctx, in)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			s.wait()
			return next(srv, stream)
		}),
	}
}

// early is how much before the end of a stall a timer is set; the rest is waited for without sleeping, as a
// timer is up to a millisecond late.
const early = 2 * time.Millisecond

// wait waits for the end of a stall. Requests go on in the order in which they came, so that an early one does not
// wait for the answers to later ones as well.
func (s *stalls) wait() {
	into := time.Since(s.began) % (2 * time.Second)
	if into >= 500*time.Millisecond {
		return
	}
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	if len(s.waiting) == 1 {
		time.AfterFunc(500*time.Millisecond-into-early, s.goOn)
	}
	s.mu.Unlock()
	<-turn
}

func (s *stalls) goOn() {
	for time.Since(s.began)%(2*time.Second) < 500*time.Millisecond {
	}
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, turn := range waiting {
		close(turn)
		runtime.Gosched()
	}
}
