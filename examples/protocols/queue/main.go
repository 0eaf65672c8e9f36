// Command queue is a NATS JetStream server, in one program with the consumer of its messages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:4222", "where to listen")
	dir := flag.String("dir", ".", "where to keep messages")
	stall := flag.Bool("stall", false, "consume nothing in the first 500 ms of every 2 s")
	flag.Parse()
	if err := run(*addr, *dir, *stall); err != nil {
		log.Fatal(err)
	}
}

func run(addr, dir string, stall bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	o := &server.Options{Host: host, JetStream: true, StoreDir: dir, NoSigs: true, DontListen: true}
	if o.Port, err = strconv.Atoi(port); err != nil {
		return err
	}
	broker, err := server.NewServer(o)
	if err != nil {
		return err
	}
	broker.Start()
	defer broker.WaitForShutdown()
	defer broker.Shutdown()
	conn, err := nats.Connect("", nats.InProcessServer(broker))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := consume(ctx, conn, stall); err != nil {
		return err
	}
	// Who sees the port open may publish: so it opens last.
	broker.AcceptLoop(make(chan struct{}))
	if broker.Addr() == nil {
		return fmt.Errorf("nothing can listen on %s", addr)
	}
	<-ctx.Done()
	return nil
}

// consume handles the messages of subject work, one after the other. Each has the subject to tell it to.
func consume(ctx context.Context, conn *nats.Conn, stall bool) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "work", Subjects: []string{"work"}, Retention: jetstream.WorkQueuePolicy,
	})
	if err != nil {
		return err
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker"})
	if err != nil {
		return err
	}
	began := time.Now()
	_, err = consumer.Consume(func(m jetstream.Msg) {
		if into := time.Since(began) % (2 * time.Second); stall && into < 500*time.Millisecond {
			time.Sleep(500*time.Millisecond - into)
		}
		if err := errors.Join(m.Ack(), conn.Publish(m.Headers().Get("Tell"), nil)); err != nil {
			log.Print(err)
		}
	})
	return err
}
