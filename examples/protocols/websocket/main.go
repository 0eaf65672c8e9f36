// Command websocket is a service that echoes the messages of its WebSocket connections.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/coder/websocket"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	http.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // it has answered
		}
		defer conn.CloseNow()
		conn.SetReadLimit(1 << 20)
		for err == nil {
			err = echo(r.Context(), conn)
		}
	})
	server := &http.Server{Addr: *addr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

// echo sends the next message back.
func echo(ctx context.Context, conn *websocket.Conn) error {
	kind, in, err := conn.Reader(ctx)
	if err != nil {
		return err
	}
	out, err := conn.Writer(ctx, kind)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
