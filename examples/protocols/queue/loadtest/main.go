// Command loadtest is a load for the queue: a message's latency ends when it is consumed.
package main

import (
	"context"
	"flag"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/dynolab/dyno/load/client"
)

func main() {
	size := flag.Int("size", 100, "bytes of a message")
	flag.Parse()
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		conn, err := nats.Connect("nats://" + t.Addr)
		if err != nil {
			return nil, err
		}
		js, err := jetstream.New(conn)
		if err != nil {
			return nil, err
		}
		p := &producer{conn: conn, js: js, data: make([]byte, *size), inbox: nats.NewInbox()}
		_, err = conn.Subscribe(p.inbox+".*", p.consumed)
		return p, err
	})
}

type producer struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	data  []byte
	inbox string

	under sync.Map // *client.Token of the messages that are not consumed yet, by number
}

// Do publishes a message. That the broker has stored it is a mark; that it was consumed is the end.
func (p *producer) Do(ctx context.Context, r *client.Request) error {
	r.Step("consumed")
	number := strconv.FormatInt(r.N, 10)
	p.under.Store(number, r.Async())
	m := nats.NewMsg("work")
	m.Data = p.data
	m.Header.Set("Tell", p.inbox+"."+number)
	_, err := p.js.PublishMsg(ctx, m)
	if err != nil {
		p.under.Delete(number)
		return err
	}
	r.Sent = int64(len(p.data))
	r.Mark("stored")
	return nil
}

// consumed ends a request, from a goroutine of the library.
func (p *producer) consumed(m *nats.Msg) {
	number := strings.TrimPrefix(m.Subject, p.inbox+".")
	if token, ok := p.under.LoadAndDelete(number); ok {
		token.(*client.Token).Done(nil)
	}
}

func (p *producer) Close() error {
	p.conn.Close()
	return nil
}
