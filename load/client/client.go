// Package client makes a load for dyno out of a Go program, for any protocol, with the client types of
// your own service.
//
// The program is a main package:
//
//	func main() {
//		client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
//			conn, err := dial(ctx, t.Addr)
//			return &echo{conn}, err
//		})
//	}
//
// The plan names it, as load: {program: ./loadtest}, or the flag --load-program ./loadtest. dyno builds
// it, starts it beside the service, tells it when each request is due, and keeps its records: schedule,
// latency from when a request was due, turns, percentiles and verdicts are the same as with dyno's own
// HTTP load.
package client

import (
	"context"
	"fmt"
	"os"

	"github.com/dynolab/dyno/internal/load/frames"
)

// A Client sends requests, one at a time. It is usually one connection.
type Client interface {
	// Do sends one request and returns when it is answered, or fails. All that it does counts as the
	// request's time: prepare in the function that opens the client. Do must return soon after ctx ends,
	// which is at the request's time limit, or when the load is ended early. dyno counts equal errors
	// together: see [Kind].
	Do(ctx context.Context, r *Request) error
	// Close ends the client. No request is under way. Its error is a warning of the trial.
	Close() error
}

// A Target is what a client is opened for.
type Target struct {
	URL    string // of the service, such as http://127.0.0.1:8080
	Addr   string // its host and port
	Client int    // number of this client, from 0; no other generator of the load has it
	Index  int    // of Of generators that send the load together, this is number Index; numbers that all share are n*Of + Index
	Of     int    // 1 if this one sends the whole load
	Seed   uint64 // for what is random: each trial has one, the same in all settings
	Open   bool   // the load is an open one: requests are due by a schedule
}

// Main plays the load that dyno asks for and returns when it is over. What the program has to clean up
// for all clients can follow it. Arguments of the plan, load: {args: [...]}, are those of the program:
// read them before, by package flag for example. If the load cannot be played, Main says why and ends
// the program.
//
// open opens one client. A closed load has all of its clients before it begins, and an error ends it.
// An open load has its first one before, and opens the others when a request needs them: what opening
// takes is part of the request's latency, as a connection's set-up is with HTTP, and an error fails the
// request. Several goroutines call open at the same time.
//
// A program that was not started by dyno gets one request to the service whose URL is its last argument,
// and prints what became of it.
func Main(open func(ctx context.Context, t Target) (Client, error)) {
	if err := run(open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(open Opener) error {
	socket := os.Getenv(frames.Socket)
	if socket == "" {
		return alone(open)
	}
	os.Unsetenv(frames.Socket) // it is not for programs that this one starts
	return talk(socket, open)
}

// An Opener opens a client.
type Opener = func(ctx context.Context, t Target) (Client, error)
