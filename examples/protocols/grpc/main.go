// Command grpc is a gRPC service whose requests cost CPU time: chains of SHA-256 sums.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/dynolab/dyno/examples/protocols/grpc/chain"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9090", "where to listen")
	stall := flag.Bool("stall", false, "answer nothing in the first 500 ms of every 2 s")
	flag.Parse()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	reflection.Register(s) // for --grpc-method
	chain.RegisterHashesServer(s, &service{stall: *stall, began: time.Now()})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, s.Stop)
	if err := s.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

type service struct {
	chain.UnimplementedHashesServer
	stall bool
	began time.Time

	mu      sync.Mutex
	waiting []chan struct{} // requests that came in a stall, in their order
}

func (s *service) Last(_ context.Context, c *chain.Chain) (*chain.Sum, error) {
	s.wait()
	if c.Length < 1 || c.Length > 1e6 {
		return nil, status.Error(codes.InvalidArgument, "a chain has 1 to 1,000,000 sums")
	}
	return &chain.Sum{Sum: extend(c.Seed, int(c.Length))}, nil
}

func (s *service) Each(c *chain.Chain, stream grpc.ServerStreamingServer[chain.Sum]) error {
	s.wait()
	sum := c.Seed
	for range c.Length {
		sum = extend(sum, 1)
		if err := stream.Send(&chain.Sum{Sum: sum}); err != nil {
			return err
		}
	}
	return nil
}

// extend is the sum that is n sums after one.
func extend(from []byte, n int) []byte {
	var sum [sha256.Size]byte
	for range n {
		sum = sha256.Sum256(from)
		from = sum[:]
	}
	return from
}

// wait waits for the end of a stall. Requests go on in the order in which they came, so that an early one does not
// wait for the answers to later ones as well.
func (s *service) wait() {
	into := time.Since(s.began) % (2 * time.Second)
	if !s.stall || into >= 500*time.Millisecond {
		return
	}
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	if len(s.waiting) == 1 {
		time.AfterFunc(500*time.Millisecond-into, s.goOn)
	}
	s.mu.Unlock()
	<-turn
}

func (s *service) goOn() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, turn := range waiting {
		close(turn)
		runtime.Gosched()
	}
}
