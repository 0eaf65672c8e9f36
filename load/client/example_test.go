package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/dynolab/dyno/load/client"
)

// A shopper's request is a session of two steps.
type shopper struct {
	http http.Client
	url  string
}

func open(ctx context.Context, t client.Target) (client.Client, error) {
	return &shopper{http.Client{Transport: new(http.Transport)}, t.URL}, nil
}

func (s *shopper) Do(ctx context.Context, r *client.Request) error {
	r.Step("list")
	if err := s.get(ctx, r, "/items"); err != nil {
		return err
	}
	r.Step("buy")
	return s.get(ctx, r, "/buy")
}

func (s *shopper) get(ctx context.Context, r *client.Request, path string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	a, err := s.http.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	r.Received, err = io.Copy(io.Discard, a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = client.Kind("status", fmt.Errorf("%s: %s", path, a.Status))
	}
	return err
}

func (s *shopper) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// The whole of a load's main function.
func ExampleMain() {
	client.Main(open)
}

// A client can be tested without dyno: the zero Request takes what it says.
func ExampleClient() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/buy" {
			http.Error(w, "sold out", http.StatusConflict)
		}
	}))
	defer srv.Close()
	c, err := open(context.Background(), client.Target{URL: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Do(context.Background(), new(client.Request)))
	// Output: /buy: 409 Conflict
}

// The request ends when its effect is seen, not when Do returns.
func ExampleRequest_Async() {
	publish := func(done func(error)) error { go done(nil); return nil }
	do := func(ctx context.Context, r *client.Request) error {
		token := r.Async()
		return publish(token.Done)
	}
	fmt.Println(do(context.Background(), new(client.Request)))
	// Output: <nil>
}
