// Service has planted causes of slow requests. Each handler measures the planted part itself, which is the truth
// that dyno is held against; it is printed when the service ends.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// A cause handles a request and says how much of its time is the planted part; 0 where the handler cannot know.
type cause struct {
	start  func()
	handle func() time.Duration
}

// A seen request is what its handler measured.
type seen struct{ took, planted time.Duration }

// A log has all requests of a launch.
type log struct {
	mu  sync.Mutex
	all []seen
}

func (l *log) add(s seen) {
	l.mu.Lock()
	l.all = append(l.all, s)
	l.mu.Unlock()
}

// A Truth is of the slowest 1 % by the handler's time, less the requests from p40 to p60, in ms.
type Truth struct{ Requests, Excess, Planted float64 }

func (l *log) truth() Truth {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.all, func(a, b seen) int { return int(a.took - b.took) })
	n := len(l.all)
	mean := func(some []seen) (took, planted float64) {
		for _, s := range some {
			took += s.took.Seconds() * 1e3 / float64(len(some))
			planted += s.planted.Seconds() * 1e3 / float64(len(some))
		}
		return took, planted
	}
	slowTook, slowPlanted := mean(l.all[n*99/100:])
	took, planted := mean(l.all[n*4/10 : n*6/10])
	return Truth{float64(n), slowTook - took, slowPlanted - planted}
}

// health does the same by gRPC.
type health struct {
	healthpb.UnimplementedHealthServer
	do func()
}

func (h health) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.do()
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func main() {
	name := flag.String("case", "mutex", "")
	addr := flag.String("addr", "127.0.0.1:8080", "")
	http2 := flag.Bool("http2", false, "HTTP/2 without TLS")
	byRPC := flag.Bool("grpc", false, "gRPC: the health service")
	flag.Parse()
	c, ok := causes[*name]
	if !ok {
		fmt.Fprintf(os.Stderr, "unknown case %q\n", *name)
		os.Exit(2)
	}
	if c.start != nil {
		c.start()
	}
	l := &log{}
	do := func() {
		began := time.Now()
		planted := c.handle()
		l.add(seen{time.Since(began), planted})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *byRPC {
		server := grpc.NewServer()
		healthpb.RegisterHealthServer(server, health{do: do})
		reflection.Register(server)
		go server.Serve(listener)
	} else {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!*http2)
		protocols.SetUnencryptedHTTP2(*http2)
		server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			do()
			fmt.Fprintln(w, "done")
		})}
		go server.Serve(listener)
	}
	<-ctx.Done()
	out, _ := json.Marshal(l.truth())
	fmt.Printf("truth %s\n", out)
}
