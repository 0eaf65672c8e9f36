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
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
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
	var options []grpc.ServerOption
	if *stall {
		options = (&stalls{began: time.Now()}).options()
	}
	s := grpc.NewServer(options...)
	reflection.Register(s) // for --grpc-method
	healthpb.RegisterHealthServer(s, health.NewServer())
	chain.RegisterHashesServer(s, service{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, s.Stop)
	if err := s.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

type service struct {
	chain.UnimplementedHashesServer
}

func (service) Last(_ context.Context, c *chain.Chain) (*chain.Sum, error) {
	if c.Length < 1 || c.Length > 1e6 {
		return nil, status.Error(codes.InvalidArgument, "a chain has 1 to 1,000,000 sums")
	}
	return &chain.Sum{Sum: extend(c.Seed, int(c.Length))}, nil
}

func (service) Each(c *chain.Chain, stream grpc.ServerStreamingServer[chain.Sum]) error {
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
