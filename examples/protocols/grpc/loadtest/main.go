// Command loadtest is a load for the gRPC service, with its generated types.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/dynolab/dyno/examples/protocols/grpc/chain"
	"github.com/dynolab/dyno/load/client"
)

func main() {
	length := flag.Int("length", 1000, "sums of a chain")
	stream := flag.Bool("stream", false, "ask for each sum, not only the last one")
	flag.Parse()
	var dial sync.Once
	var conn *grpc.ClientConn // of all clients, as in a program that uses the service
	var err error
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		dial.Do(func() {
			conn, err = grpc.NewClient(t.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err == nil { // it connects now, not in the first request
				conn.Connect()
				for s := conn.GetState(); s != connectivity.Ready && conn.WaitForStateChange(ctx, s); s = conn.GetState() {
				}
			}
		})
		return &caller{chain.NewHashesClient(conn), uint64(t.Client), int32(*length), *stream}, err
	})
}

type caller struct {
	hashes chain.HashesClient
	number uint64
	length int32
	stream bool
}

func (c *caller) Do(ctx context.Context, r *client.Request) (err error) {
	seed := binary.BigEndian.AppendUint64(nil, c.number)
	in := &chain.Chain{Seed: binary.BigEndian.AppendUint64(seed, uint64(r.N)), Length: c.length}
	if c.stream {
		r.Step("each")
		err = c.each(ctx, in, r)
	} else {
		r.Step("last")
		_, err = c.hashes.Last(ctx, in)
	}
	// A status has few codes, and texts without number.
	return client.Kind(status.Code(err).String(), err)
}

// each reads a stream to its end.
func (c *caller) each(ctx context.Context, in *chain.Chain, r *client.Request) error {
	stream, err := c.hashes.Each(ctx, in)
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			if r.Messages++; r.Messages == 1 {
				r.Mark("first sum")
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *caller) Close() error { return nil }
