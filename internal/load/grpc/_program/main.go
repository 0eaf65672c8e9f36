// The program is dyno's load for gRPC: it calls one method, unary or server-streaming, which it knows by
// server reflection or from a descriptor set. dyno builds it, so that grpc-go is no dependency of dyno.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/load/rpc"
	"github.com/dynolab/dyno/load/client"
)

func main() {
	var c rpc.Config
	text, err := os.ReadFile(os.Getenv(frames.Config))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "read the configuration:", err)
		os.Exit(1)
	}
	client.Main(newLoad(c).open)
}

// A load is what all clients share.
type load struct {
	rpc.Config
	links   links
	learned learned
	made    made
}

func newLoad(c rpc.Config) *load { return &load{Config: c, links: links{most: c.Connections}} }

func (l *load) open(ctx context.Context, t client.Target) (client.Client, error) {
	link, err := l.links.take(ctx, l, t)
	if err != nil {
		return nil, err
	}
	m, err := l.learned.once(ctx, l, link.conn)
	if err == nil {
		var c *caller
		if c, err = l.newCaller(m, link, t); err == nil {
			return c, nil
		}
	}
	l.links.drop(link)
	return nil, err
}
