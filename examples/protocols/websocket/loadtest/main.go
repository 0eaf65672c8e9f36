// Command loadtest is a load for a WebSocket service that echoes.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"

	"github.com/coder/websocket"

	"github.com/dynolab/dyno/load/client"
)

func main() {
	size := flag.Int("size", 100, "bytes of a message")
	flag.Parse()
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		e := &echo{url: t.URL + "/echo", message: bytes.Repeat([]byte("a"), *size)}
		return e, e.dial(ctx)
	})
}

type echo struct {
	url     string
	message []byte
	conn    *websocket.Conn // nil after a failure
}

func (e *echo) dial(ctx context.Context) (err error) {
	if e.conn, _, err = websocket.Dial(ctx, e.url, nil); err == nil {
		e.conn.SetReadLimit(1 << 20)
	}
	return err
}

func (e *echo) Do(ctx context.Context, r *client.Request) error {
	if e.conn == nil {
		if err := e.dial(ctx); err != nil {
			return err
		}
	}
	err := e.echo(ctx, r)
	if err != nil { // what its answer would be is not known any more
		e.conn.CloseNow()
		e.conn = nil
	}
	return err
}

var errOther = errors.New("the answer is another message")

func (e *echo) echo(ctx context.Context, r *client.Request) error {
	if err := e.conn.Write(ctx, websocket.MessageText, e.message); err != nil {
		return err
	}
	_, answer, err := e.conn.Read(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(answer, e.message) {
		return errOther
	}
	r.Sent, r.Received = int64(len(e.message)), int64(len(answer))
	return nil
}

func (e *echo) Close() error {
	if e.conn == nil {
		return nil
	}
	return e.conn.Close(websocket.StatusNormalClosure, "")
}
