// Load is a load written in Go, for the subject beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/dynolab/dyno/load/client"
)

type get struct {
	http http.Client
	url  string
}

func (c *get) Do(ctx context.Context, r *client.Request) error {
	r.Step("get")
	q, err := http.NewRequestWithContext(ctx, "GET", c.url, nil)
	if err != nil {
		return err
	}
	a, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if r.Received, err = io.Copy(io.Discard, a.Body); err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", a.StatusCode)
	}
	return err
}

func (c *get) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func main() {
	client.Main(func(_ context.Context, t client.Target) (client.Client, error) {
		return &get{http.Client{Transport: new(http.Transport)}, t.URL}, nil
	})
}
