package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/dynolab/dyno/load/client"
)

// A link is one connection to the service.
type link struct {
	conn  *grpc.ClientConn
	place int // of those that are shared
	users int
}

// links are the connections of all clients: one of each, or so many that they share.
type links struct {
	most   int // 0: they share none
	mu     sync.Mutex
	shared map[int]*link
}

// take connects a client.
func (ls *links) take(ctx context.Context, l *load, t client.Target) (*link, error) {
	k, err := ls.get(l, t)
	if err != nil {
		return nil, err
	}
	if err := connect(ctx, k.conn); err != nil {
		ls.drop(k)
		return nil, fmt.Errorf("connect to %s: %w", t.Addr, err)
	}
	return k, nil
}

func (ls *links) get(l *load, t client.Target) (*link, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	place := -1
	if ls.most > 0 {
		place = t.Client % ls.most
		if k := ls.shared[place]; k != nil {
			k.users++
			return k, nil
		}
	}
	conn, err := l.dial(t)
	if err != nil {
		return nil, err
	}
	k := &link{conn, place, 1}
	if place >= 0 {
		if ls.shared == nil {
			ls.shared = map[int]*link{}
		}
		ls.shared[place] = k
	}
	return k, nil
}

// drop closes a connection that no client uses any more.
func (ls *links) drop(k *link) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if k.users--; k.users > 0 {
		return nil
	}
	delete(ls.shared, k.place)
	return k.conn.Close()
}

// dial says how to connect.
func (l *load) dial(t client.Target) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if strings.HasPrefix(t.URL, "https:") {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: l.Insecure})
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		// A call is sent once, at its time, and its failure shows.
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithIdleTimeout(0),
		// A service that comes back is loaded again within a second. grpc-go's own pause grows to two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}, MinConnectTimeout: 20 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}
	if l.Authority != "" {
		options = append(options, grpc.WithAuthority(l.Authority))
	}
	return grpc.NewClient("passthrough:///"+t.Addr, options...)
}

// connect waits for a connection, or returns why there is none.
func connect(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect()
	for {
		switch state := conn.GetState(); state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure:
			// The reason is in the error of a call, which fails before it is sent.
			err := conn.Invoke(ctx, "/dyno.None/None", &noMessage, new(reply), raw)
			if status.Code(err) == codes.Unavailable {
				return coded(err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		default:
			if !conn.WaitForStateChange(ctx, state) {
				return context.Cause(ctx)
			}
		}
	}
}
